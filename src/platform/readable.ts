/** Files and links that may not be readable: absent from this system, gone meanwhile, or another user's. */
import fs from "node:fs";

/** Null when it cannot be read. */
export function readText(path: string): string | null {
  try {
    return fs.readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/** Names in a directory; empty when it cannot be read. */
export function namesIn(directory: string): string[] {
  try {
    return fs.readdirSync(directory);
  } catch {
    return [];
  }
}

/** The path in a symbolic link; null when it cannot be read. */
export function readLink(path: string): string | null {
  try {
    return fs.readlinkSync(path);
  } catch {
    return null;
  }
}

/** A path in /proc without the mark of a deleted file. */
export function withoutDeletedMark(path: string): string {
  return path.replace(/ \(deleted\)$/, "");
}

/** The path without symbolic links; the path itself if its file is gone. */
export function realPath(path: string): string {
  try {
    return fs.realpathSync(path);
  } catch {
    return path;
  }
}

/** Opens a file of which others may have made a pipe, which would block, or a link; null when it cannot be opened. */
export function openToRead(path: string): number | null {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  try {
    return fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    return null;
  }
}
