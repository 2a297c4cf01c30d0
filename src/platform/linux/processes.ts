/** Facts about processes from /proc. */
import fs from "node:fs";
import { isAlive } from "../alive.ts";
import type { Processes, Stat } from "../port.ts";
import { readLink, readText } from "../readable.ts";
import { libc } from "../tty-calls.ts";
import { activityOf } from "./activity.ts";
import { carriedChild } from "./carried-child.ts";
import { processImage, processLink, statOf, ttyPath } from "./proc.ts";
import { hasOneThread, restOf, runsOf } from "./process-runs.ts";
import { ProcHolder } from "./terminal-holder.ts";

export const procProcesses: Processes = {
  isAlive,
  stat: statOf,
  members,
  onTerminal,
  ignoresHangup,
  args: (pid) => (readText(`/proc/${pid}/cmdline`) ?? "").split("\0").slice(0, -1),
  cwd: (pid) => processLink(pid, "cwd"),
  executable: (pid) => processLink(pid, "exe"),
  image: processImage,
  activity: activityOf,
  runs: runsOf,
  hasOneThread,
  rest: restOf,
  terminalPath: ttyPath,
  namespace,
  holder: ProcHolder.open,
  carriedChild,
};

/** The processes of each group, cached until the current job of the event loop ends: one scan serves all panes. */
let groups: Map<number, number[]> | null = null;
/** The same cache for the states of all processes, whose reading takes fifty times as long. */
let stats: readonly Stat[] | null = null;

function members(group: number): Stat[] {
  const alone = groups === null ? loneLeader(group) : null;
  if (alone !== null) return [alone];
  groups ??= scan();
  return (groups.get(group) ?? []).flatMap((pid) => {
    const stat = statOf(pid);
    return stat !== null && stat.group === group && stat.state !== "ended" ? [stat] : [];
  });
}

/**
 * The leader of a process session without children, at the cost of two reads: only its descendants could be
 * in its group. Examples are a shell that reads its startup files, and the program of a pane without a shell.
 * Null: a scan is needed.
 */
function loneLeader(group: number): Stat | null {
  const stat = statOf(group);
  if (stat === null || stat.session !== group || stat.group !== group || stat.threads !== 1) return null;
  if (stat.state === "ended" || readText(`/proc/${group}/task/${group}/children`) !== "") return null;
  return stat;
}

function scan(): Map<number, number[]> {
  const children = new Map<number, number[]>();
  for (const entry of fs.readdirSync("/proc")) {
    const first = entry.charCodeAt(0);
    if (first < 0x31 || first > 0x39) continue;
    const pid = Number(entry);
    // Asking the system for each group takes a fiftieth of the time of reading each process's file.
    const group = libc().getpgid(pid);
    const others = children.get(group);
    if (others === undefined) children.set(group, [pid]);
    else others.push(pid);
  }
  queueMicrotask(() => {
    groups = null;
    stats = null;
  });
  return children;
}

function onTerminal(tty: number): Stat[] {
  groups ??= scan();
  stats ??= [...groups.values()].flat().flatMap((pid) => statOf(pid) ?? []);
  return stats.filter((stat) => stat.tty === tty && stat.state !== "ended");
}

/** SigIgn in proc(5)'s status: a bit for each signal, SIGHUP being the first. */
function ignoresHangup(pid: number): boolean {
  const [, ignored = "0"] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readText(`/proc/${pid}/status`) ?? "") ?? [];
  return Number.parseInt(ignored.slice(-1), 16) % 2 === 1;
}

function namespace(): string | null {
  return readLink("/proc/self/ns/pid");
}
