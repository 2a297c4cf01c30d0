/**
 * Operations on the panes of a window (docs/protocol.md, Windows and panes). Their target is a pane: `@7`,
 * `name:window.pane`, `name:` the focused one; a bare name means the pane that has been in the session longest.
 */
import * as v from "valibot";
import { WshError } from "../protocol/errors.ts";
import { described, integerBetween, optional } from "../protocol/fields.ts";
import {
  ArrangementSchema,
  BoundsFields,
  type PaneProgram,
  ProgramFields,
  WindowIndexSchema,
} from "../protocol/layout.ts";
import { parsePlace, parseTarget } from "../protocol/names.ts";
import { placeRules, resizeRules } from "../protocol/option-rules.ts";
import { requireProgram } from "../protocol/program-text.ts";
import { EndedField, PaneInfoSchema } from "../protocol/session.ts";
import { changesWindow, operation } from "./define.ts";
import { NothingSchema } from "./sessions.ts";

const side = v.picklist(["right", "left", "down", "up"]);
const cells = integerBetween(1, 1000);
const percent = v.pipe(v.number(), v.minValue(1), v.maxValue(99));

export const FocusField = optional(v.boolean(), "switch attached terminals to it; otherwise their focus stays", false);

const PlaceFields = {
  direction: optional(side, "side of the target", "right"),
  cells: optional(cells, "its width or height"),
  percent: optional(percent, "its share of the room, in percent"),
  whole: optional(v.boolean(), "along the whole window instead of the one pane", false),
  float: optional(v.boolean(), "above the tiled panes of that window instead", false),
  ...BoundsFields,
};
const { view: _, ...PopupProgramFields } = ProgramFields;

/** @throws WshError invalid_request, or the errors of a name that no session can have */
export function requireNewProgram(program: Pick<PaneProgram, "command" | "stdin" | "view">): void {
  requireProgram(program);
  if (program.view != null) parseTarget(parsePlace(program.view).target);
}

export const startErrors = [
  "session_create_failed",
  "cwd_not_found",
  "unknown_shell",
  "shell_not_found",
  "resource_limit_reached",
  "payload_too_large",
] as const;

