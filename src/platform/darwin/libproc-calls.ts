/** libproc and sysctl of a Mac, by FFI. Opened at the first call; libproc is part of the system's C library. */
import { ptr } from "bun:ffi";
import { onFirstUse, openLibc } from "../libc.ts";
import { system } from "../system.ts";
import type { Libproc } from "./libproc.ts";

const library = onFirstUse(() =>
  openLibc({
    proc_pidinfo: { args: ["i32", "i32", "u64", "ptr", "i32"], returns: "i32" },
    proc_listpids: { args: ["u32", "u32", "ptr", "i32"], returns: "i32" },
    sysctl: { args: ["ptr", "u32", "ptr", "ptr", "ptr", "usize"], returns: "i32" },
    getsid: { args: ["i32"], returns: "i32" },
  }),
);

/** Maximum members read of a process group: a pipeline has a few. */
const MAX_PIDS = 1_024;
const PID_BYTES = 4;
/** ARG_MAX in bytes: a smaller buffer gets the end of the arguments, without saying so. */
const ARGS_BYTES = 1024 * 1024;

/** Reused: only the pages that are written take memory. */
const room = onFirstUse(() => new Uint8Array(ARGS_BYTES));

export const systemLibproc: Libproc = {
  pidInfo: (pid, flavor, into) => library().proc_pidinfo(pid, flavor, 0, ptr(into), into.length),
  listPids: (kind, id) => {
    const pids = new Int32Array(MAX_PIDS);
    const bytes = library().proc_listpids(kind, id, ptr(pids), pids.byteLength);
    return bytes <= 0 ? [] : Array.from(pids.subarray(0, Math.floor(bytes / PID_BYTES))).filter((pid) => pid > 0);
  },
  procArgs: (pid) => {
    const { CTL_KERN, KERN_PROCARGS2 } = system.constants;
    if (CTL_KERN === null || KERN_PROCARGS2 === null) return null;
    const bytes = room();
    const size = new BigUint64Array([BigInt(bytes.length)]);
    const name = new Int32Array([CTL_KERN, KERN_PROCARGS2, pid]);
    if (library().sysctl(ptr(name), name.length, ptr(bytes), ptr(size), null, 0) !== 0) return null;
    return bytes.slice(0, Number(size[0] ?? 0n));
  },
  sessionOf: (pid) => library().getsid(pid),
};
