/**
 * The instance's own secrets: its token (which permits everything) and the key of its audit log. Each is created when
 * first needed and stored as plain text in a file that only its owner can read; it never changes. Two processes that
 * need one at the same time get the same: it is written completely under a temporary name and linked into place, and
 * the loser of that race reads the winner's.
 */

import fs from "node:fs";
import { join } from "node:path";
import { errorCode } from "../base/errno.ts";
import { randomToken } from "../base/random-token.ts";
import { checkOwnFile, removeIfPossible } from "../instance/owned-files.ts";
import { type Instance, prepareStateDir } from "../instance/paths.ts";
import { refused } from "../instance/system-refusal.ts";
import { WshError } from "../protocol/errors.ts";

/** Characters (of 36) in the page's name: 83 bits cannot be guessed. */
const PAGE_NAME_LENGTH = 16;
/** Shortest token that is accepted from a file that another program wrote, in characters (docs/security.md, Tokens). */
const shortestToken = 16;

/** Returns the token, or null if none exists. Throws WshError unsafe_path when other users can access its file. */
export function readToken(instance: Instance): string | null {
  return readSecret(instance.tokenFile);
}

/** Returns the token, created if missing. */
export function ensureToken(instance: Instance): string {
  return ensureSecret(instance, instance.tokenFile);
}

/** Returns the key of the audit log's digests, created if missing: without it no input can be guessed. */
export function ensureAuditKey(instance: Instance): string {
  return ensureSecret(instance, join(instance.stateDir, `${instance.fileName}.audit.key`));
}

/** Returns the key that signs answers to notices, created if missing. */
export function ensureNoticeKey(instance: Instance): string {
  return ensureSecret(instance, join(instance.stateDir, `${instance.fileName}.notice.key`));
}

/**
 * The name by which a browser on this machine reaches the instance's page: random, so that servers at other ports of
 * this machine have another origin. Browsers resolve every name under `localhost` to this machine.
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
