/**
 * A program's state, judged from known facts (docs/architecture.md, State of a program). Pure: the same facts give the
 * same answer, and the answer names its evidence.
 *
 * In order: an ended program; a prompt by the shell's marks; the alternate screen; a password (lines without echo); the
 * kernel's facts about every member of the foreground group; without those, flags and silence. `settled` is the
 * condition for waits: the program has been seen waiting for input that has not come.
 */

import { basename } from "node:path";
import type { CarriedTerminal } from "../../platform/carried-terminal.ts";
import type { ForegroundFacts, ProcessFacts } from "../../platform/foreground.ts";
import type { DecidedFrom } from "../../protocol/commands.ts";
import type { SessionState } from "../../protocol/session.ts";
import type { PtyFlags } from "../../pty/port.ts";
import type { ShellPhase } from "./shell-phase.ts";

/** Silence after which a raw terminal counts as at rest when only flags are known, in ms. */
const REST_MS = 300;

export interface ProgramKnowledge {
  /** Null when the kernel does not reveal them. */
  readonly facts: ForegroundFacts | null;
  /** The innermost terminal behind relaying programs, if the kernel reveals it; otherwise null or absent. */
  readonly carried?: CarriedTerminal | null;
  /** Null when the terminal does not reveal them. */
  readonly flags: PtyFlags | null;
  readonly alternate: boolean;
  readonly phase: ShellPhase;
  /** Marks of a shell inside the running program (over ssh, in a container), trusted only for its state. */
  readonly inner: ShellPhase;
  /** The shell with this phase runs behind a program that relays its terminal: the kernel knows nothing about it. */
  readonly isElsewhere?: boolean;
  /** Age of the last output or input in ms. */
  readonly quietMs: number;
  /** Whether the shell reports its prompts, and has shown none so far: its reads are not at a prompt. */
  readonly awaitsPrompt?: boolean;
  readonly exited: boolean;
}

/**
 * ready: waits for input. working: on a processor, in disk wait, asleep until a time, or waiting for an unknown
 * process. waiting: for something that may never happen (a server). unknown: no evidence.
 */
type Doing = "ready" | "working" | "waiting" | "unknown";

export interface ProgramState {
  readonly state: Exclude<SessionState, "unresponsive" | "crashed">;
  readonly why: string;
  readonly decidedFrom: DecidedFrom;
  readonly doing: Doing;
  /** True when level conditions on the state hold. */
  readonly settled: boolean;
  /** Name of the program that relays an inner terminal, or of a nested shell without integration; null without one. */
  readonly relay: string | null;
  /** The process that represents the foreground group. */
  readonly foreground: ProcessFacts | null;
}

/** Programs whose remote end is another terminal: their wait here says nothing about it. */
const remoteTerminals: ReadonlySet<string> = new Set([
  "ssh",
  "mosh",
  "mosh-client",
  "telnet",
  "tmux",
  "tmux: client",
  "screen",
  "wsh",
  "zellij",
  "script",
  "dtach",
  "abduco",
  "picocom",
  "minicom",
  "lxc",
  "machinectl",
]);
/** Programs that are a relay in some of their subcommands: the first argument that is not an option. */
const containerTools: ReadonlySet<string> = new Set(["docker", "podman", "nerdctl", "kubectl", "oc", "docker-compose"]);
const containerVerbs: ReadonlySet<string> = new Set(["exec", "run", "attach", "start", "compose"]);
const shells: ReadonlySet<string> = new Set([
  "bash",
  "zsh",
  "fish",
  "sh",
  "dash",
  "ash",
  "busybox",
  "ksh",
  "mksh",
  "tcsh",
  "csh",
  "pwsh",
]);
/** Shells without a line editor: at their prompt the terminal is in canonical mode. */
const plainShells: ReadonlySet<string> = new Set(["sh", "dash", "ash"]);

/** Options of shells that take the next argument as their value. */
const optionsWithValue: ReadonlySet<string> = new Set([
  "--rcfile",
  "--init-file",
  "--init-command",
  "-C",
  "-o",
  "+o",
  "-O",
  "+O",
]);

/** A shell started for interactive use: no script, no -c. */
export function isInteractiveShell({ name, args }: ProcessFacts): boolean {
  if (!shells.has(name)) return false;
  const options = args.slice(1).filter((_, n) => !optionsWithValue.has(args[n] ?? ""));
  return options.every((arg) => /^[-+]/.test(arg) && !/^-[a-z]*c$/.test(arg));
}

/** An interactive shell that leaves editing and echo to the terminal. */
export function isPlainShell(process: ProcessFacts): boolean {
  return plainShells.has(process.name) && isInteractiveShell(process);
}

/** Whether a process relays an inner terminal, so that facts about it say nothing about what the person sees. */
function carriesTerminal(process: ProcessFacts, members: readonly ProcessFacts[]): boolean {
  if (remoteTerminals.has(process.name) || process.name.startsWith("tmux")) return true;
  const tool = toolOf(process);
  if (containerTools.has(tool)) return process.args.slice(1).some((arg) => containerVerbs.has(arg));
  // With its own pty, sudo's command is in another group; without one, it is in this group. In the group, too, is the
  // copy of itself that sudo forks first, until that leaves it: what sudo reads until then is not for sudo.
  const changesUser = tool === "sudo" || tool === "su" || tool === "doas";
  return changesUser && members.every((member) => toolOf(member) === tool);
}

