/**
 * Operations on the windows of a session and their layouts (docs/protocol.md, Windows and panes). Their target is a
 * window, `@w5` or `name:window`, or a pane in it.
 */

import * as v from "valibot";
import { described, optional } from "../protocol/fields.ts";
import {
  ArrangementSchema,
  FloatLeafSchema,
  LayoutTreeSchema,
  ProgramFields,
  WindowIndexSchema,
  WindowLayoutSchema,
} from "../protocol/layout.ts";
import { layoutPresetNames } from "../protocol/layout-presets.ts";
import { isWindowName, normalName } from "../protocol/names.ts";
import { EndedField, WindowInfoSchema } from "../protocol/session.ts";
import { requireWindow, windowDestination } from "../protocol/window-destination.ts";
import { changesWindow, operation } from "./define.ts";
import { FocusField, requireNewProgram, startErrors } from "./panes.ts";
import { NothingSchema } from "./sessions.ts";

const WindowNameSchema = described(
  v.pipe(
    v.string(),
    v.transform(normalName),
    v.check(isWindowName, "not a window's name: 1 to 64 characters without : / ~, and not only digits"),
  ),
  "name of the window, 1 to 64 characters without : / ~",
);
const MakeRoomField = optional(v.boolean(), "adjacent windows from that number on move up by one", false);

const ofWindow = { scope: "layout", subject: "window" } as const;

