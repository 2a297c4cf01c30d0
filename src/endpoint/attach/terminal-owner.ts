/**
 * The client process of a person's terminal, as far as it decides who may read there: a client that was stopped (no
 * event reports SIGSTOP) or is no longer in the foreground has left the terminal to the shell that started it, and keys
 * are the shell's. One read of a file that stays open shows this (4 µs (m)). Without /proc, or with a pid of another
 * namespace, nothing is known and the client counts as holding its terminal.
 */
import fs from "node:fs";
import { parseStat } from "../../platform/proc.ts";
import { libc } from "../../platform/tty-calls.ts";
import type { PersonDevice } from "../../protocol/attach.ts";

const SPACE = 0x20;
const CLOSING = 0x29;
/** States of a process that was stopped, by a signal or a debugger (proc_pid_stat(5)). */
const STOPPED = 0x54;
const TRACED = 0x74;
/** Fields after the name: the state is the first of them. */
const GROUP = 2;
const FOREGROUND = 5;

/** Bytes to read of /proc/PID/stat, enough for the first fields: the whole file rarely exceeds 400. */
const STAT_BYTES = 512;

export class ClientProcess {
  private readonly buffer = Buffer.alloc(STAT_BYTES);
  /** It was in the foreground when it gave us its terminal; one that was not (no job control) need not be later. */
  private readonly wasForeground: boolean;

  private constructor(
    private readonly fd: number,
    private readonly pid: number,
  ) {
    this.wasForeground = this.isForeground();
  }

  /** Null where that is not available. */
  static open({ pid, number }: PersonDevice): ClientProcess | null {
    if (pid === undefined || process.platform !== "linux") return null;
    try {
      const found = new ClientProcess(fs.openSync(`/proc/${pid}/stat`, "r"), pid);
      // The terminal number is the kernel's own, as in st_rdev: a different number means a different terminal.
      if (found.read()?.tty === number) return found;
      found.close();
    } catch {
      // Ended, or hidden.
    }
    return null;
  }

  /** Whether the client may read and write the terminal. Runs per key. */
  get holdsTerminal(): boolean {
    const { buffer } = this;
    const length = libc().pread(this.fd, buffer, STAT_BYTES, 0);
    if (length <= 0) return false; // ended
    // The name may contain any bytes and ends with the last parenthesis.
    let at = length;
    while (at > 0 && buffer[at] !== CLOSING) at--;
    at += 2;
    const state = buffer[at];
    if (state === STOPPED || state === TRACED) return false;
    return !this.wasForeground || areEqual(buffer, at, GROUP, FOREGROUND);
  }

  close(): void {
    fs.closeSync(this.fd);
  }

  private isForeground(): boolean {
    const stat = this.read();
    return stat !== null && stat.group === stat.foreground;
  }

  /** Null when the process has ended. */
  private read(): ReturnType<typeof parseStat> {
    try {
      const length = fs.readSync(this.fd, this.buffer, 0, STAT_BYTES, 0);
      const stat = parseStat(this.buffer.toString("latin1", 0, length));
      return stat?.pid === this.pid ? stat : null;
    } catch {
      return null;
    }
  }
}

/** Whether the fields numbered `first` and `second` after `at` are equal. */
function areEqual(buffer: Uint8Array, at: number, first: number, second: number): boolean {
  let a = fieldStart(buffer, at, first);
  let b = fieldStart(buffer, at, second);
  while (a < buffer.length && buffer[a] === buffer[b] && buffer[a] !== SPACE) {
    a++;
    b++;
  }
  return buffer[a] === buffer[b];
}

function fieldStart(buffer: Uint8Array, at: number, fields: number): number {
  let start = at;
  for (let left = fields; left > 0 && start < buffer.length; start++) if (buffer[start] === SPACE) left--;
  return start;
}
