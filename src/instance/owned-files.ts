/**
 * Files and directories that must be accessible to this user alone: anyone who could put a socket, a token or a lock
 * there could impersonate us. Owner, mode and kind are checked before use; a symbolic link is refused.
 */
import fs from "node:fs";
import { dirname, join } from "node:path";
import { errorCode } from "../base/errno.ts";
import { namesIn, readLink } from "../platform/readable.ts";
import { WshError } from "../protocol/errors.ts";

/** Creates a directory 0700 if it is missing. Throws WshError when that fails or when it is not ours alone. */
export function ensureOwnDir(path: string): void {
  // Another process may remove the directory between the check and its creation, or create it first: check again.
  for (let attempt = 0; attempt < 2; attempt += 1) {
    if (checkOwnDir(path)) return;
    try {
      fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      fs.mkdirSync(path, { mode: 0o700 });
      fs.chmodSync(path, 0o700); // a strange umask may have taken our own bits
    } catch (error) {
      if (errorCode(error) === "EEXIST") continue;
      const reason = error instanceof Error ? error.message : String(error);
      throw new WshError("runtime_dir_unusable", `${path} cannot be created: ${reason}`, {}, { cause: error });
    }
  }
  if (!checkOwnDir(path)) throw new WshError("runtime_dir_unusable", `${path} vanished while it was being created`);
}

/** Whether a directory of ours is at the path. @throws WshError unsafe_path when something else is */
export function checkOwnDir(path: string): boolean {
  return checkOwn(path, "directory");
}

/**
 * Whether a file of ours is at the path. Throws WshError unsafe_path when it is something else, a symbolic link,
 * another user's, or readable by others.
 */
export function checkOwnFile(path: string): boolean {
  return checkOwn(path, "file");
}

function checkOwn(path: string, kind: "directory" | "file"): boolean {
  const stat = lstat(path);
  if (stat === null) return false;
  if (stat.isSymbolicLink()) throw unsafe(path, "is a symbolic link");
  if (!(kind === "file" ? stat.isFile() : stat.isDirectory())) throw unsafe(path, `is not a ${kind}`);
  if (stat.uid !== ownUid()) throw unsafe(path, `belongs to user ${stat.uid}, not to ${ownUid()}`);
  if ((stat.mode & 0o077) !== 0) throw unsafe(path, `is accessible to others (mode ${octal(stat.mode)})`);
  return true;
}

/**
 * Writes a file that only its owner can read, completely or not at all: beside the path, and renamed into place.
 * @throws the system's error; the existing file stays
 */
export function replaceOwnFile(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.new`;
  // A file of a dead process with the same id.
  removeIfPossible(temporary);
  try {
    fs.writeFileSync(temporary, text, { mode: 0o600, flag: "wx" });
    fs.renameSync(temporary, path);
  } catch (error) {
    removeIfPossible(temporary);
    throw error;
  }
}

/** Removes a file, unless its directory is not ours to enter or to write to. */
export function removeIfPossible(path: string): void {
  try {
    fs.rmSync(path, { force: true });
  } catch {
    // The file stays.
  }
}

/** Removes files and links of a directory that have not changed for a time, in ms. @param prefix of their names */
export function removeOldFiles(directory: string, ageMs: number, prefix = ""): void {
  const oldest = Date.now() - ageMs;
  for (const name of namesIn(directory)) {
    if (!name.startsWith(prefix)) continue;
    const path = join(directory, name);
    const stat = fs.lstatSync(path, { throwIfNoEntry: false });
    if (stat?.isDirectory() === false && stat.mtimeMs < oldest) fs.rmSync(path, { force: true });
  }
}

/** Makes a symbolic link, replacing an existing one in one step. */
export function pointTo(link: string, target: string): void {
  if (readLink(link) === target) return;
  const beside = `${link}~`;
  fs.rmSync(beside, { force: true });
  fs.symlinkSync(target, beside);
  fs.renameSync(beside, link);
}

function lstat(path: string): fs.Stats | null {
  try {
    return fs.lstatSync(path);
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT") return null;
    throw new WshError("runtime_dir_unusable", `${path} cannot be examined: ${code}`, {}, { cause: error });
  }
}

function unsafe(path: string, why: string): WshError {
  return new WshError("unsafe_path", `${path} ${why}`);
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, "0");
}

/** This user's id. */
export function ownUid(): number {
  return process.getuid?.() ?? 0;
}
