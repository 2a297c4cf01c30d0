/**
 * macOS as a platform on top of the Linux kernel: a process on it sees no /proc, only libproc's answers, in
 * the bytes that libproc writes; a connect to a full queue is refused; bind and the end of a socket raise no file
 * event, and a socket cannot be watched. Terminals: tests/support/darwin-terminal.ts.
 *
 * In this process: `using _ = usePlatform(fakeDarwin)`. In a process of ours that a test starts: environment.ts.
 */
import fs from "node:fs";
import { join } from "node:path";
import {
  type Libproc,
  PROC_PGRP_ONLY,
  PROC_PIDTASKINFO,
  PROC_PIDTBSDINFO,
  PROC_PIDVNODEPATHINFO,
  PROC_TTY_ONLY,
} from "../../../src/platform/darwin/libproc.ts";
import { LibprocProcesses } from "../../../src/platform/darwin/processes.ts";
import { darwin } from "../../../src/platform/darwin.ts";
import { linuxPlatform } from "../../../src/platform/linux/platform.ts";
import { ttyPath } from "../../../src/platform/linux/proc.ts";
import { procProcesses } from "../../../src/platform/linux/processes.ts";
import { linuxSockets } from "../../../src/platform/linux/sockets.ts";
import type { Platform, RunState, Sockets } from "../../../src/platform/port.ts";
import { procArgsBytes, structBytes } from "./libproc-bytes.ts";

/** p_stat of <sys/proc.h>: a sleeping process is SRUN, too. */
const statuses: Readonly<Record<RunState, number>> = { running: 2, asleep: 2, alive: 2, stopped: 4, ended: 5 };
/** NODEV. */
const NO_DEVICE = 0xffffffff;

/** Facts of the Linux kernel in the form of libproc's answers. */
export const fakeLibproc: Libproc = {
  pidInfo(pid, flavor, into) {
    const bytes = answer(pid, flavor);
    if (bytes === null || bytes.length > into.length) return 0;
    into.set(bytes);
    return bytes.length;
  },
  listPids(kind, id) {
    const listed = { [PROC_PGRP_ONLY]: procProcesses.members, [PROC_TTY_ONLY]: procProcesses.onTerminal }[kind];
    return listed?.(id).map(({ pid }) => pid) ?? [];
  },
  procArgs(pid) {
    const executable = procProcesses.executable(pid);
    return executable === null ? null : procArgsBytes(executable, procProcesses.args(pid), ["PATH=/usr/bin:/bin"]);
  },
  sessionOf: (pid) => procProcesses.stat(pid)?.session ?? -1,
};

function answer(pid: number, flavor: number): Uint8Array | null {
  const stat = procProcesses.stat(pid);
  if (stat === null) return null;
  switch (flavor) {
    case PROC_PIDTBSDINFO:
      return structBytes("proc_bsdinfo", {
        pbi_status: statuses[stat.state],
        pbi_pid: stat.pid,
        pbi_ppid: stat.ppid,
        pbi_comm: stat.name,
        pbi_name: stat.name,
        pbi_pgid: stat.group,
        e_tdev: stat.tty === 0 ? NO_DEVICE : stat.tty,
        e_tpgid: stat.foreground,
        pbi_start_tvsec: stat.started,
      });
    case PROC_PIDTASKINFO:
      return structBytes("proc_taskinfo", {
        pti_threadnum: stat.threads,
        pti_numrunning: stat.state === "running" ? 1 : 0,
      });
    case PROC_PIDVNODEPATHINFO:
      return structBytes("proc_vnodepathinfo", { "pvi_cdir.vip_path": procProcesses.cwd(pid) ?? "" });
    default:
      return null;
  }
}

class FakeProcesses extends LibprocProcesses {
  /** Terminals have their Linux names. */
  override terminalPath(tty: number): string | null {
    return ttyPath(tty);
  }
}

function isSocket(path: string): boolean {
  return fs.lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true;
}

const fakeSockets: Sockets = {
  connect(path) {
    const outcome = linuxSockets.connect(path);
    // EAGAIN: a full queue; descriptors do not run out in tests.
    return outcome.kind === "other" ? { kind: "refused" } : outcome;
  },
  bound: () => [],
  watch(path, changed, failed) {
    if (isSocket(path)) throw new Error(`EOPNOTSUPP: ${path} is a socket`);
    // A removed socket is known only by its name.
    const isEvent = (file: string | null): boolean =>
      file === null || !(file.endsWith(".sock") || isSocket(join(path, file)));
    return linuxSockets.watch(path, (file) => isEvent(file) && changed(file), failed);
  },
  reportsSockets: false,
  canLeaveBun: false,
};

export const fakeDarwin: Platform = {
  // The Linux kernel accepts longer paths.
  limits: darwin.limits,
  foldsFileNames: darwin.foldsFileNames,
  processes: new FakeProcesses(fakeLibproc),
  sockets: fakeSockets,
  terminals: { ...linuxPlatform.terminals, path: (fd) => ttyPath(fs.fstatSync(fd).rdev), signalsInput: false },
  listeners: null,
};

/** macOS's daily clean-up of /tmp: regular files that were not used for three days are removed. */
export function cleanTmp(directory: string): string[] {
  const removed: string[] = [];
  for (const entry of fs.readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile()) continue;
    fs.rmSync(path);
    removed.push(path);
  }
  return removed;
}
