/**
 * The instance's own secrets: its token (which permits everything) and the key of its audit log. Each is made at first
 * need and kept plain in a file that only its owner can read; we never change it. Two processes that need one at once
 * get the same: it is written whole under a temporary name and linked into place, and the loser of that race reads the
 * winner's.
 */

import fs from "node:fs";
import { join } from "node:path";
import { errorCode } from "../base/errno.ts";
import { randomToken } from "../base/random-token.ts";
import { checkOwnFile, removeIfPossible } from "../instance/owned-files.ts";
import { type Instance, prepareStateDir } from "../instance/paths.ts";
import { refused } from "../instance/refused.ts";
import { WshError } from "../protocol/errors.ts";

/** Characters of 36 in the page's name: nobody guesses 83 bits. */
const PAGE_NAME_LENGTH = 16;
/** Shortest token that is accepted from a file that another program wrote, in characters (docs/security.md, Tokens). */
const shortestToken = 16;

/** Returns the token, null if none was made. Throws WshError unsafe_path when its file is not ours alone. */
export function readToken(instance: Instance): string | null {
  return readSecret(instance.tokenFile);
}

/** Returns the token, made now if there was none. */
export function ensureToken(instance: Instance): string {
  return ensureSecret(instance, instance.tokenFile);
}

/** Returns the key of the audit log's digests, made now if there was none: without it no input can be guessed. */
export function ensureAuditKey(instance: Instance): string {
  return ensureSecret(instance, join(instance.stateDir, `${instance.fileName}.audit.key`));
}

/** Returns the key by which answers to notices are signed, made now if there was none. */
export function ensureNoticeKey(instance: Instance): string {
  return ensureSecret(instance, join(instance.stateDir, `${instance.fileName}.notice.key`));
}

/**
 * The name by which a browser on this machine reaches the instance's page: random, so that what else is served at a port
 * of this machine has another origin. Browsers take every name under `localhost` for this machine.
 */
export function pageHost(instance: Instance): string {
  const random = ensureSecret(instance, join(instance.stateDir, `${instance.fileName}.page-name`));
  return `wsh-${random
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "")
    .slice(0, PAGE_NAME_LENGTH)}.localhost`;
}

function readSecret(path: string): string | null {
  if (!checkOwnFile(path)) return null;
  const secret = fs.readFileSync(path, "utf8").trim();
  if (secret.length >= shortestToken && /^[\x21-\x7e]+$/.test(secret)) return secret;
  throw new WshError("unsafe_path", `${path} does not contain a secret of at least ${shortestToken} characters`, {
    hint: "Delete the file; the server creates a new one at its next start.",
  });
}

function ensureSecret(instance: Instance, path: string): string {
  prepareStateDir(instance);
  const existing = readSecret(path);
  if (existing !== null) return existing;
  const temporary = `${path}.${process.pid}.${randomToken(8)}`;
  const secret = randomToken();
  try {
    fs.writeFileSync(temporary, `${secret}\n`, { mode: 0o600, flag: "wx" });
    fs.linkSync(temporary, path);
    return secret;
  } catch (error) {
    const winner = errorCode(error) === "EEXIST" ? readSecret(path) : null;
    if (winner !== null) return winner;
    throw refused(`${path} cannot be written`, error);
  } finally {
    removeIfPossible(temporary);
  }
}
