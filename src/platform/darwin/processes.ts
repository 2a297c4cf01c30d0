/**
 * Facts about processes from libproc. macOS reveals the holder of a terminal, stopped processes, and whether a thread
 * runs, but not what a process waits for: that activity is "hidden".
 */
import fs from "node:fs";
import { isAlive } from "../alive.ts";
import type { ProcessActivity, Processes, Stat, TerminalHolder } from "../port.ts";
import { realPath } from "../readable.ts";
import {
  BSDINFO_BYTES,
  type BsdInfo,
  decodeBsdInfo,
  decodeCwd,
  decodeProcArgs,
  decodeTaskInfo,
  type Libproc,
  PROC_PGRP_ONLY,
  PROC_PIDTASKINFO,
  PROC_PIDTBSDINFO,
  PROC_PIDVNODEPATHINFO,
  PROC_TTY_ONLY,
  type ProcArgs,
  TASKINFO_BYTES,
  type TaskInfo,
  VNODEPATHS_BYTES,
} from "./libproc.ts";

/** dev_t has the minor number in its lower 24 bits. */
const MINOR_MASK = 0xff_ffff;

export class LibprocProcesses implements Processes {
  readonly isAlive = isAlive;

  constructor(private readonly libproc: Libproc) {}

  readonly stat = (pid: number): Stat | null => {
    const info = this.info(pid);
    if (info === null) return null;
    return { ...info, threads: this.task(pid)?.threads ?? 1, session: this.libproc.sessionOf(pid) };
  };

  members(group: number): Stat[] {
    const stats = this.libproc.listPids(PROC_PGRP_ONLY, group).map(this.stat);
    return stats.filter((stat) => stat !== null).filter((stat) => stat.group === group && stat.state !== "ended");
  }

  onTerminal(tty: number): Stat[] {
    const stats = this.libproc.listPids(PROC_TTY_ONLY, tty).map(this.stat);
    return stats.filter((stat) => stat !== null).filter((stat) => stat.tty === tty && stat.state !== "ended");
  }

  ignoresHangup(): boolean {
    return false;
  }

  args(pid: number): readonly string[] {
    return this.arguments(pid)?.args ?? [];
  }

  cwd(pid: number): string | null {
    const bytes = this.bytes(pid, PROC_PIDVNODEPATHINFO, VNODEPATHS_BYTES);
    return bytes === null ? null : decodeCwd(bytes);
  }

  executable(pid: number): string | null {
    return this.arguments(pid)?.executable ?? null;
  }

  /** A start of the same file with the same arguments looks the same. */
  readonly image = (pid: number) => {
    const args = this.arguments(pid);
    return args === null ? null : { executable: args.executable, start: args.args.join("\0") };
  };

  activity(stat: Stat): ProcessActivity {
    if (stat.state === "stopped") return "stopped";
    return (this.task(stat.pid)?.running ?? 0) > 0 ? "working" : "hidden";
  }

  /** The kernel counts no turns of a single thread. */
  runs(): null {
    return null;
  }

  hasOneThread(pid: number): boolean {
    return this.task(pid)?.threads === 1;
  }

  rest(pid: number): "stopped" | "other" {
    return this.info(pid)?.state === "stopped" ? "stopped" : "other";
  }

  /** Pseudo terminals are ttys000, ttys001, …; the device there must be the same one. */
  terminalPath(tty: number): string | null {
    const path = `/dev/ttys${String(tty & MINOR_MASK).padStart(3, "0")}`;
    try {
      return tty !== 0 && fs.statSync(path).rdev === tty ? path : null;
    } catch {
      return null; // not a pseudo terminal
    }
  }

  /** There is one for all. */
  namespace(): string {
    return "";
  }

  holder(pid: number, tty: number): TerminalHolder | null {
    const first = this.info(pid);
    if (first === null || first.tty !== tty) return null;
    const wasForeground = first.group === first.foreground;
    const bytes = new Uint8Array(BSDINFO_BYTES);
    const holds = (): boolean => {
      if (this.libproc.pidInfo(pid, PROC_PIDTBSDINFO, bytes) < BSDINFO_BYTES) return false; // ended
      const now = decodeBsdInfo(bytes);
      if (now === null || now.started !== first.started || now.state === "stopped" || now.state === "ended")
        return false;
      return !wasForeground || now.group === now.foreground;
    };
    return {
      get holdsTerminal() {
        return holds();
      },
      close: () => {},
    };
  }

  /** The system does not reveal the terminal of a held master side. */
  carriedChild(): null {
    return null;
  }

  private info(pid: number): BsdInfo | null {
    const bytes = this.bytes(pid, PROC_PIDTBSDINFO, BSDINFO_BYTES);
    const info = bytes === null ? null : decodeBsdInfo(bytes);
    return info?.pid === pid ? info : null;
  }

  private task(pid: number): TaskInfo | null {
    const bytes = this.bytes(pid, PROC_PIDTASKINFO, TASKINFO_BYTES);
    return bytes === null ? null : decodeTaskInfo(bytes);
  }

  private arguments(pid: number): ProcArgs | null {
    const bytes = this.libproc.procArgs(pid);
    const args = bytes === null ? null : decodeProcArgs(bytes);
    return args === null ? null : { ...args, executable: realPath(args.executable) };
  }

  private bytes(pid: number, flavor: number, length: number): Uint8Array | null {
    const bytes = new Uint8Array(length);
    const written = this.libproc.pidInfo(pid, flavor, bytes);
    return written <= 0 ? null : bytes.subarray(0, written);
  }
}