export const windowOperations = [
  operation({
    name: "window.list",
    ...ofWindow,
    access: "observe",
    grant: "own-panes",
    summary: "The windows of a session with their panes",
    input: NothingSchema,
    output: v.array(WindowInfoSchema),
    http: [{ method: "GET", path: "/sessions/:name/windows" }],
    ws: ["list_windows"],
  }),
  operation({
    name: "window.create",
    ...ofWindow,
    access: "operate",
    summary: "Start a program in a new window",
    input: v.object({
      name: v.optional(v.nullable(WindowNameSchema)),
      index: v.optional(WindowIndexSchema),
      make_room: MakeRoomField,
      ...ProgramFields,
      focus: FocusField,
    }),
    check: requireNewProgram,
    output: ArrangementSchema,
    errors: ["invalid_layout", "session_ended", ...startErrors],
    http: [{ method: "POST", path: "/sessions/:name/windows", status: 201 }],
    ws: ["create_window"],
  }),
  operation({
    name: "window.close",
    ...ofWindow,
    access: "operate",
    affects: "panes",
    ends: "programs",
    summary: "End the programs of a window; the last window ends the session",
    input: NothingSchema,
    output: v.object({ closed: v.string(), ended: EndedField }),
    errors: ["pane_not_found"],
    http: [{ method: "DELETE", path: "/sessions/:name/window" }],
    ws: ["close_window"],
  }),
  operation({
    name: "window.select",
    ...ofWindow,
    access: "operate",
    summary: "Show a window to those attached",
    input: v.object({
      index: v.optional(WindowIndexSchema),
      to: optional(
        v.picklist(["next", "previous", "last"]),
        "the window in this order from the target; absent: the target",
      ),
    }),
    output: ArrangementSchema,
    errors: ["pane_not_found"],
    http: [{ method: "POST", path: "/sessions/:name/window/select" }],
    ws: ["select_window"],
  }),
  operation({
    name: "window.update",
    ...ofWindow,
    access: "operate",
    summary: "Change a window's name or number, or send input to all of its panes",
    input: v.object({
      name: v.optional(v.nullable(WindowNameSchema)),
      index: v.optional(WindowIndexSchema),
      synchronized: optional(v.boolean(), "send input to every pane of the window"),
    }),
    output: ArrangementSchema,
    errors: ["pane_not_found", "invalid_layout"],
    http: [{ method: "PATCH", path: "/sessions/:name/window" }],
    ws: ["update_window"],
  }),
  operation({
    name: "window.move",
    ...changesWindow,
    subject: "window",
    otherIn: "to",
    summary: "Give a window another number, or move it to another session; a session's only window ends it",
    input: v.object({
      to: optional(v.nullable(v.string()), "a number, a session, or session:number; absent: this session"),
      index: optional(WindowIndexSchema, "its number there; absent: the first free one"),
      make_room: MakeRoomField,
      focus: FocusField,
    }),
    check: ({ to, index }) => void windowDestination(to ?? null, index ?? null),
    output: ArrangementSchema,
    errors: ["pane_not_found", "invalid_layout", "session_not_found", "session_unavailable"],
    http: [{ method: "POST", path: "/sessions/:name/window/move" }],
    ws: ["move_window"],
  }),
  operation({
    name: "window.swap",
    ...changesWindow,
    subject: "window",
    otherIn: "with",
    summary: "Exchange the places of two windows, also of two sessions",
    input: v.object({
      with: described(v.string(), "the other window: its number, next, previous, last, @w5 or session:window"),
    }),
    check: ({ with: other }) => requireWindow(other),
    output: ArrangementSchema,
    errors: ["pane_not_found", "invalid_layout", "session_not_found", "session_unavailable"],
    http: [{ method: "POST", path: "/sessions/:name/window/swap" }],
    ws: ["swap_window"],
  }),
  operation({
    name: "window.floats",
    ...changesWindow,
    subject: "window",
    summary: "Hide or show all floating panes of a window",
    input: v.object({
      shown: optional(v.boolean(), "absent: toggle"),
      focus: FocusField,
    }),
    output: ArrangementSchema,
    errors: ["pane_not_found"],
    http: [{ method: "POST", path: "/sessions/:name/window/floats" }],
    ws: ["show_floats"],
  }),
  operation({
    name: "layout.get",
    ...ofWindow,
    access: "observe",
    summary: "The layouts of a session's windows, as trees and in tmux's format",
    input: NothingSchema,
    output: v.object({ session: v.string(), windows: v.array(WindowLayoutSchema) }),
    http: [{ method: "GET", path: "/sessions/:name/layout" }],
    ws: ["get_layout"],
  }),
  operation({
    name: "layout.set",
    ...ofWindow,
    access: "operate",
    affects: "session",
    ends: "programs",
    summary: "Arrange a window: moves existing panes, starts new ones, closes none unless requested",
    input: v.object({
      tree: v.optional(LayoutTreeSchema),
      floats: optional(v.pipe(v.array(FloatLeafSchema), v.maxLength(256)), "floating panes; absent: the existing ones"),
      tmux: optional(v.string(), "a layout in tmux's format, for the tiled panes in order"),
      close_others: optional(v.boolean(), "close the panes of the window that the tree omits", false),
      focus: FocusField,
    }),
    output: ArrangementSchema,
    errors: ["pane_not_found", "invalid_layout", ...startErrors],
    http: [{ method: "PUT", path: "/sessions/:name/layout" }],
    ws: ["set_layout"],
  }),
  operation({
    name: "layout.preset",
    ...ofWindow,
    access: "operate",
    affects: "session",
    summary: "Arrange the panes of a window by one of tmux's layouts",
    input: v.object({
      preset: described(v.picklist([...layoutPresetNames, "next"]), "next: the one after the current one"),
    }),
    output: ArrangementSchema,
    errors: ["pane_not_found"],
    http: [{ method: "POST", path: "/sessions/:name/layout/preset" }],
    ws: ["preset_layout"],
  }),
  operation({
    name: "layout.equalise",
    ...changesWindow,
    subject: "window",
    summary: "Give the panes of a window equal shares",
    input: v.object({
      around: optional(v.boolean(), "only the row or column of the target", false),
    }),
    output: ArrangementSchema,
    errors: ["pane_not_found"],
    http: [{ method: "POST", path: "/sessions/:name/layout/equalise" }],
    ws: ["equalise_layout"],
  }),
  operation({
    name: "layout.rotate",
    ...changesWindow,
    subject: "window",
    summary: "Move every pane of a window to the next place",
    input: v.object({ backwards: optional(v.boolean(), "in the other direction", false) }),
    output: ArrangementSchema,
    errors: ["pane_not_found"],
    http: [{ method: "POST", path: "/sessions/:name/layout/rotate" }],
    ws: ["rotate_layout"],
  }),
] as const;
