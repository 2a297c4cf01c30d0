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
import { type Delivered, Reports, turnOf } from "./agent-turn.ts";
import { decodeFor, typeInto } from "./typing.ts";

type Input = ParsedInput<"agent.prompt">;
type Output = OperationOutput<"agent.prompt">;

/** Interval between two checks of the screen, in ms. */
const CHECK_MS = 50;
/** Consecutive checks at which the input box must be empty. */
const EMPTY_LOOKS = 4;
/** Time from the text in the box to Enter, in ms: sooner, some agents take Enter for a line of the paste. */
const TAKEN_MS = 250;
/** Longest wait for the hook of a prompt that the screen has confirmed, in ms: a hook is a process that must start. */
const HOOK_MS = 2_000;
/** Agents whose box has a mark: without it, something else covers the screen. */
const marked: ReadonlySet<string> = new Set(["claude", "codex", "gemini", "copilot", "cursor-agent", "qwen"]);
/** First characters that make a text a command of the agent, or of a shell. */
const COMMAND = /^\s*[/!#]/;
/** Text ends at which agents offer completions, which Enter would accept, or at which Enter is a line end. */
const OPEN_END = /(?:^|\s)[@/#$:]\S*$|\\$/;
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/;

const typing = new WeakMap<Pane, Promise<unknown>>();

export async function promptAgent(pane: Pane, input: Input, { signal }: HandlerContext): Promise<Output> {
  const text = textOf(input);
  const before = typing.get(pane) ?? Promise.resolve();
  const delivery = before.then(() => deliver(pane, text, input, signal));
  typing.set(
    pane,
    delivery.catch(() => {}),
  );
  const { reports, ...delivered } = await delivery;
  try {
    const waits = input.wait && delivered.delivered !== "not_delivered";
    const turn = waits ? await turnOf(pane, reports, delivered, input.max_wait_ms, signal) : null;
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

/** @throws WshError invalid_request */
function textOf({ text, command }: Input): string {
  const plain = text.replace(/\r\n?/g, "\n").replace(/\n+$/, "");
  if (plain.trim() === "") throw new WshError("invalid_request", "'text' is blank");
  if (CONTROLS.test(plain))
    throw new WshError("invalid_request", "'text' has control characters", {
      hint: "Remove them; send keys with {input}.",
    });
  if (!command && COMMAND.test(plain)) {
    throw new WshError("invalid_request", `the agent would take '${plain.trim().slice(0, 20)}' as a command`, {
      hint: "Begin with a word, or set 'command' to have it carried out.",
    });
  }
  return plain;
}

async function deliver(
  pane: Pane,
  text: string,
  { delivery_ms }: Input,
  signal: AbortSignal,
): Promise<Delivered & { readonly reports: Reports }> {
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
  const reports = new Reports(pane, agent.pid);
  const is = (delivered: Output["delivered"], why: string) => ({ delivered, why, ...queued, since, reports });
  try {
    const data = OPEN_END.test(text) ? `${text} ` : text;
    const typed = decodeFor(pane, { data, encoding: "utf8", submit: true, paste: true });
    const { inputCount } = pane.agent;
    await typeInto(pane, { text: typed.text, enter: null });
    const shown = await until(pane, delivery_ms, async () => composerHolds(await screenOf(pane), text));
    const stopped = shown === "over" ? null : await untilSettled(pane, text);
    const why = shown === "over" ? "it did not show the text" : stopped;
    const isOthers = pane.agent.inputCount !== inputCount + 1;
    if (why !== null || isOthers || typed.enter === null) {
      const reason = isOthers ? "someone else typed meanwhile" : why;
      return is("not_delivered", `${reason}: Enter was not pressed, and the text may be in its input box`);
    }
    await pane.send(typed.enter);
    return await proof(pane, text, reports, delivery_ms, is);
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
  await Bun.sleep(TAKEN_MS);
  if (!composerHolds(await screenOf(pane), text)) return "its input box changed";
  const { info } = pane.agent;
  if (info === null) return "it has ended";
  return info.state === "needs_input" && info.source === "hook" ? "it asks a question" : null;
}

async function proof<T>(
  pane: Pane,
  text: string,
  reports: Reports,
  ms: number,
  is: (delivered: Output["delivered"], why: string) => T,
): Promise<T> {
  const hook = (): string | null => hookOf(reports.list, text);
  const { hasHooks } = pane.agent;
  let seen = false;
  const isDelivered = await until(pane, ms, async () => {
    if (hook() !== null) return true;
    // A screen that is being redrawn may be empty for a moment.
    for (let looks = 0; looks < EMPTY_LOOKS; looks++) {
      if (looks > 0) await Bun.sleep(CHECK_MS);
      if (readComposer(await screenOf(pane)).kind !== "empty") return false;
    }
    seen = true;
    return true;
  });
  if (isDelivered === true && seen && hasHooks && hook() === null)
    await until(pane, HOOK_MS, async () => hook() !== null);
  const reported = hook();
  if (reported !== null) return is("hook", reported);
  if (seen) return is("screen", "its input box took the text and is empty again; no hook reported it");
  if (pane.agent.info === null) return is("not_delivered", "the agent ended before it took the text");
  const still = composerHolds(await screenOf(pane), text);
  return is(
    "not_delivered",
    still
      ? "Enter had no effect: the text is still in its input box"
      : "Enter was pressed, and neither a hook nor the screen shows that it took the text",
  );
}

/** The evidence of a hook that reports this prompt; null: none does. */
function hookOf(reports: readonly AgentReport[], text: string): string | null {
  const expected = squeezed(text);
  for (const { moment, prompt, event } of reports) {
    if (moment !== "prompted") continue;
    if (prompt === undefined) return `its hook ${event} reported a prompt`;
    const reported = squeezed(prompt);
    if (reported === expected) return `its hook ${event} reported this prompt`;
    if (reported.includes(expected)) return `its hook ${event} reported this prompt together with other text`;
  }
  return null;
}

function squeezed(text: string): string {
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
  const read = readComposer(await screenOf(pane));
  if (read.kind === "holds") {
    const { text } = read;
    const reason = `the input box of ${info.name} is not empty, or shows a menu: '${text.trim().slice(0, 60)}'`;
    throw new WshError("composer_not_empty", reason, { agent: info });
  }
  if (read.kind === "absent" && (marked.has(info.name) || pane.agent.hasUnsentText)) {
    const problem = marked.has(info.name)
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
async function until(pane: Pane, ms: number, holds: () => Promise<boolean>): Promise<true | "over"> {
  const end = performance.now() + ms;
  for (;;) {
    if (await holds()) return true;
    if (performance.now() >= end || pane.exit !== null) return "over";
    await Bun.sleep(CHECK_MS);
  }
}
