/**
 * Writes whole lines to a file that other processes append to as well. A full disk takes part of a line or
 * none of it: that line is lost and counted. The next line never continues a torn line of any process, and
 * first reports how many of this process's lines are missing.
 */

import fs from "node:fs";

const NEWLINE = 0x0a;

export class LineWriter {
  private lost = 0;
  private torn = false;
  private readonly lastByte = new Uint8Array(1);

  /** @param notice returns the line that reports how many lines are missing */
  constructor(private readonly notice: (lost: number) => string) {}

  /** Returns the bytes written. On failure, counts the line as lost and throws the system's error. */
  write(fd: number, line: string): number {
    const gap = this.endsTorn(fd) ? "\n" : "";
    const head = gap + (this.lost === 0 ? "" : this.notice(this.lost));
    const bytes = Buffer.from(head + line);
    let written = 0;
    try {
      written = fs.writeSync(fd, bytes);
    } finally {
      this.torn = written > 0 ? written < bytes.length : this.torn;
      if (written === bytes.length) this.lost = 0;
      // The notice may have been written whole before the line that was cut.
      else this.lost = (written >= Buffer.byteLength(head) && head.length > gap.length ? 0 : this.lost) + 1;
    }
    return written;
  }

  /** Another process may have torn the last line; an unreadable descriptor shows only this process's writes. */
  private endsTorn(fd: number): boolean {
    try {
      const stat = fs.fstatSync(fd);
      if (!stat.isFile()) return false;
      if (stat.size === 0) return false;
      return fs.readSync(fd, this.lastByte, 0, 1, stat.size - 1) === 1 && this.lastByte[0] !== NEWLINE;
    } catch {
      return this.torn;
    }
  }
}