function toolOf({ name, args }: ProcessFacts): string {
  return basename(args[0] ?? name);
}

/** The member of a foreground group that relays another terminal, whose state matters more than the member's. */
export function carrierOf({ members }: ForegroundFacts): ProcessFacts | null {
  return members.find((member) => carriesTerminal(member, members)) ?? null;
}

/** Name of the relay in the foreground, and whether facts and flags still describe the program inside. */
function findRelay(facts: ForegroundFacts): { name: string; opaque: boolean } | null {
  const { members, ancestors, group, shellGroup } = facts;
  const carrier = carrierOf(facts);
  if (carrier !== null) return { name: carrier.name, opaque: true };
  if (group === shellGroup) return null;
  const nested = [...members, ...ancestors].find(
    (process) => process.group !== shellGroup && isInteractiveShell(process),
  );
  return nested === undefined ? null : { name: nested.name, opaque: false };
}

function describe(process: ProcessFacts | null): string {
  return process === null ? "the program" : process.name;
}

export function classify(knowledge: ProgramKnowledge): ProgramState {
  const { facts, flags, quietMs } = knowledge;
  const relay = facts === null ? null : findRelay(facts);
  const foreground = facts?.members[0] ?? null;
  const base = { relay: relay?.name ?? null, foreground };
  const unread = facts?.unread ?? 0;
  const reader = facts?.members.find((member) => member.activity === "reading_tty") ?? null;
  const ownShell = facts === null || facts.group === facts.shellGroup;
  const name = describe(foreground);
  const isCarried = knowledge.isElsewhere === true && !ownShell;

  if (knowledge.exited) {
    const why = "the pane's program has exited";
    return { ...base, state: "exited", why, decidedFrom: "process", doing: "ready", settled: true };
  }
  if (knowledge.phase === "prompt" && ownShell) {
    const seen = facts !== null && membersDo(facts.members) !== "hidden";
    const settled = unread === 0 && (!seen || reader !== null);
    const why = settled ? "the shell shows its prompt" : "the shell shows its prompt and is busy";
    return { ...base, state: "prompt", why, decidedFrom: "marks", doing: settled ? "ready" : "working", settled };
  }
  if (knowledge.phase === "prompt" && isCarried) {
    const why = `the shell inside ${name} shows its prompt`;
    return { ...base, state: "prompt", why, decidedFrom: "marks", doing: "ready", settled: unread === 0 };
  }
  if ((knowledge.phase === "ended" || knowledge.phase === "drawing") && ownShell && reader === null) {
    const why = "the shell is about to show its prompt";
    return { ...base, state: "prompt", why, decidedFrom: "marks", doing: "working", settled: false };
  }
  if ((knowledge.phase === "ended" || knowledge.phase === "drawing") && isCarried) {
    const why = `the shell inside ${name} is about to show its prompt`;
    return { ...base, state: "prompt", why, decidedFrom: "marks", doing: "working", settled: false };
  }
  if (relay?.opaque !== true && flags?.canonical === true && !flags.echo) {
    const seen = facts === null || facts.members.length === 0 ? "hidden" : membersDo(facts.members);
    if (reader !== null || seen === "unknown" || seen === "hidden") {
      const by = reader ?? foreground;
      const why = `${describe(by)} reads a line without echo`;
      const decidedFrom = reader === null ? "flags" : "kernel";
      return { ...base, state: "password", why, decidedFrom, doing: "ready", settled: unread === 0 };
    }
  }
  if (relay?.opaque === true && flags?.canonical === true && !flags.echo) {
    const why = `${relay.name} reads a line without echo`;
    return { ...base, state: "password", why, decidedFrom: "flags", doing: "ready", settled: unread === 0 };
  }
  if (knowledge.alternate) return fullscreenState(knowledge, base, relay?.opaque === true, reader, name);
  if (relay?.opaque === true) return stateBehindRelay(knowledge, base, relay.name);
  if (facts !== null && facts.members.length > 0) return stateByKernel(knowledge, facts, base, reader);
  return stateByFlags(flags, quietMs, base, knowledge.phase, name);
}

type StateBase = Pick<ProgramState, "relay" | "foreground">;

function fullscreenState(
  knowledge: ProgramKnowledge,
  base: StateBase,
  opaque: boolean,
  reader: ProcessFacts | null,
  name: string,
): ProgramState {
  const { facts } = knowledge;
  const shown = { ...base, state: "fullscreen" } as const;
  if (facts === null || opaque || membersDo(facts.members) === "hidden") {
    const settled = knowledge.quietMs >= REST_MS;
    const why = `${name} uses the alternate screen`;
    return { ...shown, why, decidedFrom: "flags", doing: settled ? "ready" : "unknown", settled };
  }
  const settled = reader !== null && (facts.unread ?? 0) === 0;
  const doing = settled ? "ready" : membersDo(facts.members) === "working" ? "working" : "waiting";
  const why = settled ? `${reader.name} waits for a key on the alternate screen` : `${name} uses the alternate screen`;
  return { ...shown, why, decidedFrom: "kernel", doing, settled };
}

