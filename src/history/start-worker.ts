/** Starts the process that opens the history's database (worker.ts), and asks it. */
import { selfCommand } from "../launch/launch.ts";
import { WshError } from "../protocol/errors.ts";
import { jsonOrNull } from "../protocol/json.ts";
import { chosenOf, searchOf } from "./filters.ts";
import { journalsIn } from "./journal.ts";
import type { HistoryPlaces } from "./paths.ts";
import type { Retention } from "./retention.ts";
import type { HistoryWork } from "./worker.ts";

/** Number of journals that starts an import without a request, so that the next query stays quick. */
const MANY_JOURNALS = 16;
/** Longest wait for an answer, in ms: a database that was not used for long first imports everything since. */
const PATIENCE_MS = 20_000;

/** @throws WshError of the worker, history_unavailable when it died or was silent */
export async function askWorker<T>(
  places: HistoryPlaces,
  retention: Retention,
  request: HistoryWork["request"],
  signal?: AbortSignal,
): Promise<T> {
  checkRequest(request);
  const child = start({ ...places, retention, request }, "pipe");
  const timeout = AbortSignal.timeout(PATIENCE_MS);
  const stop = (): void => child.kill("SIGKILL");
  for (const each of [timeout, signal]) each?.addEventListener("abort", stop, { once: true });
  try {
    const text = await new Response(child.stdout as ReadableStream<Uint8Array>).text();
    await child.exited;
    if (signal?.aborted === true) throw new WshError("cancelled", "the search was cancelled");
    const answer = read(text);
    if (answer === null)
      throw new WshError("history_unavailable", "the process that reads the history ended without an answer");
    if (answer.error !== undefined) throw WshError.fromBody(answer.error);
    return answer.ok as T;
  } finally {
    for (const each of [timeout, signal]) each?.removeEventListener("abort", stop);
  }
}

/** Refuses a request that the worker would refuse, before one is started. @throws WshError invalid_request */
function checkRequest(request: HistoryWork["request"]): void {
  if (request.do === "search") searchOf(request.input);
  else if (request.do === "delete") chosenOf(request.input);
}

/** Imports journals in the background if there are many. */
export function takeInWhenMany(places: HistoryPlaces, retention: Retention): void {
  if (journalsIn(places.journals).length < MANY_JOURNALS) return;
  start({ ...places, retention, request: { do: "take_in" } }, "ignore").unref();
}

function start(work: HistoryWork, stdout: "pipe" | "ignore"): Bun.Subprocess {
  return Bun.spawn({
    cmd: selfCommand(["history-worker"]),
    cwd: "/",
    stdin: Buffer.from(JSON.stringify(work)),
    stdout,
    stderr: "ignore",
    detached: true,
  });
}

function read(text: string): { readonly ok?: unknown; readonly error?: Record<string, unknown> } | null {
  const value = jsonOrNull(text);
  return typeof value === "object" ? value : null;
}
