/**
 * Reports the progress of a waiting call: elapsed milliseconds, the session's state and its newest line, once a second
 * after the first second. Only for requests that ask for it. It stops before the reply is sent, and a failed read does
 * not fail the call.
 */
import type { ServerContext } from "@modelcontextprotocol/server";
import { isConcealedFrom } from "../../protocol/concealed.ts";
import type { Ask } from "./tool.ts";

/** Delay of the first report and interval between reports, in ms: often enough to look alive, cheap enough. */
export const DEFAULT_PROGRESS_MS = 1_000;
/** Lines searched for the newest that is not blank: the cursor is usually in an empty one. */
const NEWEST_LINES = 3;
/** Longest message, in characters: one line of a host's status area. */
const MESSAGE_LENGTH = 120;

/** The permission that a call waits for; null: none so far. */
export interface PendingLeave {
  text: string | null;
}

interface ProgressRequest {
  readonly leave: PendingLeave;
  readonly token: string | number;
  readonly session: string | undefined;
  /** The final value of `progress`, in ms. */
  readonly total: number;
  readonly intervalMs: number;
}

/** Reports until disposed. @param ask reads the session for which the call waits; null: there is none */
export function reportProgress(context: ServerContext, ask: Ask | null, request: ProgressRequest): Disposable {
  const started = performance.now();
  let last = 0;
  let isDone = false;
  const timer = setInterval(async () => {
    const message = request.leave.text ?? (ask === null ? null : await describe(ask, request.session));
    if (isDone || message === null) return;
    last = Math.max(last + 1, Math.round(performance.now() - started));
    const params = { progressToken: request.token, progress: last, total: Math.max(request.total, last), message };
    await context.mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
  }, request.intervalMs);
  return {
    [Symbol.dispose]() {
      isDone = true;
      clearInterval(timer);
    },
  };
}

async function describe(ask: Ask, session: string | undefined): Promise<string> {
  if (session === undefined) return "running";
  try {
    // Reading a private session would ask the person.
    if (isConcealedFrom(await ask("session.get", {}, session))) return "running";
    const [status, newest] = await Promise.all([
      ask("status.get", {}, session),
      ask("output.get", { lines: NEWEST_LINES, format: "plain" }, session),
    ]);
    const line =
      (newest.text ?? "")
        .split("\n")
        .map(printable)
        .findLast((text) => text !== "") ?? "";
    return line === "" ? status.state : `${status.state}: ${line}`.slice(0, MESSAGE_LENGTH);
  } catch {
    return "running";
  }
}

/** One line without control characters. */
function printable(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cf}]+/gu, " ")
    .trim()
    .slice(0, MESSAGE_LENGTH);
}