function stateBehindRelay(knowledge: ProgramKnowledge, base: StateBase, relay: string): ProgramState {
  if (knowledge.inner === "prompt") {
    const why = `the shell inside ${relay} shows its prompt, by its own marks`;
    return { ...base, state: "waiting_for_input", why, decidedFrom: "marks", doing: "ready", settled: true };
  }
  const { carried = null } = knowledge;
  if (carried !== null && carrierOf(carried.facts) === null) return stateInsideRelay(carried, base, relay);
  const why = `${relay} carries another terminal, whose state is not visible`;
  return { ...base, state: "running", why, decidedFrom: "flags", doing: "unknown", settled: false };
}

/** The kernel's facts about the programs behind a terminal that is relayed on this machine. */
function stateInsideRelay({ facts, flags }: CarriedTerminal, base: StateBase, relay: string): ProgramState {
  const reader = facts.members.find((member) => member.activity === "reading_tty");
  if (reader !== undefined) {
    const settled = facts.unread === 0;
    const doing = settled ? "ready" : "working";
    const secret = flags?.canonical === true && !flags.echo;
    const what = secret ? "a line without echo" : flags?.canonical === false ? "a key" : "a line";
    const why = `${reader.name} reads ${what} from the terminal that ${relay} carries`;
    return { ...base, state: secret ? "password" : "waiting_for_input", why, decidedFrom: "kernel", doing, settled };
  }
  const does = membersDo(facts.members);
  const doing = does === "hidden" ? "unknown" : does;
  const name = describe(facts.members[0] ?? null);
  const why = {
    working: `${name} is working in the terminal that ${relay} carries`,
    waiting: `${name} waits for something other than input in the terminal that ${relay} carries`,
    unknown: `${relay} carries another terminal, in which the state of ${name} is not visible`,
  }[doing];
  return { ...base, state: "running", why, decidedFrom: "kernel", doing, settled: false };
}

function stateByKernel(
  knowledge: ProgramKnowledge,
  facts: ForegroundFacts,
  base: StateBase,
  reader: ProcessFacts | null,
): ProgramState {
  if (reader !== null) {
    const settled = (facts.unread ?? 0) === 0;
    const doing = settled ? "ready" : "working";
    const state = isAtOwnPrompt(knowledge, facts, reader) ? "prompt" : "waiting_for_input";
    const how = knowledge.flags?.canonical === false ? "a key" : "a line";
    return {
      ...base,
      state,
      why: `${reader.name} reads ${how} from the terminal`,
      decidedFrom: "kernel",
      doing,
      settled,
    };
  }
  const does = membersDo(facts.members);
  if (does === "hidden")
    return stateByFlags(knowledge.flags, knowledge.quietMs, base, knowledge.phase, describe(base.foreground));
  const why = {
    working: `${describe(base.foreground)} is working`,
    waiting: `${describe(base.foreground)} waits for something other than input`,
    unknown: `the state of ${describe(base.foreground)} is not visible`,
  }[does];
  return { ...base, state: "running", why, decidedFrom: "kernel", doing: does, settled: false };
}

/** Whether a shell without marks reads as at its prompt: a line editor in raw mode, or a shell without one. */
function isAtOwnPrompt(known: ProgramKnowledge, facts: ForegroundFacts, reader: ProcessFacts): boolean {
  if (known.phase === "running" && facts.group === facts.shellGroup) return false;
  if (known.awaitsPrompt === true && facts.group === facts.shellGroup) return false;
  if (!isInteractiveShell(reader)) return false;
  return known.flags?.canonical === false || plainShells.has(reader.name);
}

function stateByFlags(
  flags: PtyFlags | null,
  quietMs: number,
  base: StateBase,
  phase: ShellPhase,
  name: string,
): ProgramState {
  if (flags !== null && !flags.canonical && quietMs >= REST_MS) {
    const state = phase === "drawing" ? "prompt" : "waiting_for_input";
    const why = `${name} reads single keys and has been quiet`;
    return { ...base, state, why, decidedFrom: "flags", doing: "ready", settled: true };
  }
  const why = `${name} is running; the system does not report what it waits for`;
  return { ...base, state: "running", why, decidedFrom: "flags", doing: "unknown", settled: false };
}

/**
 * The state of a group that does not read the terminal. A member that waits for a child or another member has the
 * others' state; when all do so, the child is unknown and assumed to be working.
 */
function membersDo(members: readonly ProcessFacts[]): Exclude<Doing, "ready"> | "hidden" {
  const does = members.map((member) => member.activity);
  if (does.includes("working")) return "working";
  if (does.includes("hidden"))
    return does.every((each) => each === "hidden" || each === "child") ? "hidden" : "unknown";
  if (does.includes("waiting") || does.includes("stopped")) return "waiting";
  return does.includes("child") ? "working" : "unknown";
}
