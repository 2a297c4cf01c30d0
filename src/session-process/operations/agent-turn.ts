/** Determines how the turn of an agent that got a prompt ends: by its hooks, by its wait for input, or by its exit. */
import type { OperationOutput } from "../../operations/table.ts";
import type { AgentReport } from "../../pane/agent/agent-watch.ts";
import { lastReply } from "../../pane/agent/transcript.ts";
import type { Pane } from "../../pane/pane.ts";

type Output = OperationOutput<"agent.prompt">;
type Turn = NonNullable<Output["turn"]>;

const CHECK_MS = 100;
/** Silence after which the turn of an agent without hooks has ended, if it waits for a key, in ms. */
const REST_MS = 3_000;
/** Time after the end of an earlier turn for a queued prompt to begin its own, in ms. */
const QUEUE_MS = 2_000;
/** Longest message, in characters. */
const MESSAGE_LENGTH = 32_768;

/** Reports of the agent's hooks since the prompt was typed. */
export class Reports {
  readonly list: AgentReport[] = [];
  readonly end: () => void;

  constructor(pane: Pane, pid: number) {
    this.end = pane.agent.reports.on("report", (report) => {
      if (report.agentPid === pid) this.list.push(report);
    });
  }
}

export interface Delivered {
  readonly delivered: Output["delivered"];
  readonly why: string;
  readonly queued?: true;
  readonly since: number;
}

export async function turnOf(
  pane: Pane,
  reports: Reports,
  { queued, delivered }: Delivered,
  ms: number,
  signal: AbortSignal,
): Promise<Turn> {
  const began = performance.now();
  const pid = pane.agent.info?.pid;
  for (;;) {
    const { info } = pane.agent;
    if (info === null || info.pid !== pid || pane.exit !== null) return { ended: "exited" };
    const end = endIn(reports.list, queued === true && delivered !== "hook");
    if (end !== null) return { ended: "done", ...(await messageOf(pane, end)) };
    const hasPrompted = reports.list.some(({ moment }) => moment === "prompted");
    if (info.state === "needs_input" && info.source === "hook" && reports.list.length > 0)
      return { ended: "needs_input", ...(info.message === undefined ? {} : truncated(info.message, "hook")) };
    const isQuiet = pane.activity.idleMs() >= REST_MS && performance.now() - began >= REST_MS;
    if (isQuiet && info.state !== "working" && (info.source !== "hook" || !hasPrompted))
      return { ended: info.state === "done" ? "done" : "at_rest", ...(await messageOf(pane, null)) };
    if (performance.now() - began >= ms || signal.aborted) return { ended: "working" };
    await Bun.sleep(CHECK_MS);
  }
}

const arrived = new WeakMap<AgentReport, number>();

/** The report that ends the turn of our prompt; null: the turn continues. */
function endIn(reports: readonly AgentReport[], isQueued: boolean): AgentReport | null {
  const begun = reports.findLastIndex(({ moment }) => moment === "prompted");
  const end = reports.slice(begun + 1).find(({ moment }) => moment === "ended") ?? null;
  if (end === null || !isQueued || begun >= 0) return end;
  // The previous turn has ended; ours begins, or was part of it.
  const at = arrived.get(end) ?? performance.now();
  arrived.set(end, at);
  return performance.now() - at >= QUEUE_MS ? end : null;
}

/** Hooks run in parallel to the writer of the transcript, which may be a moment behind. */
async function messageOf(pane: Pane, end: AgentReport | null): Promise<Partial<Turn>> {
  if (end?.reply !== undefined) return truncated(end.reply, "hook");
  const transcript = pane.agent.info?.conversation?.transcript;
  if (transcript === undefined) return {};
  for (let tries = 0; tries < 5; tries++) {
    const reply = lastReply(transcript);
    if (reply !== null) return truncated(reply, "transcript");
    await Bun.sleep(CHECK_MS);
  }
  return {};
}

function truncated(text: string, from: "hook" | "transcript"): Partial<Turn> {
  const omitted = Math.max(0, text.length - MESSAGE_LENGTH);
  const message = omitted === 0 ? text : text.slice(0, MESSAGE_LENGTH).toWellFormed();
  return { message, message_from: from, ...(omitted === 0 ? {} : { omitted }) };
}
