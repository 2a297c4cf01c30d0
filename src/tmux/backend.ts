/** What tmux commands need: wsh's operations, its sessions and data about the caller. Independent of any transport. */
import type { OperationInput, OperationNameOf, OperationOutput } from "../operations/table.ts";
import type { PaneTerminal } from "../protocol/pane-terminal.ts";
import type { RecordedEventName } from "../protocol/recorded-events.ts";
import type { SessionInfo } from "../protocol/session.ts";
import type { State } from "./state.ts";

/** The version reported to callers; the offered commands and options are those of this version. */
export const TMUX_VERSION = "3.3a";

type CalledOperation = OperationNameOf<"pane" | "session" | "layout">;

/** Running sessions that the caller may know. */
export interface SessionList {
  readonly infos: readonly SessionInfo[];
  /**
   * Whether the list holds every session. False if some are missing: private sessions hidden from an AI agent, or a
   * session that does not answer.
   */
  readonly isComplete: boolean;
}

interface NewSession {
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
  /** `@s3`, the session that the client shows; null before it is attached. */
  readonly session: string | null;
  /** `attached,control-mode,…` */
  readonly flags: string;
  show(session: string): Promise<void>;
  /** Sends a notification after the answer that is being written. */
  notify(line: string): void;
  leave(): void;
  /** `-f`: sets the named flags; `!` before a name removes the flag. */
  setFlags(names: string): void;
  setPane(pane: string, to: string): void;
  /** Reports a format each time its value changes; null ends the subscription. */
  subscribe(name: string, subscription: Subscription | null): void;
}

export interface Subscription {
  /** `%7`, `@5`, `%*`, `@*`; any other text means the session. */
  readonly watched: string;
  readonly format: string;
}

/** The directions of a pipe: from the pane, and into it. */
interface PipeDirections {
  readonly reads: boolean;
  readonly types: boolean;
}

interface KeySettings {
  /** `C-b`, or `none`. */
  readonly prefix: string;
  readonly isPreset: boolean;
  readonly configured: readonly { readonly table?: string; readonly key: string; readonly value: unknown }[];
}

export interface Backend {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly version: string;
  /** The socket's path as formats print it. */
  readonly socketPath: string;
  readonly hostname: string;
  readonly account: { readonly uid: number; readonly name: string };
  readonly pid: number;
  /** The calling process. */
  readonly caller: number;
  /** The client in control mode that sent the command; null: there is none. */
  readonly control: ControlClient | null;
  /** `@7`, the pane that this process runs in; null outside of the instance's sessions. */
  readonly pane: string | null;
  /** The AI agent for which the commands run; null: a person or a program. */
  readonly agent: string | null;
  /** The same backend with the rights of an AI agent. */
  withAgent(agent: string): Backend & Disposable;
  /** Whether this process has a terminal that can attach. */
  readonly hasTerminal: boolean;
  /** Whether a person's key at an attached terminal runs the command. */
  readonly isByKey?: boolean;

  sessions(): Promise<SessionList>;
  call<N extends CalledOperation>(operation: N, input: OperationInput<N>, target: string): Promise<OperationOutput<N>>;
  /** The values of formats about a pane's terminal. */
  terminal(pane: string): Promise<PaneTerminal>;
  create(session: NewSession): Promise<SessionInfo>;
  /** Ends a session. */
  kill(target: string): Promise<void>;
  attach(session: SessionInfo, options: { readonly readOnly: boolean }): Promise<number>;

  readState(): State;
  /** Changes the state; changes of several processes run one after another. */
  changeState<T>(change: (state: State) => T): Promise<T>;
  /** Resolves when the state may have changed. @throws TmuxError when the caller is gone */
  stateChange(): Promise<void>;

  /** Runs `set-hook -R wsh-event` at these events and no others, whatever causes them. */
  runAtEvents(events: readonly RecordedEventName[]): void;

  /** @throws WshError access_denied for an AI agent that may change only what it has made */
  requirePerson(command: string): void;
  /** Like requirePerson, but accepts an agent that has made every session. */
  requireOwnSessions(command: string): Promise<void>;
  /** Checks that an AI agent may change a session, window or pane. @throws WshError access_denied */
  requireOwn(target: string, command: string): Promise<void>;
  /**
   * Called before the same call on these targets, so that an AI agent gets every permission before the first
   * of them changes.
   * @throws WshError access_denied
   */
  requireAll<N extends CalledOperation>(
    operation: N | "session.kill",
    input: OperationInput<N>,
    targets: readonly string[],
  ): Promise<void>;
  /** Tells attached terminals to read the key bindings again. */
  keysChanged(): Promise<void>;
  /** The prefix key of the settings, and the keys that the settings bind. */
  keySettings(): KeySettings;

  /** Runs `sh -c` and waits for its end. */
  shell(command: string): Promise<{ readonly code: number; readonly output: string }>;
  /** The first line that a command prints. */
  shellLine(command: string): Promise<string>;
  /** Starts `sh -c` in the background, with a standard input if given; it may outlive this process. */
  spawn(command: string, input?: string): Promise<void>;
  /** The command `wsh tmux` for this instance, as shell text. */
  readonly self: string;
  /** Joins words into one line of shell text; a single word is returned unchanged. */
  shellText(words: readonly string[]): string;
  isAlive(pid: number): boolean;
  /** Asks a client in control mode, or a process that carries a pipe, to end. */
  end(pid: number): void;
  /**
   * Sends a pane's further output to a shell command, and types the command's output into the pane. Resolves once the
   * command receives output.
   * @returns the process id of the pipe
   */
  pipe(pane: string, command: string, ways: PipeDirections): Promise<number>;
  /** Carries a pipe if this process was started for one. @returns false if it was not */
  carryPipe(): Promise<boolean>;
  sleep(ms: number): Promise<void>;
  isDirectory(path: string): boolean;
  /** A shell command that prints its standard input to the end. */
  shownInput(): Promise<string>;
  readFile(path: string): Promise<Uint8Array>;
  writeFile(path: string, data: Uint8Array, append: boolean): Promise<void>;
  print(text: string): Promise<void>;
  complain(message: string): Promise<void>;
}
