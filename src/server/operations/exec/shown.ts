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
import { askedForStep } from "./step-requests.ts";

/** Longest title that a command gives its pane, in characters. */
const TITLE_LENGTH = 60;

/** The pane beside which others are put; null: nobody is attached. @throws WshError session_not_found */
export async function placeToShow(
  proxies: SessionProxies,
  input: FreshInput,
  context: CallContext,
): Promise<string | null> {
  if (input.beside !== undefined) {
    await proxies.find(input.beside);
    return input.beside;
  }
  const proxy = await personsSession(proxies, context);
  // The pane in view: the active one, not the oldest.
  return proxy === null ? null : `${proxy.info.name}:`;
}

/** @param leftMs remaining time for a wait @throws WshError when a pane cannot be started: then none remains */
export async function runShown(
  proxies: SessionProxies,
  input: FreshInput,
  steps: readonly Step[],
  place: string,
  leftMs: () => number,
  context: CallContext,
): Promise<ProcessResult[]> {
  const { access, caller, signal } = context;
  const ask = async (op: string, given: object, target: string, asked: RequestMeta = {}): Promise<unknown> => {
    const proxy = await proxies.find(target);
    return proxy.request(op, given, { access, caller, signal, target, ...asked });
  };
  const started: { readonly pane: string; readonly session: string }[] = [];
  try {
    for (const [index, step] of steps.entries()) {
      const above = started.at(-1)?.pane;
      const left = steps.length - index;
      const room =
        above === undefined ? { direction: "right" } : { direction: "down", percent: (100 * left) / (left + 1) };
      const made = (await ask(
        "pane.split",
        { ...programOf(input, step, context), ...room },
        above ?? place,
        askedForStep(context, index),
      )) as OperationOutput<"pane.split">;
      started.push({ pane: made.pane, session: made.session });
    }
  } catch (error) {
    await Promise.all(started.map(({ pane }) => ask("pane.close", {}, pane).catch(() => {})));
    throw error;
  }
  return Promise.all(
    steps.map(async (step, index) => {
      const where = started[index];
      if (where === undefined) throw new WshError("internal_error", "a step has no pane");
      const result = await awaitStep(await proxies.find(where.pane), input, step, leftMs(), context, where);
      const isGood = result.state === "finished" && result.exit_code === 0;
      if (input.keep === "none" || (input.keep === "failed" && isGood)) {
        await ask("pane.update", { keep_after_exit: false }, where.pane).catch(() => {});
      }
      return result;
    }),
  );
}

/** The pane stays until its result has been read, even if its program ends quickly. */
function programOf({ cwd, env, stdin }: FreshInput, step: Step, context: CallContext) {
  const directory = cwd ?? context.cwd;
  return {
    command: step.command,
    title: (step.name ?? step.command).replace(/\s+/g, " ").trim().slice(0, TITLE_LENGTH),
    keep_after_exit: true,
    focus: false,
    ...defined({ cwd: directory }),
    env: { ...NO_PAGERS, ...env },
    ...defined({ stdin }),
  };
}
