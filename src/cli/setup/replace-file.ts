/**
 * Replaces a file completely: a reader sees the old one or the new one. Everything is created under a name that did not
 * exist, never through a link, in the real directory of the file; the old text stays beside it. New files get the owner
 * of the old file, or of the directory, so that a user's files stay the user's when root sets up the hosts.
 */
import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fsyncSync,
  lchownSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { errorCode } from "../../base/errno.ts";
import { WshError } from "../../protocol/errors.ts";
import { type ConfigFile, textOf } from "./host-file.ts";

/** New files hold no secret of ours, but their neighbours often do: owner only. */
const NEW_FILE_MODE = 0o600;
/** Maximum copies of older states beside a file before the person must delete some. */
const MOST_BACKUPS = 100;

/** Owner and mode of a file that is made. */
interface FileAttributes {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/**
 * @param before text that was read, undefined when there was no file
 * @returns path of the copy of the old text, undefined without one
 * @throws WshError conflict when the file has changed since it was read
 */
export function replaceFile(place: ConfigFile, before: string | undefined, after: string): string | undefined {
  const { target } = place;
  const directory = makeDirectory(dirname(target));
  if (textOf(place) !== before) {
    throw new WshError("invalid_setting", `${place.file} changed in the meantime`, {
      hint: "Run wsh setup again.",
    });
  }
  const { uid, gid, mode } = before === undefined ? { ...directory, mode: NEW_FILE_MODE } : statSync(target);
  const attributes: FileAttributes = { uid, gid, mode: mode & 0o777 };
  const backup = before === undefined ? undefined : keepCopy(target, before, attributes);
  const fresh = join(dirname(target), `.${basename(target)}.${randomUUID()}`);
  try {
    create(fresh, after, attributes);
    renameSync(fresh, target);
  } finally {
    rmSync(fresh, { force: true });
  }
  return backup;
}

/** Creates a directory and its missing parents. @returns its owner */
function makeDirectory(path: string): { readonly uid: number; readonly gid: number } {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat !== undefined) return stat;
  const owner = makeDirectory(dirname(path));
  try {
    mkdirSync(path);
    if (isRoot()) lchownSync(path, owner.uid, owner.gid);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
  return owner;
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** `FILE.before-wsh`, or `FILE.before-wsh.2` and so on: an existing file with that name stays. */
function keepCopy(target: string, text: string, attributes: FileAttributes): string {
  for (let count = 1; count <= MOST_BACKUPS; count += 1) {
    const path = `${target}.before-wsh${count === 1 ? "" : `.${count}`}`;
    try {
      create(path, text, attributes);
      return path;
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error;
    }
  }
  throw new WshError("invalid_setting", `${MOST_BACKUPS} backups named ${target}.before-wsh… already exist`, {
    hint: "Delete those that you do not need.",
  });
}

/** O_EXCL refuses existing files, and also dangling links. */
function create(path: string, text: string, { mode, uid, gid }: FileAttributes): void {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
  const fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    if (isRoot()) fchownSync(fd, uid, gid);
    fchmodSync(fd, mode);
    writeFileSync(fd, text);
    fsyncSync(fd);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
}
