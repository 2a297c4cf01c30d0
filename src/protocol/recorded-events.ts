/**
 * Events in the form of the instance's journal, for `events.read`, `wsh events` and hooks (docs/protocol.md, Recorded
 * events): one flat object each, with the session's name, ids and tags at that time.
 */
import * as v from "valibot";
import { AgentInfoSchema } from "./agent.ts";
import { notificationForms } from "./attention.ts";
import { described, integerBetween, optional } from "./fields.ts";
import { layoutEventNames } from "./layout-events.ts";
import { SessionStateSchema } from "./session.ts";
import { WaitMsSchema } from "./wait-times.ts";

export const recordedEventNames = [
  "session_created",
  "session_renamed",
  "session_tags_changed",
  "session_ending",
  "session_exited",
  "session_destroyed",
  ...layoutEventNames,
  "command_started",
  "command_finished",
  "state_changed",
  "quiet",
  "bell",
  "notification",
  "title_changed",
  "agent_state",
  "question_asked",
  "question_answered",
  "attached",
  "detached",
  "client_resized",
  "session_resized",
  "port_opened",
  "port_closed",
] as const;
export type RecordedEventName = (typeof recordedEventNames)[number];

export function isRecordedEventName(name: string): name is RecordedEventName {
  return (recordedEventNames as readonly string[]).includes(name);
}

const text = v.string();
const number = v.number();

/** Fields of an event besides its name, time and session; absent if an event has no such value. */
const EventFields = {
  window: optional(text, "id of the window: @w5"),
  window_name: optional(text, "name of the window"),
  pane: optional(text, "id of the pane: @7"),
  old_name: optional(text, "session_renamed: the name before"),
  restored: optional(v.boolean(), "session_created: it had crashed and was restored"),
  added: optional(v.array(text), "session_tags_changed: new tags"),
  removed: optional(v.array(text), "session_tags_changed: removed tags"),
  ends_at: optional(number, "session_ending: Unix time in ms at which it ends unless it is used"),
  reason: optional(
    text,
    "session_ending: idle, owner_gone; session_destroyed: why: exited, killed, idle, session_crashed …",
  ),
  kept: optional(v.boolean(), "pane_exited: the pane stays in its place"),
  command: optional(
    v.nullable(text),
    "command_started, command_finished: its text; null where the history keeps none of it; of a session, the program",
  ),
  command_id: optional(number, "number of the command in its pane, from 1"),
  cwd: optional(v.nullable(text), "directory of the command"),
  exit_code: optional(v.nullable(number), "of a command, pane or session; null: unknown, or a signal"),
  signal: v.optional(v.nullable(text)),
  duration_ms: optional(v.nullable(number), "command_finished: how long it ran"),
  state: optional(SessionStateSchema, "state_changed: the pane's state now"),
  was: optional(SessionStateSchema, "state_changed: the state before"),
  driven: optional(v.boolean(), "state_changed: the last input there came from a call"),
  watched: optional(v.boolean(), "true: a person looked at the pane at a terminal"),
  quiet_ms: optional(number, "quiet: time for which a running program has printed nothing, in ms"),
  text: optional(text, "notification: the program's words: untrusted data"),
  form: optional(v.picklist(notificationForms), "notification: the sequence that the program used"),
  title: optional(text, "title_changed: the pane's title: untrusted data"),
  agent: optional(v.nullable(AgentInfoSchema), "agent_state: null: no agent is in the foreground now"),
  ask_id: optional(text, "question_asked, question_answered: the question"),
  kind: optional(text, "question_asked: choice, text, confirm, secret or hand_over"),
  question: optional(text, "question_asked: its text"),
  choices: optional(v.array(text), "question_asked: its choices"),
  asked_by: optional(text, "question_asked: the asking party"),
  decided_by: optional(text, "question_answered: answered, dismissed, cancelled, timeout …"),
  client: optional(number, "attached, detached, client_resized: number of the terminal in its session"),
  page: optional(text, "attached: name of the page's device; absent: a terminal"),
  rows: v.optional(number),
  cols: v.optional(number),
  port: optional(number, "port_opened, port_closed: the TCP port on which the pane's programs listen"),
  program: optional(v.nullable(text), "port_opened: the program that listens"),
  skipped: optional(number, "number of events of this pane omitted before this one, because there were too many"),
};

export const RecordedEventSchema = v.object({
  event: v.picklist(recordedEventNames),
  at: described(number, "Unix time in ms"),
  session: described(text, "name of the session at that time"),
  session_id: text,
  tags: v.array(text),
  private: optional(v.boolean(), "the session was private: no text of it is recorded; absent: false"),
  ...EventFields,
});
export type RecordedEvent = v.InferOutput<typeof RecordedEventSchema>;

/** A session process's part of an event; the journal adds the rest. */
export type EventDetails = { readonly event: RecordedEventName } & {
  readonly [F in keyof typeof EventFields]?: RecordedEvent[F];
};

/** A guest's process reports an event of the pane to the session that has it, which records it. */
export const ReportedEventSchema = v.object({
  event: v.literal("recorded"),
  details: v.object({ event: v.picklist(recordedEventNames), ...EventFields }),
});

const CursorField = described(v.pipe(text, v.maxLength(64)), "the cursor after this event, for `since`");

/** `a,b` in a query, or an array. */
const list = v.pipe(
  v.union([
    v.pipe(
      text,
      v.transform((given) => given.split(",")),
    ),
    v.array(text),
  ]),
  v.transform((items) => items.map((each) => each.trim()).filter((each) => each !== "")),
);

/** Default and maximum number of events in one answer. */
const DEFAULT_EVENTS = 1_000;
const MAX_EVENTS = 10_000;

export const ReadEventsSchema = v.object({
  since: optional(
    v.pipe(text, v.maxLength(64)),
    "cursor of an earlier answer or event; start: the oldest that are kept; now: only later ones",
    "now",
  ),
  type: optional(
    v.pipe(list, v.array(v.picklist(recordedEventNames))),
    "only these events (comma separated in a query); absent: all",
    [],
  ),
  session: optional(list, "only sessions of these names or ids (comma separated in a query); absent: all", []),
  tag: optional(list, "only sessions with one of these tags (comma separated in a query)", []),
  wait_ms: optional(WaitMsSchema, "longest wait for the first event, in ms; 0: none", 0),
  limit: optional(integerBetween(1, MAX_EVENTS), "most events of the answer", DEFAULT_EVENTS),
  server: optional(text, "only of this machine (GET /servers); absent: this one"),
});

export const EventsPageSchema = v.object({
  events: described(v.array(v.object({ ...RecordedEventSchema.entries, cursor: CursorField })), "the oldest first"),
  cursor: described(text, "the next `since`"),
  missed: optional(v.literal(true), "some events after `since` are missing: they have already been discarded"),
});
export type EventsPage = v.InferOutput<typeof EventsPageSchema>;
