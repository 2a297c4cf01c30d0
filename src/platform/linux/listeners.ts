/**
 * Listening sockets, and the processes that hold them, from /proc: the tables of /proc/PID/net, the descriptors of
 * /proc/PID/fd, and children, starts and environments (proc(5)).
 */
import fs from "node:fs";
import type { Listeners, ListeningSocket, Moment, Stat } from "../port.ts";
import { namesIn, readLink, readText } from "../readable.ts";
import { statOf } from "./proc.ts";

/** State LISTEN in /proc/net/tcp (include/net/tcp_states.h). */
const LISTEN = "0A";
/** Clock ticks of /proc/PID/stat in a second: USER_HZ, the same on every architecture that Bun runs on. */
const TICKS_PER_SECOND = 100;

export const procListeners: Listeners = {
  moment,
  isLater: ({ started, pid }, { started: then, newest }) => started > then || (started === then && pid > newest),
  startedAt,
  all: allProcesses,
  children: childrenOf,
  network: (pid) => readLink(`/proc/${pid}/ns/net`),
  environment: (pid) => readText(`/proc/${pid}/environ`)?.split("\0") ?? [],
  listening: (pid) => {
    const four = readText(`/proc/${pid}/net/tcp`);
    // A kernel without IPv6 has no second table.
    return four === null ? null : [...listening(four), ...listening(readText(`/proc/${pid}/net/tcp6`) ?? "")];
  },
  userOf: (address, port) =>
    userIn(readText("/proc/net/tcp") ?? "", address, port) ?? userIn(readText("/proc/net/tcp6") ?? "", address, port),
  heldSockets,
};

/** Two small reads. */
function moment(): Moment | null {
  const uptime = Number.parseFloat(readText("/proc/uptime") ?? "");
  // proc(5): the last field is the newest process id.
  const newest = Number((readText("/proc/loadavg") ?? "").trim().split(" ")[4]);
  return Number.isFinite(uptime) && newest > 0 ? { started: Math.round(uptime * TICKS_PER_SECOND), newest } : null;
}

function startedAt({ started }: Stat): number | null {
  const booted = Number(/^btime (\d+)$/m.exec(readText("/proc/stat") ?? "")?.[1]);
  return Number.isFinite(booted) ? Math.round((booted + started / TICKS_PER_SECOND) * 1000) : null;
}

function childrenOf(pid: number): number[] {
  const threads = namesIn(`/proc/${pid}/task`);
  const lists = threads.map((thread) => readText(`/proc/${pid}/task/${thread}/children`));
  if (lists.some((list) => list !== null)) {
    return lists.flatMap((list) =>
      (list ?? "")
        .split(" ")
        .filter((child) => child.trim() !== "")
        .map(Number),
    );
  }
  // A kernel without lists of children: every process names its parent.
  return threads.length === 0 ? [] : allProcesses().filter((other) => statOf(other)?.ppid === pid);
}

function allProcesses(): number[] {
  return fs
    .readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number);
}

/** The sockets that a process holds, or those of `ids`; null when its descriptors may not be read. */
function heldSockets(pid: number, ids?: ReadonlySet<string>): ReadonlySet<string> | null {
  let fds: string[];
  try {
    fds = fs.readdirSync(`/proc/${pid}/fd`);
  } catch {
    return null;
  }
  const held = new Set<string>();
  for (const fd of fds) {
    const inode = /^socket:\[(\d+)\]$/.exec(readLink(`/proc/${pid}/fd/${fd}`) ?? "")?.[1];
    if (inode !== undefined && ids?.has(inode) !== false) held.add(inode);
  }
  return held;
}

/** The listening sockets of /proc/net/tcp or tcp6 (proc(5)): `sl local_address rem_address st … inode`. */
export function listening(table: string): ListeningSocket[] {
  const sockets: ListeningSocket[] = [];
  for (const line of table.split("\n").slice(1)) {
    const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
    if (state !== LISTEN) continue;
    const colon = local.lastIndexOf(":");
    sockets.push({
      id: inode,
      port: Number.parseInt(local.slice(colon + 1), 16),
      address: addressOf(local.slice(0, colon)),
    });
  }
  return sockets;
}

/** User of the socket in /proc/net/tcp or tcp6 whose local address this is; null: there is none. */
function userIn(table: string, address: string, port: number): number | null {
  const wanted = bareIPv4(address);
  for (const line of table.split("\n").slice(1)) {
    const [, local = "", , state, , , , user = ""] = line.trim().split(/\s+/);
    const colon = local.lastIndexOf(":");
    if (state === LISTEN || Number.parseInt(local.slice(colon + 1), 16) !== port) continue;
    if (bareIPv4(addressOf(local.slice(0, colon))) === wanted) return Number(user);
  }
  return null;
}

/** An IPv4 address that came over an IPv6 socket is the same address. */
function bareIPv4(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
}

/** The kernel prints an address as words in the machine's own byte order: little endian wherever Bun runs. */
function addressOf(hex: string): string {
  const bytes: number[] = [];
  for (let word = 0; word + 8 <= hex.length; word += 8) {
    for (let offset = 6; offset >= 0; offset -= 2)
      bytes.push(Number.parseInt(hex.slice(word + offset, word + offset + 2), 16));
  }
  if (bytes.length === 4) return bytes.join(".");
  const groups: string[] = [];
  for (let index = 0; index < bytes.length; index += 2)
    groups.push((((bytes[index] ?? 0) << 8) | (bytes[index + 1] ?? 0)).toString(16));
  const mapped = /^0:0:0:0:0:ffff:/.test(groups.join(":")) ? bytes.slice(12).join(".") : null;
  return mapped === null ? groups.join(":").replace(/(?:^|:)0(?::0)+(?::|$)/, "::") : `::ffff:${mapped}`;
}
