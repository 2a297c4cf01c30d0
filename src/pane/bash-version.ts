/**
 * Version of a bash, read from its file: every bash since 2.0 contains the line for what(1). Starting bash to ask would
 * cost each session a process.
 */
import fs from "node:fs";
import type { BashVersion } from "../shell/plan.ts";

/** Largest file that is looked through, in bytes: bash has one to two million. */
const MAX_BYTES = 32 * 1024 * 1024;
const LINE = "@(#)Bash version ";
/** Characters after it that contain the version. */
const VERSION_CHARACTERS = 16;

/** Null for an unreadable file or one without a version, such as a script in front of bash. Takes about 1 ms. */
export function bashVersion(file: string): BashVersion | null {
  try {
    const { size } = fs.statSync(file);
    if (size > MAX_BYTES) return null;
    const bytes = fs.readFileSync(file);
    const at = bytes.indexOf(LINE);
    if (at === -1) return null;
    const text = bytes.toString("latin1", at + LINE.length, at + LINE.length + VERSION_CHARACTERS);
    const [, major, minor] = /^(\d+)\.(\d+)/.exec(text) ?? [];
    return major === undefined ? null : { major: Number(major), minor: Number(minor) };
  } catch {
    return null; // unreadable: the script itself checks the version
  }
}