export const paneOperations = [
  operation({
    name: "pane.list",
    scope: "layout",
    access: "observe",
    grant: "own-panes",
    summary: "The panes of a session, in order of window and position",
    input: NothingSchema,
    output: v.array(v.object({ ...PaneInfoSchema.entries, window: v.string() })),
    http: [{ method: "GET", path: "/sessions/:name/panes" }],
    ws: ["list_panes"],
  }),
  operation({
    name: "pane.split",
    scope: "layout",
    access: "operate",
    grant: "own-panes",
    summary: "Start a program in a new pane beside the target",
    input: v.object({ ...PlaceFields, ...ProgramFields, focus: FocusField }),
    rules: placeRules,
    check: requireNewProgram,
    output: ArrangementSchema,
    errors: ["pane_not_found", "session_ended", ...startErrors],
    http: [{ method: "POST", path: "/sessions/:name/panes", status: 201 }],
    ws: ["create_pane", "split_pane"],
  }),
  operation({
    name: "pane.close",
    scope: "layout",
    access: "operate",
    affects: "pane",
    ends: "programs",
    grant: "own-panes",
    summary: "End a pane's program and give its room to its neighbours; the last pane ends the session",
    input: NothingSchema,
    output: v.object({ closed: v.string(), ended: EndedField }),
    errors: ["pane_not_found"],
    http: [{ method: "DELETE", path: "/sessions/:name/pane" }],
    ws: ["close_pane"],
  }),
  operation({
    name: "pane.select",
    scope: "layout",
    access: "operate",
    summary: "Make a pane, or its neighbour, the active pane; moves the focus of attached terminals",
    input: v.object({
      to: optional(
        v.picklist(["left", "right", "up", "down", "next", "previous", "last"]),
        "the pane in this direction from the target; absent: the target",
      ),
    }),
    output: ArrangementSchema,
    errors: ["pane_not_found"],
    http: [{ method: "POST", path: "/sessions/:name/pane/select" }],
    ws: ["select_pane"],
  }),
  operation({
    name: "pane.resize",
    ...changesWindow,
    summary: "Resize a pane",
    input: v.object({
      direction: optional(side, "move a border of the pane in this direction"),
      by: optional(cells, "cells to move the border", 1),
      rows: optional(cells, "height"),
      cols: optional(cells, "width"),
      rows_percent: optional(percent, "height in percent of the window"),
      cols_percent: optional(percent, "width in percent of the window"),
    }),
    rules: resizeRules,
    check: ({ direction, rows, cols, rows_percent, cols_percent }) => {
      if ((direction ?? rows ?? cols ?? rows_percent ?? cols_percent) === undefined)
        throw new WshError("invalid_request", "'direction' or a size is missing");
    },
    output: ArrangementSchema,
    errors: ["pane_not_found"],
    http: [{ method: "POST", path: "/sessions/:name/pane/resize" }],
    ws: ["resize_pane"],
  }),
  operation({
    name: "pane.float",
    ...changesWindow,
    summary: "Make a pane float above the tiled ones, or tile it; move, hide or show a floating pane",
    input: v.object({
      on: optional(v.boolean(), "float or tile it; absent: toggle, or by the rest"),
      ...BoundsFields,
      hidden: optional(v.boolean(), "hide it; its program continues"),
      direction: optional(side, "move it in this direction"),
      by: optional(cells, "cells to move it", 1),
    }),
    check: ({ on, hidden, direction, x, y, width, height }) => {
      if (on === false && (hidden ?? direction ?? x ?? y ?? width ?? height) !== undefined)
        throw new WshError("invalid_request", "a tiled pane has no place of its own");
    },
    output: ArrangementSchema,
    errors: ["pane_not_found", "invalid_layout"],
    http: [{ method: "POST", path: "/sessions/:name/pane/float" }],
    ws: ["float_pane"],
  }),
  operation({
    name: "popup.open",
    ...changesWindow,
    lasts: "program",
    summary: "Run a program in a popup above the target's window, which gets all keys and closes when it ends",
    input: v.object({
      ...PopupProgramFields,
      ...BoundsFields,
      border: optional(v.boolean(), "with a frame around it", true),
      wait: optional(v.boolean(), "answer when it has closed; a call that ends closes it", false),
      print: optional(v.boolean(), "return what the command writes to its standard output; implies wait", false),
    }),
    rules: [{ option: "print", needs: "command" }],
    check: requireProgram,
    output: v.object({
      session: v.string(),
      session_id: v.string(),
      window: v.string(),
      pane: v.string(),
      exit_code: v.optional(v.nullable(described(v.number(), "with wait; null: unknown"))),
      signal: v.optional(v.nullable(described(v.string(), "with wait: what ended it"))),
      output: optional(v.string(), "with print; at most 1 MiB"),
      output_base64: optional(v.string(), "the same, if it is not UTF-8"),
      output_truncated: optional(v.boolean(), "more was written"),
    }),
    errors: ["pane_not_found", "no_viewer", "session_ended", ...startErrors],
    http: [{ method: "POST", path: "/sessions/:name/popup", status: 201 }],
    ws: ["open_popup"],
  }),
  operation({
    name: "pane.zoom",
    ...changesWindow,
    summary: "Zoom the active pane, or unzoom it",
    input: v.object({ on: optional(v.boolean(), "absent: toggle") }),
    output: ArrangementSchema,
    errors: ["pane_not_found"],
    http: [{ method: "POST", path: "/sessions/:name/pane/zoom" }],
    ws: ["zoom_pane"],
  }),
  operation({
    name: "pane.swap",
    ...changesWindow,
    summary: "Swap two panes",
    input: v.object({
      with: described(v.string(), "the other pane as a target, or left, right, up, down, next, previous, last"),
    }),
    check: ({ with: other }) => void parseTarget(other),
    output: ArrangementSchema,
    errors: ["pane_not_found"],
    http: [{ method: "POST", path: "/sessions/:name/pane/swap" }],
    ws: ["swap_pane"],
  }),
  operation({
    name: "pane.move",
    ...changesWindow,
    otherIn: "to",
    summary: "Move a pane beside another one, to another window or session, or into a new window",
    input: v.object({
      to: v.optional(v.nullable(described(v.string(), "destination pane, window or session; absent: a new window"))),
      ...PlaceFields,
      index: optional(WindowIndexSchema, "of the new window"),
      name: optional(v.string(), "of the new window"),
      focus: FocusField,
    }),
    rules: [...placeRules, { option: "float", needs: "to", hint: "A pane that is alone in its window cannot float." }],
    check: ({ to }) => {
      if (to != null) parseTarget(to);
    },
    output: ArrangementSchema,
    errors: ["pane_not_found", "invalid_layout", "session_not_found"],
    http: [{ method: "POST", path: "/sessions/:name/pane/move" }],
    ws: ["move_pane"],
  }),
  operation({
    name: "pane.update",
    scope: "layout",
    access: "operate",
    affects: "pane",
    grant: "own-panes",
    summary:
      "Change a pane's title, and whether it is kept after its program exits; a kept pane whose program has exited is closed",
    input: v.object({ title: ProgramFields.title, keep_after_exit: ProgramFields.keep_after_exit }),
    output: ArrangementSchema,
    errors: ["pane_not_found"],
    http: [{ method: "PATCH", path: "/sessions/:name/pane" }],
    ws: ["update_pane"],
  }),
  operation({
    name: "pane.respawn",
    scope: "layout",
    access: "operate",
    affects: "pane",
    ends: "programs",
    summary: "Restart a pane's program, or start another one",
    input: v.object(ProgramFields),
    check: requireNewProgram,
    output: v.object({ ...ArrangementSchema.entries, ended: EndedField }),
    errors: ["pane_not_found", ...startErrors],
    http: [{ method: "POST", path: "/sessions/:name/pane/respawn" }],
    ws: ["respawn_pane"],
  }),
] as const;
