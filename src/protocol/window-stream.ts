/** A window as a stream: its contents as displayed, and events of its session's windows. */
import * as v from "valibot";
import { described, optional } from "./fields.ts";
import { layoutEvents } from "./layout-events.ts";
import { CursorSchema, FormatSchema, LineSchema } from "./screen.ts";
import { WindowInfoSchema } from "./session.ts";
import { WaitMsSchema } from "./wait-times.ts";

/** Default time between two frames of a changing window, in ms, as for screens. */
const DEFAULT_INTERVAL_MS = 100;

export const windowEventNames = ["layout", "frames"] as const;

export const WindowSubscriptionSchema = v.object({
  events: optional(
    v.array(v.picklist(windowEventNames)),
    "layout (changes of windows and panes), frames (the window as shown); an empty list stops",
    [...windowEventNames],
  ),
  window: optional(v.string(), "the window whose frames are sent: @w5, its index or name (default: the active)"),
  format: optional(FormatSchema, "how rows are sent: styled spans or plain text", "styled"),
  elements: optional(
    v.boolean(),
    "with everything drawn over and beside the window: overlays, panels, the status line, a dialog",
    true,
  ),
  interval_ms: optional(WaitMsSchema, "least time between two frames of a changing window, in ms", DEFAULT_INTERVAL_MS),
});
export type WindowSubscription = v.InferOutput<typeof WindowSubscriptionSchema>;

const seq = described(v.number(), "counts this subscription's events from 1; 0 for a state");

/** The position of a pane in a frame. */
const FramePaneSchema = v.object({
  id: v.string(),
  row: v.number(),
  col: v.number(),
  rows: v.number(),
  cols: v.number(),
  title: v.string(),
  active: v.boolean(),
});
export type FramePane = v.InferOutput<typeof FramePaneSchema>;

const layoutVariants = [
  v.object({ event: v.literal("window_created"), seq, ...layoutEvents.window_created }),
  v.object({ event: v.literal("window_closed"), seq, ...layoutEvents.window_closed }),
  v.object({ event: v.literal("window_renamed"), seq, ...layoutEvents.window_renamed }),
  v.object({ event: v.literal("pane_created"), seq, ...layoutEvents.pane_created }),
  v.object({ event: v.literal("pane_closed"), seq, ...layoutEvents.pane_closed }),
  v.object({ event: v.literal("pane_moved"), seq, ...layoutEvents.pane_moved }),
  v.object({ event: v.literal("pane_exited"), seq, ...layoutEvents.pane_exited }),
  v.object({ event: v.literal("layout_changed"), seq, ...layoutEvents.layout_changed }),
  v.object({ event: v.literal("focus_changed"), seq, ...layoutEvents.focus_changed }),
] as const;

export const WindowEventSchema = v.variant("event", [
  v.object({
    event: v.literal("windows"),
    seq,
    windows: described(v.array(WindowInfoSchema), "all windows of the session with their panes"),
  }),
  ...layoutVariants,
  v.object({
    event: v.literal("frame"),
    seq,
    window: described(v.string(), "id of the window shown"),
    rows: v.number(),
    cols: v.number(),
    whole: described(v.boolean(), "all rows are sent; otherwise the rows changed since the last frame"),
    lines: v.array(v.object({ index: v.number(), line: LineSchema })),
    cursor: CursorSchema,
    title: described(v.string(), "title of the active pane"),
    panes: v.array(FramePaneSchema),
  }),
]);
export type WindowEvent = v.InferOutput<typeof WindowEventSchema>;

/** The gateway's request to the process that serves the session. */
export const WindowRequestSchema = v.object({
  ...WindowSubscriptionSchema.entries,
  /** Number of the last event that the client has. */
  seq: v.optional(v.number(), 0),
});
