/**
 * `agent.prompt`: types a prompt into the AI agent of a pane, and proves that the agent received it.
 *
 * Order: the input box is read and must be empty; the text is pasted; the box must contain it and nothing else; only
 * then is Enter pressed, in the same turn as that check. After other input in between, a question, or unexpected text
 * in the box, Enter is not pressed. A prompt counts as delivered if the agent's hook reports it, or if it has left the
 * box. Only one prompt at a time is typed into a pane; waits for the ends of turns overlap.
 */
import type { HandlerContext } from "../../endpoint/operations/context.ts";
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import type { AgentReport } from "../../pane/agent/agent-watch.ts";
import { type ComposerScreen, composerHolds, readComposer } from "../../pane/agent/composer.ts";
import type { Pane } from "../../pane/pane.ts";
import type { AgentInfo } from "../../protocol/agent.ts";
import { present } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { promptText } from "../../protocol/typed-texts.ts";
import { awaitTurn, type Delivery, HookReports } from "./agent-turn.ts";
import { decodeFor, typeInto } from "./typing.ts";

type Input = ParsedInput<"agent.prompt">;
type Output = OperationOutput<"agent.prompt">;

/** Interval between two checks of the screen, in ms. */
const CHECK_MS = 50;
/** Consecutive checks at which the input box must be empty. */
const EMPTY_CHECKS = 4;
/** Time from the text in the box to Enter, in ms: some agents take an earlier Enter for a line of the paste. */
const ENTER_DELAY_MS = 250;
/** Longest wait for the hook of a prompt that the screen has confirmed, in ms: a hook is a process that must start. */
const MAX_HOOK_DELAY_MS = 2_000;
/** Agents whose box has a mark: without it, something else covers the screen. */
const agentsWithMark: ReadonlySet<string> = new Set(["claude", "codex", "gemini", "copilot", "cursor-agent", "qwen"]);
/** Text ends at which agents offer completions, which Enter would accept, or at which Enter is a line end. */
const OPEN_END = /(?:^|\s)[@/#$:]\S*$|\\$/;

const deliveries = new WeakMap<Pane, Promise<unknown>>();

export async function promptAgent(pane: Pane, input: Input, { signal }: HandlerContext): Promise<Output> {
  const text = promptText(input);
  const earlierDelivery = deliveries.get(pane) ?? Promise.resolve();
  const delivery = earlierDelivery.then(() => deliver(pane, text, input, signal));
  deliveries.set(
    pane,
    delivery.catch(() => {}),
  );
  const { reports, ...delivered } = await delivery;
  try {
    const waits = input.wait && delivered.delivered !== "not_delivered";
    const turn = waits ? await awaitTurn(pane, reports, delivered, input.max_wait_ms, signal) : null;
    const { info } = pane.agent;
    return {
      ...delivered,
      ...present({ agent: info, turn }),
      output_cursor: pane.giveCursor(),
    };
  } finally {
    reports.end();
  }
}

async function deliver(
  pane: Pane,
  text: string,
  { delivery_ms }: Input,
  signal: AbortSignal,
): Promise<Delivery & { readonly reports: HookReports }> {
  const agent = await requireReady(pane);
  const isOneLine = !/[\n\t]/.test(text);
  if (!isOneLine && !pane.terminal.modes.bracketedPaste)
    throw new WshError(
      "invalid_request",
      `${agent.name} accepts no pastes, so text of several lines cannot be typed into it`,
    );
  if (signal.aborted) throw new WshError("cancelled", "the prompt was cancelled; nothing was typed");
  const queued =
    agent.state === "working" && agent.source !== "program" && agent.busy === undefined
      ? { queued: true as const }
      : {};
  const since = await pane.terminal.whenAtRest(() => pane.giveCursor());
  const reports = new HookReports(pane, agent.pid);
  const outcome = (delivered: Output["delivered"], why: string) => ({ delivered, why, ...queued, since, reports });
  try {
    const data = OPEN_END.test(text) ? `${text} ` : text;
    const typedInput = decodeFor(pane, { data, encoding: "utf8", submit: true, paste: true });
    const { inputCount } = pane.agent;
    await typeInto(pane, { text: typedInput.text, enter: null });
    const isShown = await pollUntil(pane, delivery_ms, async () => composerHolds(await screenOf(pane), text));
    const obstacle = isShown === "over" ? null : await untilSettled(pane, text);
    const why = isShown === "over" ? "it did not show the text" : obstacle;
    const hasOtherInput = pane.agent.inputCount !== inputCount + 1;
    if (why !== null || hasOtherInput || typedInput.enter === null) {
      const reason = hasOtherInput ? "someone else typed meanwhile" : why;
      return outcome("not_delivered", `${reason}: Enter was not pressed, and the text may be in its input box`);
    }
    await pane.send(typedInput.enter);
    return await proveDelivery(pane, text, reports, delivery_ms, outcome);
  } catch (error) {
    reports.end();
    throw error;
  }
}

/**
 * Waits until the box has contained the text long enough for Enter. @returns why Enter must not be pressed; null: it
 * may
 */
async function untilSettled(pane: Pane, text: string): Promise<string | null> {
  await Bun.sleep(ENTER_DELAY_MS);
  if (!composerHolds(await screenOf(pane), text)) return "its input box changed";
  const { info } = pane.agent;
  if (info === null) return "it has ended";
  return info.state === "needs_input" && info.source === "hook" ? "it asks a question" : null;
}

async function proveDelivery<T>(
  pane: Pane,
  text: string,
  reports: HookReports,
  ms: number,
  outcome: (delivered: Output["delivered"], why: string) => T,
): Promise<T> {
  const findEvidence = (): string | null => hookEvidence(reports.list, text);
  const { hasHooks } = pane.agent;
  let isSeenOnScreen = false;
  const isDelivered = await pollUntil(pane, ms, async () => {
    if (findEvidence() !== null) return true;
    // A screen that is being redrawn may be empty for a moment.
    for (let checks = 0; checks < EMPTY_CHECKS; checks++) {
      if (checks > 0) await Bun.sleep(CHECK_MS);
      if (readComposer(await screenOf(pane)).kind !== "empty") return false;
    }
    isSeenOnScreen = true;
    return true;
  });
  if (isDelivered === true && isSeenOnScreen && hasHooks && findEvidence() === null)
    await pollUntil(pane, MAX_HOOK_DELAY_MS, async () => findEvidence() !== null);
  const evidence = findEvidence();
  if (evidence !== null) return outcome("hook", evidence);
  if (isSeenOnScreen) return outcome("screen", "its input box took the text and is empty again; no hook reported it");
  if (pane.agent.info === null) return outcome("not_delivered", "the agent ended before it took the text");
  const isStillInBox = composerHolds(await screenOf(pane), text);
  return outcome(
    "not_delivered",
    isStillInBox
      ? "Enter had no effect: the text is still in its input box"
      : "Enter was pressed, and neither a hook nor the screen shows that it took the text",
  );
}

/** The evidence of a hook that reports this prompt; null: none does. */
function hookEvidence(reports: readonly AgentReport[], text: string): string | null {
  const expected = withoutWhitespace(text);
  for (const { moment, prompt, event } of reports) {
    if (moment !== "prompted") continue;
    if (prompt === undefined) return `its hook ${event} reported a prompt`;
    const reported = withoutWhitespace(prompt);
    if (reported === expected) return `its hook ${event} reported this prompt`;
    if (reported.includes(expected)) return `its hook ${event} reported this prompt together with other text`;
  }
  return null;
}

function withoutWhitespace(text: string): string {
  return text.normalize("NFC").replace(/\s+/g, "");
}

/** @throws WshError no_agent, agent_asks, composer_not_empty, composer_not_found */
async function requireReady(pane: Pane): Promise<AgentInfo> {
  pane.requireRunning();
  pane.commands.state();
  const { info } = pane.agent;
  if (info === null) throw new WshError("no_agent", `no AI agent is known in pane '${pane.id}'`);
  if (info.state === "needs_input" && info.source === "hook") {
    const { message } = info;
    throw new WshError("agent_asks", `${info.name} asks: ${message ?? info.why}`, { agent: info });
  }
  const composer = readComposer(await screenOf(pane));
  if (composer.kind === "holds") {
    const { text } = composer;
    const reason = `the input box of ${info.name} is not empty, or shows a menu: '${text.trim().slice(0, 60)}'`;
    throw new WshError("composer_not_empty", reason, { agent: info });
  }
  if (composer.kind === "absent" && (agentsWithMark.has(info.name) || pane.agent.hasUnsentText)) {
    const problem = agentsWithMark.has(info.name)
      ? `the input box of ${info.name} is not on the screen`
      : `something was typed into ${info.name} and not sent, and its input box cannot be read`;
    throw new WshError("composer_not_found", problem, { agent: info });
  }
  return info;
}

function screenOf({ terminal }: Pane): Promise<ComposerScreen> {
  return terminal.whenAtRest(() => {
    const { lines, cursor } = terminal.screen("styled");
    return { lines: lines.map((line) => (typeof line === "string" ? [{ text: line }] : line)), cursor };
  });
}

/** Checks repeatedly until the condition holds, the time has passed, or the agent or the pane is gone. */
async function pollUntil(pane: Pane, ms: number, condition: () => Promise<boolean>): Promise<true | "over"> {
  const deadline = performance.now() + ms;
  for (;;) {
    if (await condition()) return true;
    if (performance.now() >= deadline || pane.exit !== null) return "over";
    await Bun.sleep(CHECK_MS);
  }
}
