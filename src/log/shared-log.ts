/**
 * A log file that several processes append to, each through its own descriptor. When it is full, one of them moves it
 * to FILE.1 and the others continue in the new one: the mover locks the file itself and checks that it is still the one
 * at the path, so that it is moved once.
 */
import fs from "node:fs";
import { isFileAt } from "../instance/lock.ts";
import { tryFlock } from "../platform/descriptors.ts";
import { LineWriter } from "./line-writer.ts";
import { formatLine, largestLogBytes, openLogFile } from "./log.ts";

/** Permission bits of other users, who may not read it. */
const OTHERS = 0o077;

/** Returns a function that appends a line. It throws the system's error; the next line reports how many were lost. */
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
  // Without the lock, another process is moving the file right now: this line still belongs to the old one.
  if (tryFlock(fd).kind === "held" || !isFileAt(path, fd)) return fd;
  fs.renameSync(path, `${path}.1`);
  fs.closeSync(fd);
  return openLogFile(path, { rotate: false });
}

/** Whether the descriptor refers to the file at the path and the file has room. */
function isAt(path: string, fd: number): boolean {
  const stat = fs.fstatSync(fd);
  return !stat.isFile() || (stat.size <= largestLogBytes && isFileAt(path, fd));
}
