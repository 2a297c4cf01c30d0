/**
 * Finds the AI agent for which a process acts: by its ancestors' names, or by its pane, whose owner is in the
 * environment of the pane's program. What the agent's own programs remove from their environment does not matter.
 */

import type { OwnerProcess } from "../protocol/owner.ts";
import { agentTable } from "./known-agents.ts";
import { platform } from "./platform.ts";

/** Maximum ancestors to examine. */
const MAX_DEPTH = 32;
const OWNED = "WSH_AGENT=";
/** `wsh`, renamed or not, or its source. */
const program = /(?:^|\/)(?:wsh[^/]*|main\.ts)$/;

/** @param pid the first ancestor @returns the nearest agent's name; null: none is found */
export function agentAbove(pid: number): string | null {
  const match = agentTable();
  const { processes, listeners } = platform();
  for (let at = pid, depth = 0; at > 1 && depth < MAX_DEPTH; depth++) {
    const stat = processes.stat(at);
    if (stat === null) return null;
    const args = processes.args(at);
    const found = match({ name: stat.name, args });
    if (found !== null) return found.name;
    if (isOurs(args)) return null;
    const owned = listeners?.environment(at).find((each) => each.startsWith(OWNED));
    if (owned !== undefined) return owned.slice(OWNED.length);
    at = stat.ppid;
  }
  return null;
}

/** Programs that run a command line in their place and end with it, and the options by which shells do so. */
const wrapper = /^(?:timeout|env|nohup|nice|ionice|chrt|setsid|stdbuf|time|xargs|unbuffer|script)$/;
const shell = /^(?:ba|da|z|k|mk|fi|tc|c)?sh$/;

/**
 * The process with which the work of an agent ends: the agent's own, or the program of the pane that an agent owns.
 * @returns without one, the nearest from `pid` that is not a wrapper (`timeout 60`, `sh -c`)
 */
export function ownerProcessAbove(pid: number): OwnerProcess | null {
  const match = agentTable();
  const { processes, listeners } = platform();
  const ownerAt = ({ pid, started }: OwnerProcess): OwnerProcess => ({ pid, started });
  const first = processes.stat(pid);
  let nearest: OwnerProcess | null = null;
  let owned: OwnerProcess | null = null;
  for (let at = first, depth = 0; at !== null && at.pid > 1 && depth < MAX_DEPTH; depth++) {
    const args = processes.args(at.pid);
    if (match({ name: at.name, args }) !== null) return ownerAt(at);
    if (isOurs(args)) break;
    if (nearest === null && !isWrapper(args)) nearest = ownerAt(at);
    if (listeners?.environment(at.pid).some((each) => each.startsWith(OWNED)) === true) owned = ownerAt(at);
    at = processes.stat(at.ppid);
  }
  return owned ?? nearest ?? (first === null ? null : ownerAt(first));
}

export function isWrapper([program = "", ...args]: readonly string[]): boolean {
  const name = program.slice(program.lastIndexOf("/") + 1);
  return wrapper.test(name) || (shell.test(name) && /^-\w*c/.test(args.find((each) => !/^-(?!\w*c)/.test(each)) ?? ""));
}

/** A session process or a server: the agent that started it does not own its panes and hooks. */
function isOurs(args: readonly string[]): boolean {
  const index = args.findIndex((arg) => program.test(arg));
  const role = args[index + 1];
  return index !== -1 && index < 3 && (role === "session-process" || role === "server");
}
