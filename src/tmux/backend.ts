/**
 * What the commands of tmux need of wsh: its operations, its sessions, what this process may do. `wsh tmux` gives it;
 * nothing here knows a transport.
 */
import type { OperationInput, OperationNameOf, OperationOutput } from "../operations/table.ts";
import type { SessionInfo } from "../protocol/session.ts";
import type { State } from "./state.ts";

type CalledOperation = OperationNameOf<"pane" | "session" | "layout">;

export interface NewSession {
  readonly name: string | null;
  readonly command: string | null;
  readonly cwd: string | null;
  readonly env: Readonly<Record<string, string>> | null;
  readonly rows: number;
  readonly cols: number;
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
  /** `@7`, the pane that this process runs in; null outside of the instance's sessions. */
  readonly pane: string | null;
  /** Whether this process has a terminal, which can attach. */
  readonly hasTerminal: boolean;

  sessions(): Promise<readonly SessionInfo[]>;
  call<N extends CalledOperation>(operation: N, input: OperationInput<N>, target: string): Promise<OperationOutput<N>>;
  create(session: NewSession): Promise<SessionInfo>;
  /** Ends a session. */
  kill(target: string): Promise<void>;
  attach(session: SessionInfo, options: { readonly readOnly: boolean }): Promise<number>;

  readState(): State;
  /** Changes are made one after the other, whatever process makes them. */
  changeState<T>(change: (state: State) => T): Promise<T>;
  /** Resolves when the state may have changed. */
  stateChange(): Promise<void>;

  /** Runs `sh -c` to its end. */
  shell(command: string): Promise<{ readonly code: number; readonly output: string }>;
  /** The first line that a command prints. */
  shellLine(command: string): string;
  /** Starts `sh -c` in the background, beyond the end of this process. */
  spawn(command: string): void;
  /** What runs `wsh tmux` with this instance, as shell text. */
  readonly self: string;
  /** Words as one line of shell text; a single one is that already. */
  shellText(words: readonly string[]): string;
  isAlive(pid: number): boolean;
  end(pid: number): void;
  /** Gives what a pane writes from now on to a shell command. @returns the process that does */
  pipe(pane: string, command: string): number;
  sleep(ms: number): Promise<void>;
  readFile(path: string): Promise<Uint8Array>;
  writeFile(path: string, data: Uint8Array, append: boolean): Promise<void>;
  print(text: string): Promise<void>;
}
