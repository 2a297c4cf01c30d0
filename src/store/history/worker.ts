/**
 * `wsh history-worker`: the process that opens the database for those who may not (a server, a session). One request as
 * JSON on standard input, one answer as JSON on standard output: `{"ok": …}` or `{"error": …}`.
 */
import * as v from "valibot";
import { HistoryDeleteSchema, HistorySearchSchema } from "../../operations/history.ts";
import { WshError } from "../../protocol/errors.ts";
import { History } from "./ask.ts";

const RequestSchema = v.variant("do", [
  v.object({ do: v.literal("search"), input: HistorySearchSchema }),
  v.object({ do: v.literal("delete"), input: HistoryDeleteSchema }),
  v.object({ do: v.literal("take_in") }),
]);
const WorkSchema = v.object({
  journals: v.string(),
  database: v.string(),
  retention: v.object({ days: v.number(), bytes: v.number() }),
  request: RequestSchema,
});
export type HistoryWork = v.InferInput<typeof WorkSchema>;

export async function runHistoryWorker(): Promise<void> {
  let answer: unknown;
  try {
    const { request, retention, ...places } = v.parse(WorkSchema, await Bun.stdin.json());
    using history = new History(places, retention);
    answer = { ok: perform(history, request) };
  } catch (error) {
    answer = { error: WshError.from(error).toBody() };
  }
  await Bun.write(Bun.stdout, JSON.stringify(answer));
}

function perform(history: History, request: v.InferOutput<typeof RequestSchema>): unknown {
  switch (request.do) {
    case "search":
      return history.search(request.input);
    case "delete":
      return history.delete(request.input);
    case "take_in":
      return {};
  }
}
