/**
 * Records which programs this process has started for an AI agent, in a form that other processes can read
 * and the programs cannot change: for each, a descriptor of an empty memory file whose name is the program's
 * process and the agent. A program can change its environment and its limits. Linux only.
 */
import fs from "node:fs";
import { platform } from "./platform.ts";
import { namesIn, readLink, withoutDeletedMark } from "./readable.ts";
import { system } from "./system.ts";
import { linuxLibc } from "./tty-calls.ts";

const PREFIX = "wsh-agent:";
/** Longest name, in bytes; the kernel's limit is 249. */
const LONGEST = 200;

const kept = new Map<number, { readonly pid: number; readonly started: number }>();

/** @param pid a child of this process */
export function keepAgentProgram(pid: number, agent: string | undefined): void {
  if (agent === undefined) return;
  const { processes } = platform();
  for (const [fd, ended] of kept) {
    if (processes.stat(ended.pid)?.started === ended.started) continue;
    kept.delete(fd);
    fs.closeSync(fd);
  }
  const started = processes.stat(pid)?.started;
  const { MFD_CLOEXEC } = system.constants;
  if (started === undefined || MFD_CLOEXEC === null) return;
  const name = Buffer.from(`${PREFIX}${pid}:${started}:${agent}`).subarray(0, LONGEST);
  const fd = linuxLibc()?.memfd_create(Buffer.concat([name, Buffer.of(0)]), MFD_CLOEXEC) ?? -1;
  if (fd !== -1) kept.set(fd, { pid, started });
}

/** The agent for which `starter` has started its child; null: none is recorded. */
export function agentOfProgram({ pid, started }: { readonly pid: number; readonly started: number }, starter: number) {
  const begins = `/memfd:${PREFIX}${pid}:${started}:`;
  const found = linksOf(starter).find((link) => link.startsWith(begins));
  return found === undefined ? null : withoutDeletedMark(found.slice(begins.length));
}

function linksOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return namesIn(folder).map((fd) => readLink(`${folder}/${fd}`) ?? "");
}
