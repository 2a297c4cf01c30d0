/**
 * Determines which process of a pane is its agent, and which agent a hook reports for, by parentage. Pure over the port
 * that describes processes.
 *
 * The outermost agent counts. A wrapper (`node …/codex` that starts the program `codex`) and its direct children are
 * one agent; an agent that another one runs through a shell is nested.
 */
import type { ForegroundFacts } from "../../platform/foreground.ts";
import type { AgentMatch, ProcessNames } from "../../platform/known-agents.ts";

/** Maximum processes between a hook and the pane's program. */
const MAX_DEPTH = 32;
const shellName = /^-?(?:ba|z|fi|da|a|k|mk)?sh$|^(?:busybox|env|timeout|wsh)$/;

export interface ProcessIdentity extends ProcessNames {
  readonly pid: number;
  readonly ppid: number;
  /** Constant during the process's life, and never reused by another process. */
  readonly key: string;
}

/** Describes a process; null when it has ended. */
export type Lineage = (pid: number) => ProcessIdentity | null;

export interface AgentProcess {
  readonly name: string;
  readonly pid: number;
  readonly key: string;
}

/** The processes from the pane's program down to the reporting one. */
interface ProcessChain {
  readonly processes: readonly ProcessIdentity[];
  /** The reporter if no process of the chain is a known agent: the nearest one that is not a shell. */
  readonly unknown: ProcessIdentity | null;
}

type MatchAgent = (process: ProcessNames & { readonly pid: number }) => AgentMatch | null;

/** The agent among the foreground processes, the pane's own program and the processes between them. */
export function findAgent(
  facts: ForegroundFacts,
  program: number,
  lineage: Lineage,
  match: MatchAgent,
): AgentProcess | null {
  const own = facts.members.some(({ pid }) => pid === program) ? null : lineage(program);
  const outermostFirst = [...(own === null ? [] : [own]), ...facts.ancestors.toReversed(), ...facts.members];
  for (const process of outermostFirst) {
    const agentMatch = match(process);
    const identity = agentMatch === null ? null : lineage(process.pid);
    if (agentMatch !== null && identity !== null) return { name: agentMatch.name, pid: process.pid, key: identity.key };
  }
  return null;
}

/** The descent of `pid` from the pane's program; null when it does not descend from it. */
export function lineageOf(lineage: Lineage, pid: number, program: number): ProcessChain | null {
  const processes: ProcessIdentity[] = [];
  for (let ancestor = pid, depth = 0; ancestor > 1 && depth < MAX_DEPTH; depth++) {
    const process = lineage(ancestor);
    if (process === null) return null;
    processes.unshift(process);
    if (ancestor === program) return { processes, unknown: processes.findLast((each) => !isShell(each)) ?? null };
    ancestor = process.ppid;
  }
  return null;
}

/** The agent for which a chain's last process reports; null when the chain has no known agent. */
export function reportingAgent({ processes }: ProcessChain, match: MatchAgent): AgentProcess | "nested" | null {
  let agent: AgentProcess | null = null;
  /** Whether the previous process is that agent and may only wrap it. */
  let wraps = false;
  for (const process of processes) {
    const agentMatch = match(process);
    if (agentMatch === null) wraps = false;
    else if (agent === null) {
      agent = { name: agentMatch.name, pid: process.pid, key: process.key };
      wraps = agentMatch.isScript;
    } else if (wraps && agentMatch.name === agent.name) wraps = agentMatch.isScript;
    else return "nested";
  }
  return agent;
}

function isShell({ name, args }: ProcessIdentity): boolean {
  const program = args[0] ?? name;
  return shellName.test(program.slice(program.lastIndexOf("/") + 1)) || shellName.test(name);
}
