/**
 * Checks before a start why a file cannot be started: on macOS a failing child only ends with 127, and elsewhere the
 * system's error does not distinguish the file from its interpreter.
 */
import fs from "node:fs";
import { errorCode } from "../base/errno.ts";
import { system } from "./system.ts";

/** Bytes of a file that name its format or its interpreter: Linux reads 256, macOS 512. */
const HEAD_BYTES = 512;
/** Interpreters that may be scripts themselves: more than any system follows. */
const MOST_INTERPRETERS = 5;
/**
 * @param formats of all programs that the system can run; null: unknown
 * @returns null without a known fault
 */
export function startFault(path: string, formats = system.starts.formats): string | null {
  let file = path;
  for (let depth = 0; depth < MOST_INTERPRETERS; depth++) {
    const notFile = fileFault(file);
    const head = notFile === null ? beginning(file) : null;
    const interpreter = head === null ? null : interpreterOf(head);
    const fault =
      notFile ?? (formats !== null && head !== null && interpreter === null ? formatFault(head, formats) : null);
    if (fault !== null) return file === path ? fault : `needs the interpreter '${file}', which ${fault}`;
    if (interpreter === null) return null;
    // A relative path depends on the directory of the start.
    if (!interpreter.startsWith("/")) return null;
    file = interpreter;
  }
  return null;
}

/** Describes the system's error on a start; its code when no better text exists. */
export function startError(error: unknown): string {
  const code = errorCode(error);
  if (code === "ENOEXEC") return "is not an executable of this system and has no '#!' line";
  return `cannot be started: ${code ?? (error instanceof Error ? error.message : String(error))}`;
}

function fileFault(file: string): string | null {
  try {
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    if (stat === undefined) return "does not exist";
    if (stat.isDirectory()) return "is a directory";
    if (!stat.isFile()) return "is not a file";
  } catch (error) {
    return `cannot be read: ${errorCode(error)}`;
  }
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return null;
  } catch {
    return "is not executable";
  }
}

/** Null for a program that may be executed but not read. */
function beginning(file: string): Buffer | null {
  try {
    const fd = fs.openSync(file, "r");
    try {
      const head = Buffer.alloc(HEAD_BYTES);
      return head.subarray(0, fs.readSync(fd, head, 0, HEAD_BYTES, 0));
    } finally {
      fs.closeSync(fd);
    }
  } catch {
    return null;
  }
}

/** The path after `#!`; null when the file is not a script. */
function interpreterOf(head: Buffer): string | null {
  if (head.toString("latin1", 0, 2) !== "#!") return null;
  return /^#![ \t]*([^\s\0]*)/.exec(head.toString("utf8"))?.[1] ?? null;
}

function formatFault(head: Buffer, formats: readonly number[]): string | null {
  if (head.length >= 4 && formats.includes(head.readUInt32BE(0))) return null;
  return "is not an executable of this system and has no '#!' line";
}
