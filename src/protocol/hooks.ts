/**
 * Hooks: programs and operations that run at events (docs/events.md). They are defined by `[[on]]` tables of the
 * settings, and by the creator of a session. Pure.
 */
import * as v from "valibot";
import { agentStates } from "./agent.ts";
import { described, integerBetween, optional } from "./fields.ts";
import { globMatches } from "./glob.ts";
import { type RecordedEvent, recordedEventNames } from "./recorded-events.ts";
import { SessionStateSchema } from "./session.ts";

/** Maximum words of a program's line, and characters of each. */
const MAX_WORDS = 100;
const MAX_WORD = 8_192;
/** Longest time limit of a hook's program, in s. */
const MAX_SECONDS = 3_600;

const count = (most: number) => integerBetween(1, most);
const EventName = v.picklist(recordedEventNames);

const HookFields = v.strictObject({
  event: described(
    v.union([
      v.pipe(
        EventName,
        v.transform((name) => [name]),
      ),
      v.pipe(v.array(EventName), v.minLength(1)),
    ]),
    "the event, or several",
  ),
  session: optional(v.string(), "only sessions of this name; * stands for anything"),
  tag: optional(v.string(), "only sessions with this tag"),
  exit_code: optional(v.union([v.number(), v.literal("failed")]), "only ends with this exit code; failed: any but 0"),
  min_seconds: optional(v.number(), "only commands that ran at least this long"),
  unwatched: optional(v.boolean(), "true: only while no person looks at the pane"),
  state: optional(SessionStateSchema, "state_changed: only into this state"),
  agent_state: optional(v.picklist(agentStates), "agent_state: only into this state"),
  run: optional(
    v.pipe(v.array(v.pipe(v.string(), v.maxLength(MAX_WORD))), v.minLength(1), v.maxLength(MAX_WORDS)),
    "program and arguments, without a shell: the event is JSON on its standard input, and in WSH_EVENT…",
  ),
  do: optional(
    v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_WORD)),
    "an operation with parameters, as keys are bound to; session= names another target than the event's pane",
  ),
  at_once: optional(count(16), "maximum number of its programs at once; later events wait", 4),
  a_minute: optional(count(600), "maximum runs per minute; further events are skipped", 60),
  timeout_seconds: optional(count(MAX_SECONDS), "time until its program is killed", 60),
});

export const HookSchema = v.pipe(
  HookFields,
  v.check(({ run, do: line }) => (run === undefined) !== (line === undefined), "needs either 'run' or 'do'"),
);
export type Hook = v.InferOutput<typeof HookSchema>;
/** A hook with the AI agent that owns its session, in whose name it runs. */
export type OwnedHook = Hook & { readonly agent?: string };

/** Maximum hooks of one session. */
export const HooksSchema = v.pipe(v.array(HookSchema), v.maxLength(32));

export function hookMatches(hook: Hook, event: RecordedEvent): boolean {
  if (!hook.event.includes(event.event)) return false;
  const { session, tag, exit_code, min_seconds, unwatched, state, agent_state } = hook;
  return (
    (session === undefined || globMatches(session, event.session)) &&
    (tag === undefined || event.tags.includes(tag)) &&
    (exit_code === undefined || exitMatches(exit_code, event)) &&
    (min_seconds === undefined || (event.duration_ms ?? 0) >= min_seconds * 1000) &&
    (unwatched !== true || event.watched !== true) &&
    (state === undefined || event.state === state) &&
    (agent_state === undefined || event.agent?.state === agent_state)
  );
}

/** An end by a signal counts as failed; an unknown exit code does not. */
function exitMatches(wanted: number | "failed", { exit_code, signal }: RecordedEvent): boolean {
  if (exit_code === undefined && signal === undefined) return false;
  if (wanted !== "failed") return exit_code === wanted;
  return exit_code == null ? signal != null : exit_code !== 0;
}

/** Longest value of a variable, in characters: the whole event is on standard input. */
const MAX_VARIABLE = 4_096;

/** WSH_EVENT and the other variables: every plain field of the event. */
export function hookVariables(event: RecordedEvent): Record<string, string> {
  const fields = Object.entries({ ...event, tags: event.tags.join(","), agent: event.agent?.name });
  return Object.fromEntries(
    fields.flatMap(([name, value]) => {
      if (value === undefined || value === null || typeof value === "object") return [];
      const variable = name === "event" ? "WSH_EVENT" : `WSH_EVENT_${name.toUpperCase()}`;
      return [[variable, String(value).replaceAll("\0", "").slice(0, MAX_VARIABLE)]];
    }),
  );
}
