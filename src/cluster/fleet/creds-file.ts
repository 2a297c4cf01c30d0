/**
 * Paths of an instance's credentials for a fleet; reads and writes them. Only its owner can access the file:
 * anyone who has it can act as its user.
 */
import fs from "node:fs";
import { dirname, join } from "node:path";
import { checkOwnFile, replaceOwnFile } from "../../instance/owned-files.ts";
import type { Instance } from "../../instance/paths.ts";
import { WshError } from "../../protocol/errors.ts";
import { type Credentials, MAX_CREDS_CHARS, parseCredentials } from "../../protocol/fleet.ts";

/** The file that `wsh fleet join` writes, used unless another one is named. */
export function joinedFile({ stateDir, fileName }: Instance): string {
  return join(stateDir, `${fileName}.fleet.creds`);
}

/** What the instance's server remembers of its fleet's machines. */
export function rememberedFile({ stateDir, fileName }: Instance): string {
  return join(stateDir, `${fileName}.fleet.json`);
}

/** Whether this instance is, or was, in a fleet: its server may know machines that were never added. */
export function hasFleet(instance: Instance): boolean {
  return fs.existsSync(joinedFile(instance)) || fs.existsSync(rememberedFile(instance));
}

/** @throws WshError unsafe_path when others could read it, invalid_credentials */
export function readCredentials(path: string): Credentials {
  if (!checkOwnFile(path)) throw new WshError("invalid_credentials", `${path} does not exist`);
  if (fs.statSync(path).size > MAX_CREDS_CHARS) throw new WshError("invalid_credentials", `${path} is too large`);
  try {
    return parseCredentials(fs.readFileSync(path, "utf8"));
  } catch (thrown) {
    const error = WshError.from(thrown);
    throw new WshError(error.code, `${path}: ${error.message}`, {}, { cause: thrown });
  }
}

/**
 * Writes a file for its owner alone, completely and renamed into place. @throws WshError invalid_request when it cannot
 * be written
 */
export function writeSecret(path: string, text: string): void {
  try {
    fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    replaceOwnFile(path, text);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new WshError("invalid_request", `${path} cannot be written: ${reason}`, {}, { cause: thrown });
  }
}
