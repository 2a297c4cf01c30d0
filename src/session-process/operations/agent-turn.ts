/** Determines how the turn of an agent that got a prompt ends: by its hooks, by its wait for input, or by its exit. */
import type { OperationOutput } from "../../operations/table.ts";
import type { AgentReport } from "../../pane/agent/agent-watch.ts";
import { lastReply } from "../../pane/agent/transcript.ts";
import type { Pane } from "../../pane/pane.ts";

type Output = OperationOutput<"agent.prompt">;
type Turn = NonNullable<Output["turn"]>;

const CHECK_MS = 100;
/** Silence after which the turn of an agent without hooks has ended, if it waits for a key, in ms. */
const SILENCE_MS = 3_000;
/** Time after the end of an earlier turn for a queued prompt to begin its own, in ms. */
const MAX_QUEUE_MS = 2_000;
/** Longest message, in characters. */
const MAX_MESSAGE_LENGTH = 32_768;

/** Reports of the agent's hooks since the prompt was typed. */
export class HookReports {
  readonly list: AgentReport[] = [];
  readonly end: () => void;

  constructor(pane: Pane, pid: number) {
    this.end = pane.agent.reports.on("report", (report) => {
      if (report.agentPid === pid) this.list.push(report);
    });
  }
}

export interface Delivery {
  readonly delivered: Output["delivered"];
  readonly why: string;
  readonly queued?: true;
  readonly since: number;
}

export async function awaitTurn(
  pane: Pane,
  reports: HookReports,
  { queued, delivered }: Delivery,
  ms: number,
  signal: AbortSignal,
): Promise<Turn> {
  const startedAt = performance.now();
  const pid = pane.agent.info?.pid;
  for (;;) {
    const { info } = pane.agent;
    if (info === null || info.pid !== pid || pane.exit !== null) return { ended: "exited" };
    const end = findEndReport(reports.list, queued === true && delivered !== "hook");
    if (end !== null) return { ended: "done", ...(await readMessage(pane, end)) };
    const hasPrompted = reports.list.some(({ moment }) => moment === "prompted");
    if (info.state === "needs_input" && info.source === "hook" && reports.list.length > 0)
      return { ended: "needs_input", ...(info.message === undefined ? {} : truncatedMessage(info.message, "hook")) };
    const isQuiet = pane.activity.idleMs() >= SILENCE_MS && performance.now() - startedAt >= SILENCE_MS;
    if (isQuiet && info.state !== "working" && (info.source !== "hook" || !hasPrompted))
      return { ended: info.state === "done" ? "done" : "at_rest", ...(await readMessage(pane, null)) };
    if (performance.now() - startedAt >= ms || signal.aborted) return { ended: "working" };
    await Bun.sleep(CHECK_MS);
  }
}

const arrivalTimes = new WeakMap<AgentReport, number>();

/** The report that ends the turn of our prompt; null: the turn continues. */
function findEndReport(reports: readonly AgentReport[], isQueued: boolean): AgentReport | null {
  const promptIndex = reports.findLastIndex(({ moment }) => moment === "prompted");
  const end = reports.slice(promptIndex + 1).find(({ moment }) => moment === "ended") ?? null;
  if (end === null || !isQueued || promptIndex >= 0) return end;
  // The previous turn has ended; ours begins, or was part of it.
  const arrivedAt = arrivalTimes.get(end) ?? performance.now();
  arrivalTimes.set(end, arrivedAt);
  return performance.now() - arrivedAt >= MAX_QUEUE_MS ? end : null;
}

/** Hooks run in parallel to the writer of the transcript, which may be a moment behind. */
async function readMessage(pane: Pane, end: AgentReport | null): Promise<Partial<Turn>> {
  if (end?.reply !== undefined) return truncatedMessage(end.reply, "hook");
  const transcript = pane.agent.info?.conversation?.transcript;
  if (transcript === undefined) return {};
  for (let tries = 0; tries < 5; tries++) {
    const reply = lastReply(transcript);
    if (reply !== null) return truncatedMessage(reply, "transcript");
    await Bun.sleep(CHECK_MS);
  }
  return {};
}

function truncatedMessage(text: string, from: "hook" | "transcript"): Partial<Turn> {
  const omitted = Math.max(0, text.length - MAX_MESSAGE_LENGTH);
  const message = omitted === 0 ? text : text.slice(0, MAX_MESSAGE_LENGTH).toWellFormed();
  return { message, message_from: from, ...(omitted === 0 ? {} : { omitted }) };
}
