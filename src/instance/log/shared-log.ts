/**
 * A log file that several processes append to, each through a descriptor of its own. When it is full, one of them moves
 * it to FILE.1 and the others go on in the new one: whoever wants to move it holds a lock on the file itself and looks
 * whether it is still the one at the path, so that it is moved once. A line goes into the file that is at the path.
 */
import fs from "node:fs";
import { tryFlock } from "../../platform/descriptors.ts";
import { LineWriter } from "./line-writer.ts";
import { formatLine, largestLogBytes, openLogFile } from "./log.ts";

/** Others may not read it, whoever made it. */
const OTHERS = 0o077;

/** Appends lines. It throws what the system says; the next line that is written tells how many were lost. */
export function sharedLog(path: string): (line: string) => void {
  const lines = new LineWriter((lost) => formatLine("json", new Date(), "warn", "lines_lost", { lines: lost }));
  let fd: number | null = null;
  return (line) => {
    if (fd !== null && !isAt(path, fd)) {
      fs.closeSync(fd);
      fd = null;
    }
    fd ??= open(path);
    lines.write(fd, line);
  };
}

function open(path: string): number {
  const fd = openLogFile(path, { rotate: false });
  const stat = fs.fstatSync(fd);
  if (!stat.isFile()) return fd;
  if ((stat.mode & OTHERS) !== 0) fs.fchmodSync(fd, 0o600);
  if (stat.size <= largestLogBytes) return fd;
  // Without the lock another is moving it at this moment: this line belongs to the old file then.
  if (!tryFlock(fd) || !isFileAt(path, fd)) return fd;
  fs.renameSync(path, `${path}.1`);
  fs.closeSync(fd);
  return openLogFile(path, { rotate: false });
}

/** Whether the descriptor is of the file at the path, and that has room. */
function isAt(path: string, fd: number): boolean {
  const stat = fs.fstatSync(fd);
  return !stat.isFile() || (stat.size <= largestLogBytes && isFileAt(path, fd));
}

function isFileAt(path: string, fd: number): boolean {
  const ours = fs.fstatSync(fd, { bigint: true });
  const there = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return there !== undefined && there.ino === ours.ino && there.dev === ours.dev;
}
