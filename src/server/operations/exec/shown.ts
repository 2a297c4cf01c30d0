/**
 * Runs commands in panes beside a person's pane, where the person can watch them and keeps the focus. The first
 * is to the right of the person's pane, the others are below it, with equal height.
 */
import type { CallContext } from "../../../operations/call.ts";
import type { OperationOutput } from "../../../operations/table.ts";
import { NO_PAGERS, type Step } from "../../../protocol/commands.ts";
import { defined } from "../../../protocol/defined.ts";
import { WshError } from "../../../protocol/errors.ts";
import type { RequestMeta } from "../../../protocol/requests.ts";
import type { SessionProxies } from "../../sessions/session-proxies.ts";
import { personsSession } from "../ask-any.ts";
import { awaitStep, type FreshInput, type ProcessResult } from "./run-step.ts";
import { stepRequest } from "./step-requests.ts";

/** Longest title that a command gives its pane, in characters. */
const TITLE_LENGTH = 60;

/** The pane beside which others are put; null: nobody is attached. @throws WshError session_not_found */
export async function paneBesideWhichToShow(
  proxies: SessionProxies,
  input: FreshInput,
  context: CallContext,
): Promise<string | null> {
  if (input.beside !== undefined) {
    await proxies.find(input.beside);
    return input.beside;
  }
  const proxy = await personsSession(proxies, context);
  // The active pane, which is in view, not the oldest.
  return proxy === null ? null : `${proxy.info.name}:`;
}

/**
 * @param beside the person's pane
 * @param remainingMs remaining time for a wait
 * @throws WshError when a pane cannot be started: the started ones are closed
 */
export async function runShown(
  proxies: SessionProxies,
  input: FreshInput,
  steps: readonly Step[],
  beside: string,
  remainingMs: () => number,
  context: CallContext,
): Promise<ProcessResult[]> {
  const { access, caller, signal } = context;
  const ask = async (op: string, opInput: object, target: string, request: RequestMeta = {}): Promise<unknown> => {
    const proxy = await proxies.find(target);
    return proxy.request(op, opInput, { access, caller, signal, target, ...request });
  };
  const started: { readonly pane: string; readonly session: string }[] = [];
  try {
    for (const [index, step] of steps.entries()) {
      const above = started.at(-1)?.pane;
      const remaining = steps.length - index;
      const position =
        above === undefined
          ? { direction: "right" }
          : { direction: "down", percent: (100 * remaining) / (remaining + 1) };
      const made = (await ask(
        "pane.split",
        { ...programOf(input, step, context), ...position },
        above ?? beside,
        stepRequest(context, index),
      )) as OperationOutput<"pane.split">;
      started.push({ pane: made.pane, session: made.session });
    }
  } catch (error) {
    await Promise.all(started.map(({ pane }) => ask("pane.close", {}, pane).catch(() => {})));
    throw error;
  }
  return Promise.all(
    steps.map(async (step, index) => {
      const target = started[index];
      if (target === undefined) throw new WshError("internal_error", "a step has no pane");
      const result = await awaitStep(await proxies.find(target.pane), input, step, remainingMs(), context, target);
      const isGood = result.state === "finished" && result.exit_code === 0;
      if (input.keep === "none" || (input.keep === "failed" && isGood)) {
        await ask("pane.update", { keep_after_exit: false }, target.pane).catch(() => {});
      }
      return result;
    }),
  );
}

/** The pane stays until its result has been read, even if its program ends quickly. */
function programOf({ cwd, env, stdin }: FreshInput, step: Step, context: CallContext) {
  return {
    command: step.command,
    title: (step.name ?? step.command).replace(/\s+/g, " ").trim().slice(0, TITLE_LENGTH),
    keep_after_exit: true,
    focus: false,
    env: { ...NO_PAGERS, ...env },
    ...defined({ cwd: cwd ?? context.cwd, stdin }),
  };
}
