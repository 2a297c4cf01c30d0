/** What the commands of tmux need: wsh's operations and sessions, and what their caller has. No transport is known here. */
import type { OperationInput, OperationNameOf, OperationOutput } from "../operations/table.ts";
import type { PaneTerminal } from "../protocol/pane-terminal.ts";
import type { RecordedEventName } from "../protocol/recorded-events.ts";
import type { SessionInfo } from "../protocol/session.ts";
import type { State } from "./state.ts";

/** The version that callers are told: what is offered is measured against it. */
export const TMUX_VERSION = "3.3a";

type CalledOperation = OperationNameOf<"pane" | "session" | "layout">;

/** Sessions that run and that the caller may know. */
export interface SessionList {
  readonly infos: readonly SessionInfo[];
  /** There are no others, such as private ones that an AI agent may not know, or one that does not answer. */
  readonly isComplete: boolean;
}

export interface NewSession {
  readonly name: string | null;
  readonly command: string | null;
  readonly cwd: string | null;
  readonly env: Readonly<Record<string, string>> | null;
  readonly rows: number;
  readonly cols: number;
}

/** A client in control mode, as its own commands change it. */
export interface ControlClient {
  readonly name: string;
  /** `@s3`, the session that it shows; null before it is attached. */
  readonly session: string | null;
  /** `attached,control-mode,…` */
  readonly flags: string;
  show(session: string): Promise<void>;
  /** A notification, behind the answer that is being written. */
  notify(line: string): void;
  leave(): void;
  /** `-f`: names of flags, with `!` those that are taken away. */
  setFlags(names: string): void;
  setPane(pane: string, to: string): void;
  /** Reports a format each time its value changes; null: no longer. */
  subscribe(name: string, subscription: Subscription | null): void;
}

export interface Subscription {
  /** `%7`, `@5`, `%*`, `@*`; anything else: the session. */
  readonly about: string;
  readonly format: string;
}

/** Which ways a pipe goes: from the pane, and into it. */
interface PipeDirections {
  readonly reads: boolean;
  readonly types: boolean;
}

export interface KeySettings {
  /** `C-b`; `none`. */
  readonly prefix: string;
  readonly isPreset: boolean;
  readonly configured: readonly { readonly table?: string; readonly key: string; readonly value: unknown }[];
}

export interface Backend {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly version: string;
  /** What formats call the socket's path. */
  readonly socketPath: string;
  readonly hostname: string;
  readonly account: { readonly uid: number; readonly name: string };
  readonly pid: number;
  /** The process that called. */
  readonly caller: number;
  /** The client in control mode that gave the command, if one did. */
  readonly control: ControlClient | null;
  /** `@7`, the pane that this process runs in; null outside of the instance's sessions. */
  readonly pane: string | null;
  /** The AI agent for which the commands act; null: a person, or a program. */
  readonly agent: string | null;
  /** The same for an AI agent, with its rights. */
  as(agent: string): Backend & Disposable;
  /** Whether this process has a terminal, which can attach. */
  readonly hasTerminal: boolean;
  /** A person's key at an attached terminal runs it. */
  readonly isByKey?: boolean;

  sessions(): Promise<SessionList>;
  call<N extends CalledOperation>(operation: N, input: OperationInput<N>, target: string): Promise<OperationOutput<N>>;
  /** What formats say of a pane's terminal. */
  terminal(pane: string): Promise<PaneTerminal>;
  create(session: NewSession): Promise<SessionInfo>;
  /** Ends a session. */
  kill(target: string): Promise<void>;
  attach(session: SessionInfo, options: { readonly readOnly: boolean }): Promise<number>;

  readState(): State;
  /** Changes are made one after the other, whatever process makes them. */
  changeState<T>(change: (state: State) => T): Promise<T>;
  /** Resolves when the state may have changed. @throws TmuxError when the caller is gone */
  stateChange(): Promise<void>;

  /** Has `set-hook -R wsh-event` run when these happen, whatever makes them happen, and at no others. */
  runAtEvents(events: readonly RecordedEventName[]): void;

  /** @throws WshError access_denied for an AI agent that may change only what it has made */
  requirePerson(command: string): void;
  /** The same, unless the agent has made every session. */
  requireOwnSessions(command: string): Promise<void>;
  /** The leave of an AI agent to change a session, window or pane. @throws WshError access_denied */
  requireOwn(target: string, command: string): Promise<void>;
  /** Keys were bound: attached terminals read theirs again. */
  keysChanged(): Promise<void>;
  /** The prefix key of the settings, and the keys that they bind. */
  keySettings(): KeySettings;

  /** Runs `sh -c` to its end. */
  shell(command: string): Promise<{ readonly code: number; readonly output: string }>;
  /** The first line that a command prints. */
  shellLine(command: string): Promise<string>;
  /** Starts `sh -c` in the background, beyond the end of this process. */
  spawn(command: string): void;
  /** The command `wsh tmux` with this instance, as shell text. */
  readonly self: string;
  /** Words as one line of shell text; a single one is that already. */
  shellText(words: readonly string[]): string;
  isAlive(pid: number): boolean;
  /** Asks a client in control mode, or what carries a pipe, to end. */
  end(pid: number): void;
  /**
   * Gives what a pane prints from now on to a shell command, and types what that prints. Resolves once it takes output.
   * @returns the process that does
   */
  pipe(pane: string, command: string, ways: PipeDirections): Promise<number>;
  /** Does it, where this process was started for that. @returns false where it was not */
  carryPipe(): Promise<boolean>;
  sleep(ms: number): Promise<void>;
  isDirectory(path: string): boolean;
  /** A shell command that prints the standard input, to its end. */
  shownInput(): Promise<string>;
  readFile(path: string): Promise<Uint8Array>;
  writeFile(path: string, data: Uint8Array, append: boolean): Promise<void>;
  print(text: string): Promise<void>;
  complain(message: string): Promise<void>;
}
