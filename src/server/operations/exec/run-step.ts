/** One command of an exec without a session, in a session or pane started for it. */
import type { CallContext } from "../../../operations/call.ts";
import type { OperationOutput, ParsedInput } from "../../../operations/table.ts";
import { isPartial, type Step } from "../../../protocol/commands.ts";
import { defined } from "../../../protocol/defined.ts";
import { WshError } from "../../../protocol/errors.ts";
import { filterOf } from "../../../protocol/output-filter.ts";
import { firstCommandId } from "../../../protocol/pane-numbers.ts";
import type { SessionProxy } from "../../sessions/session-proxy.ts";
import { ExtendedResults } from "./extended.ts";

/** A process serves one instance. */
const extended = new ExtendedResults();

export type FreshInput = ParsedInput<"exec.fresh">;
export type ProcessResult = OperationOutput<"process.wait"> & { readonly session?: string };

/**
 * Waits for the end of the step's program, or for the deadline.
 * @param target session and pane in the result
 * @throws WshError the session process's error
 */
export async function awaitStep(
  proxy: SessionProxy,
  input: FreshInput,
  step: Step,
  waitMs: number,
  { access, caller, signal }: CallContext,
  target: { readonly session: string; readonly pane?: string },
): Promise<ProcessResult> {
  const pane = target.pane ?? proxy.info.pane_id;
  const isLeft = input.background && input.until === undefined;
  const wait = {
    max_wait_ms: Math.round(isLeft ? 0 : waitMs),
    ...(input.asking_ms === undefined || input.background ? {} : { asking_ms: input.asking_ms }),
    on_timeout: isLeft ? "leave" : input.on_timeout,
    ...defined({ output_limit: input.output_limit, until: input.until }),
    ...filterOf(input, step),
    extend: extended.reserve(pane),
  };
  let until: string | undefined;
  try {
    const waited = proxy.request("process.wait", wait, { access, caller, signal, target: pane });
    const result = (await waited.catch(rethrowStarted(target.session, pane))) as OperationOutput<"process.wait">;
    if (isPartial(result)) until = result.readable_until;
    return { ...result, ...target, ...defined({ name: step.name }) };
  } finally {
    if (wait.extend) extended.settle(pane, until);
  }
}

/** An error of the wait names the command's session, and states that the command was started. */
function rethrowStarted(session: string, pane: string): (thrown: unknown) => never {
  return (thrown) => {
    const error = WshError.from(thrown);
    if (error.code !== "session_unavailable") throw error;
    throw new WshError(error.code, `the command was started in session '${session}', which does not answer`, {
      session,
      command_id: firstCommandId(pane),
      hint: "Do not send it again: it may still be running. {wait} for command_finished there.",
    });
  };
}
