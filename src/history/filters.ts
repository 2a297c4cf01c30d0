/** Converts callers' filters into a search. Pure, without a database: errors arise before a process is started. */
import type { HistoryDeleteInput } from "../operations/history.ts";
import { defined } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import { durationOf, momentOf } from "../protocol/time-text.ts";
import type { HistorySearch } from "./search.ts";

type Filters = Omit<HistoryDeleteInput, "id" | "all">;
type Search = Omit<HistorySearch, "limit" | "before" | "output">;

/**
 * The filters of a deletion.
 * @throws WshError invalid_request, also when no filter is given, or more than an id with one
 */
export function chosenOf({ id, all, ...filters }: HistoryDeleteInput): Search {
  const search = searchOf(filters);
  if (id !== undefined && (all || Object.keys(search).length > 0)) {
    throw new WshError("invalid_request", `id ${id} is one command: it excludes all and the filters`, {
      hint: "Give either an id or filters.",
    });
  }
  if (id === undefined && !all && Object.keys(search).length === 0) {
    throw new WshError("invalid_request", "no commands selected", {
      hint: "Give words, a filter, an id, or all.",
    });
  }
  return search;
}

/** @throws WshError invalid_request */
export function searchOf(input: Filters): Search {
  const { query, session, cwd, failed, exit_code, since, until, min_duration, by } = input;
  const now = Date.now();
  const duration = min_duration === undefined ? undefined : durationOf(min_duration);
  if (duration === null) {
    throw new WshError("invalid_request", `'min_duration': '${min_duration}' is not a duration such as 10s or 2m`);
  }
  const trimmed = cwd === undefined || cwd === "/" ? cwd : cwd.replace(/\/+$/, "");
  return {
    ...(query === undefined || query.trim() === "" ? {} : { words: query }),
    ...defined({ session, cwd: trimmed }),
    ...(failed === true ? { failed } : {}),
    ...defined({ exit_code }),
    ...(since === undefined ? {} : { since: momentOf(since, now, "since") }),
    ...(until === undefined ? {} : { until: momentOf(until, now, "until") }),
    ...defined({ min_duration_ms: duration, by }),
  };
}
