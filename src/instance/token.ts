/**
 * The instance's own token: whoever has it may do everything. Made at first need, kept plain in a file that only its
 * owner can read, never changed by us. Two processes that need it at once get the same one: it is written whole under
 * a name of its own and linked into place, and whoever loses that race reads the winner's.
 */

import fs from "node:fs";
import { WshError } from "../protocol/errors.ts";
import { checkOwnFile, errorCode, type Instance, prepareStateDir } from "./paths.ts";

/** 32 characters of 62 are 190 bits. */
const tokenLength = 32;
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/** Shortest token that is accepted from a file that somebody else wrote, in characters (contract §11.1: 16 bytes). */
const shortestToken = 16;

/** `length` random alphanumerics from the system's generator, each equally likely. */
export function randomToken(length: number = tokenLength): string {
  const evenRange = 256 - (256 % alphabet.length);
  let token = "";
  while (token.length < length) {
    for (const byte of crypto.getRandomValues(new Uint8Array(length * 2))) {
      if (byte < evenRange && token.length < length) token += alphabet[byte % alphabet.length];
    }
  }
  return token;
}

/** The token if one was made; null otherwise. WshError unsafe_path when its file is not ours alone. */
export function readToken(instance: Instance): string | null {
  if (!checkOwnFile(instance.tokenFile)) return null;
  const token = fs.readFileSync(instance.tokenFile, "utf8").trim();
  if (token.length >= shortestToken && /^[\x21-\x7e]+$/.test(token)) return token;
  throw new WshError("unsafe_path", `${instance.tokenFile} holds no token of at least ${shortestToken} characters`, {
    hint: "Delete the file; a new token is made at the next start of the server.",
  });
}

/** The token, made now if there was none. */
export function ensureToken(instance: Instance): string {
  prepareStateDir(instance);
  const existing = readToken(instance);
  if (existing !== null) return existing;
  const temporary = `${instance.tokenFile}.${process.pid}.${randomToken(8)}`;
  const token = randomToken();
  try {
    fs.writeFileSync(temporary, `${token}\n`, { mode: 0o600, flag: "wx" });
    fs.linkSync(temporary, instance.tokenFile);
    return token;
  } catch (error) {
    const winner = errorCode(error) === "EEXIST" ? readToken(instance) : null;
    if (winner !== null) return winner;
    throw error;
  } finally {
    fs.rmSync(temporary, { force: true });
  }
}
