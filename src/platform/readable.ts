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

/** The path in a symbolic link; null when it cannot be read. */
export function readLink(path: string): string | null {
  try {
    return fs.readlinkSync(path);
  } catch {
    return null;
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
