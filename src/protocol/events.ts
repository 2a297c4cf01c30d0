/**
 * Events of a WebSocket (docs/protocol.md, Events): those of sessions that a client subscribed to, and the server's own
 * events about created and ended sessions. `seq` counts a subscription's events from 1, without gaps; an event that
 * describes a state rather than a change (`sync`, `idle`, `running`) has 0.
 */
import * as v from "valibot";
import { AgentInfoSchema } from "./agent.ts";
import { CommandRecordSchema } from "./commands.ts";
import { OverlaySchema, PanelSchema } from "./drawing.ts";
import { described, optional } from "./fields.ts";
import { layoutEvents } from "./layout-events.ts";
import { FormatSchema, LineSchema, ScreenSchema } from "./screen.ts";
import { EndReasonSchema, SessionInfoSchema } from "./session.ts";
import { WaitMsSchema } from "./wait-times.ts";

/** Default time between two reports of a changing screen, in ms (docs/protocol.md, Events). */
const DEFAULT_INTERVAL_MS = 100;
/** Maximum typed keys and commands queued for a slow reader; a person types a few a second. */
export const MAX_QUEUED_EVENTS = 256;

export const eventNames = [
  "lines",
  "cursor",
  "mode",
  "diffs",
  "input",
  "activity",
  "chars",
  "overlay",
  "commands",
  "agent",
] as const;
export type EventName = (typeof eventNames)[number];

const EventsField = described(
  v.array(v.picklist(eventNames)),
  "what to report: lines (changed rows), cursor, mode (alternate screen), diffs (changed rows with the whole screen), " +
    "input (keys of people; takes the access operate), activity (idle and running), chars (output as text), " +
    "overlay (what is drawn), commands (started and finished), agent (what an AI agent does); an empty list stops",
);

/** A subscription as the session process receives it. */
export const SubscriptionSchema = v.object({
  events: EventsField,
  format: optional(FormatSchema, "how rows are sent: styled spans or plain text", "styled"),
  interval_ms: optional(
    WaitMsSchema,
    "least time between two reports of a changing screen, in ms",
    DEFAULT_INTERVAL_MS,
  ),
  idle_timeout_ms: optional(WaitMsSchema, "silence that is reported as idle, in ms; 0: never", 0),
});
export type Subscription = v.InferOutput<typeof SubscriptionSchema>;

/** A subscription as a client writes it: `quiesce_ms` is an older name of `idle_timeout_ms`. */
export const SubscribeSchema = v.pipe(
  v.object({
    ...SubscriptionSchema.entries,
    idle_timeout_ms: v.optional(SubscriptionSchema.entries.idle_timeout_ms.wrapped),
    quiesce_ms: optional(WaitMsSchema, "older name of idle_timeout_ms"),
  }),
  v.transform(
    ({ quiesce_ms, idle_timeout_ms, ...rest }): Subscription => ({
      ...rest,
      idle_timeout_ms: idle_timeout_ms ?? quiesce_ms ?? 0,
    }),
  ),
);

/** A server's WebSocket subscription to events of other machines. */
export const MachinesSubscriptionSchema = v.object({
  machines: optional(
    v.pipe(v.array(v.string()), v.maxLength(256)),
    "machines whose session events are sent; absent: all added machines; an empty list stops the events",
  ),
});

const seq = described(v.number(), "counts this subscription's events from 1; 0 for a state");
const scrollback = described(v.number(), "lines of history and screen together");
const generation = described(v.number(), "change token: grows with every activity");
const KeySchema = v.object({ key: v.string(), modifiers: v.array(v.string()) });

/** Events of a subscription; the server's own WebSocket adds `session` to each. */
export const SessionEventSchema = v.variant("event", [
  v.object({
    event: v.literal("sync"),
    seq,
    screen: ScreenSchema,
    scrollback_lines: scrollback,
  }),
  v.object({
    event: v.literal("line"),
    seq,
    index: described(v.number(), "row of the screen, from 0"),
    total_lines: scrollback,
    line: LineSchema,
  }),
  v.object({ event: v.literal("cursor"), seq, row: v.number(), col: v.number(), visible: v.boolean() }),
  v.object({
    event: v.literal("mode"),
    seq: v.optional(seq),
    alternate_active: optional(v.boolean(), "the program uses the alternate screen"),
    mode: optional(v.picklist(["passthrough", "capture"]), "receiver of a person's keys"),
  }),
  v.object({
    event: v.literal("reset"),
    seq,
    reason: described(v.string(), "why all rows must be read again: resize, clear_screen …"),
  }),
  v.object({
    event: v.literal("diff"),
    seq,
    changed_lines: described(v.array(v.number()), "rows of the screen that changed"),
    screen: ScreenSchema,
  }),
  v.object({ event: v.literal("idle"), seq, generation, screen: ScreenSchema, scrollback_lines: scrollback }),
  v.object({ event: v.literal("running"), seq, generation }),
  v.object({
    event: v.literal("input"),
    mode: v.picklist(["passthrough", "capture"]),
    raw: described(v.array(v.number()), "bytes of the key"),
    parsed: v.nullable(KeySchema),
    target: optional(v.string(), "the focused overlay or panel"),
  }),
  v.object({ event: v.literal("chars"), seq, text: described(v.string(), "output, unchanged") }),
  v.object({
    event: v.literal("overlay"),
    seq,
    overlays: v.array(OverlaySchema),
    panels: v.array(PanelSchema),
  }),
  v.object({ event: v.literal("command_started"), seq, command: CommandRecordSchema }),
  v.object({ event: v.literal("command_finished"), seq, command: CommandRecordSchema }),
  v.object({
    event: v.literal("agent_state"),
    seq,
    pane_id: v.string(),
    agent: described(v.nullable(AgentInfoSchema), "null: no agent is in the foreground now"),
  }),
  v.object({
    event: v.literal("exited"),
    seq,
    exit_code: v.nullable(v.number()),
    signal: v.nullable(v.string()),
  }),
]);
export type SessionEvent = v.InferOutput<typeof SessionEventSchema>;

