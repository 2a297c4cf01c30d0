/**
 * Finds the AI agent for which a process acts: by its ancestors' names, or by its pane, whose owner is in the
 * environment of the pane's program. As long as a process has its ancestors, removed variables do not matter.
 * A process that has lost its ancestors is identified by the agent's variables in its environment, and by the
 * pane in which it was started.
 */

import type { OwnerProcess } from "../protocol/owner.ts";
import { agentOfProgram } from "./agent-programs.ts";
import { hasLeftPane, startedIn } from "./child-limits.ts";
import { type AgentTable, agentInEnvironment, agentTable } from "./known-agents.ts";
import { givesOtherCode } from "./other-code.ts";
import { platform } from "./platform.ts";
import type { Listeners, Stat } from "./port.ts";
import { withoutDeletedMark } from "./readable.ts";

/** Maximum ancestors examined, and maximum processes of a pane. */
const MAX_DEPTH = 32;
const MAX_PROCESSES = 256;
const OWNED = "WSH_AGENT=";
/** Names for processes of an agent's pane that no longer exists, and for a caller that has ended. */
const ENDED_AGENT = "an AI agent";
const ENDED_CALLER = "a process that has ended";
/** `wsh`, renamed or not, or its source. */
const program = /(?:^|\/)(?:wsh[^/]*|main\.ts)$/;

let match: AgentTable = agentTable();

/** @param entries the setting `agents` */
export function knowAgents(entries: readonly string[]): void {
  match = agentTable(entries);
}

/**
 * @param pid the first ancestor
 * @param isHiddenOurs whether a process that cannot be examined may be one of ours
 * @returns the nearest agent's name; null: no agent was found. The variable of the outermost process counts,
 * since the pane's program has it; each program below may choose another.
 */
export function agentAbove(pid: number, isHiddenOurs = true): string | null {
  const { processes, listeners } = platform();
  const first = processes.stat(pid);
  let named: string | null = null;
  let owner: string | null = null;
  let below: Stat | null = null;
  let inPane: (() => string | null) | null = null;
  let hidden = 0;
  for (let stat = first, depth = 0; stat !== null && stat.pid > 1 && depth < MAX_DEPTH; depth++) {
    const args = processes.args(stat.pid);
    const agentMatch = match({ name: stat.name, args });
    if (agentMatch !== null) return agentMatch.name;
    const role = inPane === null ? ourRole(stat.pid, args) : null;
    if (role === "certain" || (role === "probable" && isHiddenOurs)) {
      const [top, starter, paneOwner] = [below, stat.pid, owner];
      inPane = () => (top === null ? null : agentOfPane(top, starter, paneOwner));
      if (role === "certain") return inPane();
      hidden = stat.pid;
    }
    const env = listeners?.environment(stat.pid) ?? [];
    owner = ownerIn(env) ?? owner;
    named ??= agentInEnvironment(env);
    below = stat;
    stat = processes.stat(stat.ppid);
  }
  // A program of an agent can hide, too, but it has ancestors, or the mark of its pane.
  if (inPane !== null) return inPane() ?? agentAbove(hidden, false);
  const left = first === null || listeners === null ? null : agentInPaneOf(first, listeners);
  return left ?? owner ?? named;
}

/**
 * The agent that started this process; null: it was started by no agent, or by another process of ours. Valid
 * until it leaves its pane. A process that has lost its starter is identified like every orphan: by its
 * environment, and by the pane in which it was started.
 */
export function agentOfStarter(): string | null {
  const { processes, listeners } = platform();
  const above = agentAbove(process.ppid);
  const own = processes.stat(process.pid);
  if (above !== null || own === null || listeners === null) return above;
  const left = agentInPaneOf(own, listeners);
  // Our processes pass on their environment, which may be that of an agent that has started them.
  if (left !== null || isOurs(process.ppid, processes.args(process.ppid))) return left;
  const env = listeners.environment(process.pid);
  return ownerIn(env) ?? agentInEnvironment(env);
}

/**
 * The agent for which the process at the other end of a connection acts. A process that has ended may have passed the
 * connection on.
 */
export function agentAt(pid: number): string | null {
  const { processes } = platform();
  const isGone = pid > 0 && processes.stat(pid) === null && processes.stat(process.pid) !== null;
  return isGone ? ENDED_CALLER : agentAbove(pid);
}

/**
 * @param top the program that `starter` has started; programs below it can lower their own limits
 * @param owner the agent in the environment of `top`
 */
function agentOfPane(top: Stat, starter: number, owner: string | null): string | null {
  return agentOfProgram(top, starter) ?? owner ?? (paneOf(top.pid)?.isAgents === true ? ENDED_AGENT : null);
}

