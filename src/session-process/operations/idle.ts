/** `idle.await`: the activity does the waiting, the answer is the screen at the end (docs/protocol.md, Silence). */

import type { HandlerContext } from "../../endpoint/operations/context.ts";
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import type { Pane } from "../../pane/pane.ts";
import { WshError } from "../../protocol/errors.ts";
import { screenWithSelection } from "./screen.ts";

export async function awaitIdle(
  pane: Pane,
  input: ParsedInput<"idle.await">,
  { signal }: HandlerContext,
): Promise<OperationOutput<"idle.await">> {
  const outcome = await pane.silence.awaitIdle({
    timeoutMs: input.timeout_ms,
    maxWaitMs: input.max_wait_ms,
    lastGeneration: input.last_generation,
    fresh: input.fresh,
    signal,
  });
  if (outcome.decided === "cancelled") throw new WshError("cancelled", "the wait was cancelled");
  if (outcome.decided === "timeout") {
    throw new WshError(
      "idle_timeout",
      `the session was not idle for ${input.timeout_ms} ms within ${input.max_wait_ms} ms`,
      {
        generation: outcome.generation,
        output_cursor: pane.giveCursor(),
        decided_by: "timeout",
      },
    );
  }
  const { terminal } = pane;
  return terminal.whenAtRest(() => {
    const screen = screenWithSelection(terminal, input.format, input.tail);
    return {
      screen,
      scrollback_lines: screen.total_lines,
      generation: outcome.generation,
      last_activity_ms: pane.activity.idleMs(),
      output_cursor: pane.giveCursor(),
      decided_by: outcome.decided,
      running: pane.exit === null,
      exit_code: pane.exit?.code ?? null,
      signal: pane.exit?.signal ?? null,
    };
  });
}
