/** The request of exec, and its dependencies in the pane: types only. */
import type { OnTimeout, Step } from "../../protocol/commands.ts";
import type { Condition } from "../../protocol/conditions.ts";
import type { PtyFlags } from "../../pty/port.ts";
import type { TypedShell } from "../../shell/typed-line.ts";
import type { InputHold } from "../input-gate.ts";
import type { IntegratedShell } from "../ports.ts";
import type { WaitOutcome, WaitRequest } from "../waiting/waiters.ts";
import type { LinePort, LineRequest } from "./prompt-line.ts";
import type { ResultsPort } from "./step-results.ts";
import type { Leader } from "./stop.ts";

export interface ExecRequest extends LineRequest {
  /** Called before the first byte is typed: throws when it is too late. */
  readonly requireInTime?: (() => void) | undefined;
  /** Called before each step, while its empty prompt is held; nothing is typed until this resolves. */
  readonly beforeTyping?: (() => Promise<void> | null) | undefined;
  readonly steps: readonly Step[];
  readonly stopOnError: boolean;
  /** Time for all steps together. */
  readonly maxWaitMs: number;
  readonly onTimeout: OnTimeout;
  /**
   * Stops waiting, as at the deadline, once the command has waited for input this long, in ms; absent: not before the
   * deadline.
   */
  readonly askingMs?: number | undefined;
  /** Returns as soon as the (only) command has started. */
  readonly background: boolean;
  /** In the background: returns when one of these holds, or the command has ended. */
  readonly until?: readonly Condition[] | undefined;
  /** Types into a shell without integration, of this kind. */
  readonly typed?: TypedShell | undefined;
  /** Gives the current shell, of this kind, our integration first. */
  readonly integrate?: IntegratedShell | undefined;
  /** Whether an agent or a script calls through an API, not a person at a command line. */
  readonly byProgram: boolean;
  /** Keep the lines out of the shell's own history. */
  readonly isHidden?: boolean;
  /** UTF-8 bytes of output per step. */
  readonly outputLimit: number;
  /** The same for a command that is ready and still runs; the end of its output is shown. */
  readonly readyLimit: number;
}

export interface ExecPort extends LinePort, ResultsPort {
  /** Leader of the foreground group. */
  leader(): Leader | null;
  wait(request: WaitRequest): Promise<WaitOutcome>;
  /** The terminal's flags now; null when unknown. */
  flags(): PtyFlags | null;
  /** Writes exec's text past the held input; the echo mask recognises it as input. */
  send(bytes: Uint8Array, hold: InputHold): Promise<void>;
}