/** A process that cannot be examined may have set its own mark. */
function paneOf(pid: number) {
  return startedIn(pid, (process) => ourRole(process, platform().processes.args(process)) === "certain");
}

function ownerIn(env: readonly string[]): string | null {
  return env.find((each) => each.startsWith(OWNED))?.slice(OWNED.length) ?? null;
}

/**
 * The agent that owns the pane in which an orphan was started, or runs there now. An orphan with another
 * terminal than the pane's may belong to a person, in tmux or in an editor's window.
 */
function agentInPaneOf({ pid, tty }: Stat, listeners: Listeners): string | null {
  const { processes } = platform();
  const from = paneOf(pid);
  if (from === null) return null;
  const isThere = isOurs(from.process, processes.args(from.process));
  const all = isThere ? listeners.children(from.process) : [];
  const top = all.find((child) => isProgramOf(child, from.pane, listeners));
  if (from.isAgents) return top === undefined ? ENDED_AGENT : (ownerIn(listeners.environment(top)) ?? ENDED_AGENT);
  if (top === undefined || (tty !== 0 && processes.stat(top)?.tty !== tty)) return null;
  const left = [top];
  for (let at = 0; at < left.length && at < MAX_PROCESSES; at++) {
    const each = left[at] ?? 0;
    const agentMatch = match({ name: processes.stat(each)?.name ?? "", args: processes.args(each) });
    if (agentMatch !== null) return agentMatch.name;
    left.push(...listeners.children(each));
  }
  return null;
}

function isProgramOf(pid: number, pane: string, listeners: Listeners): boolean {
  return platform().processes.stat(pid)?.session === pid && listeners.environment(pid).includes(`WSH_PANE=${pane}`);
}

/** Programs that run a command line and end with it, and the options with which shells do so. */
const wrapper = /^(?:timeout|env|nohup|nice|ionice|chrt|setsid|stdbuf|time|xargs|unbuffer|script)$/;
const shell = /^(?:ba|da|z|k|mk|fi|tc|c)?sh$/;

/**
 * The process with which the work of an agent ends: the agent's own, or the program of the pane that an agent owns.
 * @returns otherwise the nearest process from `pid` upwards that is not a wrapper (`timeout 60`, `sh -c`)
 */
export function ownerProcessAbove(pid: number): OwnerProcess | null {
  const { processes, listeners } = platform();
  const ownerAt = ({ pid, started }: OwnerProcess): OwnerProcess => ({ pid, started });
  const first = processes.stat(pid);
  let nearest: OwnerProcess | null = null;
  let owned: OwnerProcess | null = null;
  for (let at = first, depth = 0; at !== null && at.pid > 1 && depth < MAX_DEPTH; depth++) {
    const args = processes.args(at.pid);
    if (match({ name: at.name, args }) !== null) return ownerAt(at);
    if (isOurs(at.pid, args)) break;
    if (nearest === null && !isWrapper(args)) nearest = ownerAt(at);
    if (listeners?.environment(at.pid).some((each) => each.startsWith(OWNED)) === true) owned = ownerAt(at);
    at = processes.stat(at.ppid);
  }
  return owned ?? nearest ?? (first === null ? null : ownerAt(first));
}

export function ownerProcessAt(pid: number): OwnerProcess | undefined {
  const stat = platform().processes.stat(pid);
  return stat === null ? undefined : { pid, started: stat.started };
}

export function isWrapper([program = "", ...args]: readonly string[]): boolean {
  const name = program.slice(program.lastIndexOf("/") + 1);
  return wrapper.test(name) || (shell.test(name) && /^-\w*c/.test(args.find((each) => !/^-(?!\w*c)/.test(each)) ?? ""));
}

function isOurs(pid: number, args: readonly string[]): boolean {
  return ourRole(pid, args) !== null;
}

/**
 * Whether a process is a session process or a server: the agent that started it does not own its panes and hooks.
 * `probable`: its file cannot be read, because it hides its memory, as a signer of receipts does. Another program can
 * hide in the same way.
 */
function ourRole(pid: number, args: readonly string[]): "certain" | "probable" | null {
  const index = args.findIndex((arg) => program.test(arg));
  const role = args[index + 1];
  if (index === -1 || index > 2 || (role !== "session-process" && role !== "server")) return null;
  const { processes, listeners } = platform();
  // macOS reports the path at the start.
  if (listeners === null) return "certain";
  // Another program may have the same arguments, or be this executable with other code. Our processes leave
  // the pane in which they were started. An upgrade deletes the file of running programs.
  if (!hasLeftPane(pid)) return null;
  const file = processes.executable(pid);
  if (file === null) return "probable";
  const isOtherCode = listeners.environment(pid).some(givesOtherCode);
  return withoutDeletedMark(file) === withoutDeletedMark(process.execPath) && !isOtherCode ? "certain" : null;
}
