/** A caller's wait in a pane, and its outcome. Types only. */
import type { PortOwner } from "../../platform/listening.ts";
import type { AgentInfo } from "../../protocol/agent.ts";
import type { CommandRecord } from "../../protocol/commands.ts";
import type { Condition, DecidedBy } from "../../protocol/conditions.ts";
import type { ProgramState } from "../state/classify.ts";

export interface WaitRequest {
  /** The first that holds decides. */
  readonly anyOf: readonly Condition[];
  /** command_finished refers to this command. */
  readonly commandId?: number | undefined;
  /** An output cursor; edge conditions count events after it. Default: now. */
  readonly since?: number | undefined;
  /** 0 answers at once with the current state. */
  readonly maxWaitMs: number;
  /** The owner: when it aborts, the wait is over. */
  readonly signal?: AbortSignal | undefined;
}

export interface WaitOutcome {
  readonly decidedBy: DecidedBy;
  /** The program's state when the wait ended; null when the wait needed no check of it. */
  readonly state: ProgramState | null;
  readonly outputCursor: number;
  readonly match?: string;
  readonly groups?: readonly (string | null)[];
  readonly lineId?: number;
  readonly command?: CommandRecord;
  /** The agent whose state decided. */
  readonly agent?: AgentInfo;
  /** The listener, for port and port_in_use. */
  readonly port?: { readonly port: number } & PortOwner;
  /** Why the condition can never hold, or cannot be known. */
  readonly reason?: string;
  /** Facts that could not be determined. */
  readonly warnings?: readonly string[];
}
