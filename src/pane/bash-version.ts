/**
 * Version of a bash, read from its file: every bash since 2.0 contains the line for what(1). Starting bash to ask would
 * cost each session a process.
 */
import fs from "node:fs";
import type { BashVersion } from "../shell/plan.ts";

/** Largest file that is searched, in bytes: bash has one to two million. */
const MAX_BYTES = 32 * 1024 * 1024;
const VERSION_MARKER = "@(#)Bash version ";
/** Characters after the marker that contain the version. */
const VERSION_CHARACTERS = 16;

/** The file read last: reading one takes about 1 ms, and a session's shells are one file. */
let lastRead: { readonly file: string; readonly version: BashVersion | null } | null = null;

/** Returns null for an unreadable file or one without a version, such as a script in front of bash. */
export function bashVersion(path: string): BashVersion | null {
  try {
    const { dev, ino, size, mtimeMs } = fs.statSync(path);
    if (size > MAX_BYTES) return null;
    const file = `${dev} ${ino} ${size} ${mtimeMs}`;
    if (lastRead?.file !== file) lastRead = { file, version: readVersion(path) };
    return lastRead.version;
  } catch {
    return null; // unreadable: the script itself checks the version
  }
}

/** @throws the system's error */
function readVersion(path: string): BashVersion | null {
  const bytes = fs.readFileSync(path);
  const index = bytes.indexOf(VERSION_MARKER);
  if (index === -1) return null;
  const text = bytes.toString(
    "latin1",
    index + VERSION_MARKER.length,
    index + VERSION_MARKER.length + VERSION_CHARACTERS,
  );
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(text) ?? [];
  return major === undefined ? null : { major: Number(major), minor: Number(minor) };
}
