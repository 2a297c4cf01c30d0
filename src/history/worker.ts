/**
 * `wsh history-worker`: the process that opens the database for processes that must not (a server, a session). One
 * request as JSON on standard input, one answer as JSON on standard output: `{"ok": …}` or `{"error": …}`.
 *
 * It is started for each request, so it loads little: the sender has already checked the request.
 */
import type { HistoryDeleteInput, HistorySearchInput } from "../operations/history.ts";
import { WshError } from "../protocol/errors.ts";
import type { HistoryPlaces } from "./paths.ts";
import { History } from "./queries.ts";
import type { Retention } from "./retention.ts";

type Request =
  | { readonly do: "search"; readonly input: HistorySearchInput }
  | { readonly do: "delete"; readonly input: HistoryDeleteInput }
  | { readonly do: "take_in" };

export interface HistoryWork extends HistoryPlaces {
  readonly retention: Retention;
  readonly request: Request;
}

export async function runHistoryWorker(): Promise<void> {
  let answer: unknown;
  try {
    const { request, retention, ...places }: HistoryWork = await Bun.stdin.json();
    using history = new History(places, retention);
    answer = { ok: perform(history, request) };
  } catch (error) {
    answer = { error: WshError.from(error).toBody() };
  }
  await Bun.write(Bun.stdout, JSON.stringify(answer));
}

function perform(history: History, request: Request): unknown {
  switch (request.do) {
    case "search":
      return history.search(request.input);
    case "delete":
      return history.delete(request.input);
    case "take_in":
      return {};
  }
}