/**
 * Events that every server-level WebSocket receives without subscribing. `session_destroyed` is sent when the program
 * ends; the session stays readable by its id for its grace period.
 */
export const LifecycleEventSchema = v.variant("event", [
  v.object({
    event: v.literal("session_created"),
    params: v.object({
      ...v.pick(SessionInfoSchema, ["name", "pid", "command", "rows", "cols", "tags"]).entries,
      session: SessionInfoSchema,
    }),
  }),
  v.object({
    event: v.literal("session_renamed"),
    params: v.object({ old_name: v.string(), new_name: v.string(), session: SessionInfoSchema }),
  }),
  v.object({
    event: v.literal("session_tags_changed"),
    params: v.object({
      name: v.string(),
      added: v.array(v.string()),
      removed: v.array(v.string()),
      tags: v.array(v.string()),
      session: SessionInfoSchema,
    }),
  }),
  v.object({
    event: v.literal("agent_state"),
    params: v.object({
      name: v.string(),
      pane_id: v.string(),
      agent: described(v.nullable(AgentInfoSchema), "null: no agent is in the foreground now"),
      session: SessionInfoSchema,
    }),
  }),
  v.object({
    event: v.literal("questions_changed"),
    params: v.object({
      name: v.string(),
      waiting: described(v.number(), "the session's open questions: see `list_asks`"),
      session: SessionInfoSchema,
    }),
  }),
  v.object({
    event: v.literal("window_created"),
    params: v.object({ name: v.string(), ...layoutEvents.window_created, session: SessionInfoSchema }),
  }),
  v.object({
    event: v.literal("window_closed"),
    params: v.object({ name: v.string(), ...layoutEvents.window_closed, session: SessionInfoSchema }),
  }),
  v.object({
    event: v.literal("window_renamed"),
    params: v.object({ name: v.string(), ...layoutEvents.window_renamed, session: SessionInfoSchema }),
  }),
  v.object({
    event: v.literal("pane_created"),
    params: v.object({ name: v.string(), ...layoutEvents.pane_created, session: SessionInfoSchema }),
  }),
  v.object({
    event: v.literal("pane_closed"),
    params: v.object({ name: v.string(), ...layoutEvents.pane_closed, session: SessionInfoSchema }),
  }),
  v.object({
    event: v.literal("pane_moved"),
    params: v.object({ name: v.string(), ...layoutEvents.pane_moved, session: SessionInfoSchema }),
  }),
  v.object({
    event: v.literal("pane_exited"),
    params: v.object({ name: v.string(), ...layoutEvents.pane_exited, session: SessionInfoSchema }),
  }),
  v.object({
    event: v.literal("layout_changed"),
    params: v.object({ name: v.string(), ...layoutEvents.layout_changed, session: SessionInfoSchema }),
  }),
  v.object({
    event: v.literal("focus_changed"),
    params: v.object({ name: v.string(), ...layoutEvents.focus_changed, session: SessionInfoSchema }),
  }),
  v.object({
    event: v.literal("session_exited"),
    params: v.object({
      name: v.string(),
      exit_code: v.nullable(v.number()),
      signal: v.nullable(v.string()),
      session: SessionInfoSchema,
    }),
  }),
  v.object({
    event: v.literal("session_destroyed"),
    params: v.object({
      name: v.string(),
      reason: EndReasonSchema,
      exit_code: v.nullable(v.number()),
      signal: v.nullable(v.string()),
      session: SessionInfoSchema,
    }),
  }),
]);
export type LifecycleEvent = v.InferOutput<typeof LifecycleEventSchema>;

/** For a reader that was too slow: the number of missed events of a kind that cannot be merged. */
const LaggedSchema = v.object({
  type: v.picklist(["lagged", "input_lagged"]),
  skipped: v.number(),
  session: v.optional(v.string()),
});
export type Lagged = v.InferOutput<typeof LaggedSchema>;
