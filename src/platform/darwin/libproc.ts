/**
 * The answers of libproc(3) and sysctl(3) of macOS, as bytes, and their decoders, which are pure. Layouts are those of
 * <sys/proc_info.h>; all numbers are little-endian on both architectures.
 */
import { darwin } from "../darwin.ts";
import type { RunState, Stat } from "../port.ts";
import type { Layout } from "../table.ts";

/** The calls that give the bytes: by FFI on macOS, from a Linux kernel's facts in tests. */
export interface Libproc {
  /** proc_pidinfo: number of bytes written, 0 or less without any. */
  pidInfo(pid: number, flavor: number, into: Uint8Array): number;
  /** proc_listpids: pids, as many as fit. */
  listPids(kind: number, id: number): readonly number[];
  /** sysctl KERN_PROCARGS2: null for another user's process, or one that has ended. */
  procArgs(pid: number): Uint8Array | null;
  /** getsid(2); negative when the process has ended. */
  sessionOf(pid: number): number;
}

function needed<T>(value: T | null): T {
  if (value === null) throw new TypeError("the table of macOS lacks a number");
  return value;
}

const { constants, layouts } = darwin;
const bsdinfo = needed(layouts.proc_bsdinfo);
const taskinfo = needed(layouts.proc_taskinfo);
const vnodepaths = needed(layouts.proc_vnodepathinfo);
export const BSDINFO_BYTES = bsdinfo.bytes;
export const TASKINFO_BYTES = taskinfo.bytes;
export const VNODEPATHS_BYTES = vnodepaths.bytes;
export const PROC_PGRP_ONLY = needed(constants.PROC_PGRP_ONLY);
export const PROC_TTY_ONLY = needed(constants.PROC_TTY_ONLY);
export const PROC_PIDTBSDINFO = needed(constants.PROC_PIDTBSDINFO);
export const PROC_PIDTASKINFO = needed(constants.PROC_PIDTASKINFO);
export const PROC_PIDVNODEPATHINFO = needed(constants.PROC_PIDVNODEPATHINFO);

const MICROSECONDS = 1_000_000;

/** The fields of struct proc_bsdinfo; threads and process session come from other calls. */
export type BsdInfo = Omit<Stat, "threads" | "session">;

/** @returns null when it is shorter than the struct: another version of it, or no such process */
export function decodeBsdInfo(bytes: Uint8Array): BsdInfo | null {
  if (bytes.length < bsdinfo.bytes) return null;
  const view = viewOf(bytes);
  const word = (name: keyof typeof bsdinfo.fields) => view.getUint32(bsdinfo.fields[name].offset, true);
  const long = (name: keyof typeof bsdinfo.fields) => Number(view.getBigUint64(bsdinfo.fields[name].offset, true));
  return {
    pid: word("pbi_pid"),
    ppid: word("pbi_ppid"),
    // The longer name is empty for a process that never had it registered.
    name: text(bytes, bsdinfo, "pbi_name") || text(bytes, bsdinfo, "pbi_comm"),
    state: runState(word("pbi_status")),
    group: word("pbi_pgid"),
    // NODEV, all bits set, for a process without a terminal.
    tty: word("e_tdev") === 0xffffffff ? 0 : word("e_tdev"),
    foreground: view.getInt32(bsdinfo.fields.e_tpgid.offset, true),
    started: long("pbi_start_tvsec") * MICROSECONDS + long("pbi_start_tvusec"),
  };
}

/** p_stat of <sys/proc.h>. A process whose threads sleep is SRUN too. */
function runState(status: number): RunState {
  if (status === constants.SSTOP) return "stopped";
  return status === constants.SZOMB ? "ended" : "alive";
}

export interface TaskInfo {
  readonly threads: number;
  /** Threads on a processor, or waiting for one. */
  readonly running: number;
}

export function decodeTaskInfo(bytes: Uint8Array): TaskInfo | null {
  if (bytes.length < taskinfo.bytes) return null;
  const view = viewOf(bytes);
  return {
    threads: view.getInt32(taskinfo.fields.pti_threadnum.offset, true),
    running: view.getInt32(taskinfo.fields.pti_numrunning.offset, true),
  };
}

/** The directory in struct proc_vnodepathinfo; null without one, as after its file system was unmounted. */
export function decodeCwd(bytes: Uint8Array): string | null {
  return bytes.length < vnodepaths.bytes ? null : text(bytes, vnodepaths, "pvi_cdir.vip_path") || null;
}

export interface ProcArgs {
  readonly executable: string;
  readonly args: readonly string[];
}

/**
 * KERN_PROCARGS2: the number of arguments (int), the path of the executable, NULs up to the first argument, then the
 * arguments, each ended by a NUL; the environment follows. Truncated when the program has overwritten its own.
 */
export function decodeProcArgs(bytes: Uint8Array): ProcArgs | null {
  if (bytes.length < 4) return null;
  const count = viewOf(bytes).getInt32(0, true);
  let offset = 4;
  const next = (): string | null => {
    if (offset >= bytes.length) return null;
    const end = bytes.indexOf(0, offset);
    const piece = bytes.subarray(offset, end < 0 ? bytes.length : end);
    offset += piece.length + 1;
    return Buffer.from(piece).toString("utf8");
  };
  const executable = next();
  if (executable === null || executable === "" || count < 0) return null;
  while (offset < bytes.length && bytes[offset] === 0) offset++;
  const args: string[] = [];
  for (let left = count; left > 0; left--) {
    const arg = next();
    if (arg === null) break;
    args.push(arg);
  }
  return { executable, args };
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A field of characters, up to its first NUL. */
function text<F extends string>(bytes: Uint8Array, layout: Layout<F>, name: F): string {
  const { offset, bytes: length } = layout.fields[name];
  const field = Buffer.from(bytes.subarray(offset, offset + length));
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end < 0 ? field.length : end);
}
