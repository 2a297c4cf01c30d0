/** The dependencies of a pane's commands: its terminal, its program, and their limits. */
import type { Clock } from "../../base/clock.ts";
import type { AgentInfo } from "../../protocol/agent.ts";
import type { CommandRecord } from "../../protocol/commands.ts";
import type { Activity } from "../activity.ts";
import type { SpoolLimits } from "../output/spool.ts";
import type { ExecTarget, ProgramPort } from "../ports.ts";
import type { ObserverPort } from "../state/observer.ts";
import type { TerminalText } from "../text/text.ts";
import type { ChildKey } from "./child-shells.ts";
import { type CommandLogLimits, defaultCommandLogLimits } from "./command-records.ts";

export interface CommandLimits extends CommandLogLimits {
  /** Pending waits. */
  readonly waiters: number;
  /** Callers whose lines of exec and run stay in the shell's own history. */
  readonly execHistory?: "people" | "all" | "none";
}

/** More waits than callers need, and few enough that a leak is noticed. */
export const defaultCommandLimits: CommandLimits = { ...defaultCommandLogLimits, waiters: 256 };

export interface CommandsPort {
  readonly text: TerminalText;
  readonly clock: Clock;
  readonly program: ProgramPort;
  readonly target: ExecTarget;
  readonly activity: Activity;
  /** Directory that the shell has reported, or in which the program was started. */
  cwd(): string | null;
  readonly limits?: CommandLimits;
  /** Storage for output that a caller requested; null or absent: none. */
  readonly spool?: SpoolLimits | null;
  /** Whether the program itself is a command that a caller requested. */
  readonly isRequested?: boolean;
  /** File of the integrated shell that was started; null or absent when the program is not one. */
  readonly shellFile?: string | null;
  /** Creates the key for an inner shell. Null or absent: inner shells get no integration files. */
  readonly newKey?: (() => ChildKey) | null;
  /** Commands of the same pane before it was lost. */
  readonly restored?: readonly CommandRecord[];
  /** The id before the first command's; default 0. */
  readonly lastCommandId?: number;
  /** Always equal to the secrets of inner shells. */
  readonly childNonces?: Set<string>;
  /** The agent in the foreground, as last seen. */
  readonly agent?: () => AgentInfo | null;
  /** Called after each check of the program. */
  readonly onObserved?: ObserverPort["onObserved"];
  /** Replaced by tests. */
  readonly readFacts?: ObserverPort["readFacts"];
}
