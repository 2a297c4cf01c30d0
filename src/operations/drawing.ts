/** Operations on overlays, panels and the keyboard of a session (docs/protocol.md, Drawing). */
import * as v from "valibot";
import {
  BatchUpdateSchema,
  CreateOverlaySchema,
  CreatePanelSchema,
  OverlaySchema,
  PanelSchema,
  PatchOverlaySchema,
  PatchPanelSchema,
  RegionWritesSchema,
  ReplaceOverlaySchema,
  ReplacePanelSchema,
  UpdateSpansSchema,
} from "../protocol/drawing.ts";
import { described, integerBetween, integerFrom, optional } from "../protocol/fields.ts";
import { WaitMsSchema } from "../protocol/wait-times.ts";
import { operation } from "./define.ts";
import { NothingSchema } from "./sessions.ts";

const IdSchema = v.object({ id: described(v.string(), "id of the overlay or panel") });
const CreatedSchema = v.object({ id: v.string() });
const ScreenModeSchema = v.object({ mode: v.picklist(["normal", "alt"]) });

/** Longest keyboard lease of a caller without a connection, in ms: ten minutes. */
const MAX_LEASE_MS = 600_000;
/** Default lease, in ms (docs/protocol.md, Keyboard). */
const DEFAULT_LEASE_MS = 120_000;

/** A key that a person pressed while the keyboard was captured. */
const CapturedKeySchema = v.object({
  /** Position in the ring; pass the last one as `since`. */
  seq: v.number(),
  raw: v.array(v.number()),
  parsed: v.nullable(v.object({ key: v.string(), modifiers: v.array(v.string()) })),
  target: v.optional(v.string()),
});

const InputModeSchema = v.object({
  mode: v.picklist(["passthrough", "capture"]),
  /** The holder of the keyboard. */
  owner: v.optional(v.string()),
  /** Remaining time of a lease, in ms; absent when the owner is a connection. */
  lease_ms: v.optional(v.number()),
});

const drawing = { scope: "session", subject: "named" } as const;

/** Makes the operations common to overlays and panels, from their schemas and the differing words. */
function drawnOperations<
  const K extends "overlay" | "panel",
  C extends v.GenericSchema,
  D extends v.GenericSchema,
  E extends v.GenericSchema,
  R extends v.GenericSchema,
  P extends v.GenericSchema,
>(
  kind: K,
  /** The noun with its article. */
  one: string,
  schemas: { readonly create: C; readonly created: D; readonly element: E; readonly replace: R; readonly patch: P },
  summaries: { readonly create: string; readonly list: string; readonly replace: string; readonly patch: string },
) {
  const all = `/sessions/:name/${kind}`;
  const each = `${all}/:id`;
  const lookUp = [`${kind}_not_found`] as const;
  const change = [`${kind}_not_found`, "invalid_overlay"] as const;
  return [
    operation({
      name: `${kind}.create`,
      ...drawing,
      access: "operate",
      summary: summaries.create,
      input: schemas.create,
      output: schemas.created,
      errors: ["resource_limit_reached", "session_ended"],
      http: [{ method: "POST", path: all, status: 201 }],
      ws: [`create_${kind}`],
    }),
    operation({
      name: `${kind}.list`,
      ...drawing,
      access: "observe",
      summary: summaries.list,
      input: NothingSchema,
      output: v.array(schemas.element),
      http: [{ method: "GET", path: all }],
      ws: [`list_${kind}s`],
    }),
    operation({
      name: `${kind}.get`,
      ...drawing,
      access: "observe",
      summary: `One ${kind}`,
      input: IdSchema,
      output: schemas.element,
      errors: lookUp,
      http: [{ method: "GET", path: each }],
      ws: [`get_${kind}`],
    }),
    operation({
      name: `${kind}.replace`,
      ...drawing,
      access: "operate",
      summary: summaries.replace,
      input: v.intersect([IdSchema, schemas.replace]),
      output: NothingSchema,
      errors: change,
      http: [{ method: "PUT", path: each, status: 204 }],
      ws: [`update_${kind}`],
    }),
    operation({
      name: `${kind}.patch`,
      ...drawing,
      access: "operate",
      summary: summaries.patch,
      input: v.intersect([IdSchema, schemas.patch]),
      output: NothingSchema,
      errors: change,
      http: [{ method: "PATCH", path: each, status: 204 }],
      ws: [`patch_${kind}`],
    }),
    operation({
      name: `${kind}.spans`,
      ...drawing,
      access: "operate",
      summary: `Update ${one}'s spans by their ids`,
      input: v.intersect([IdSchema, UpdateSpansSchema]),
      output: NothingSchema,
      errors: change,
      http: [{ method: "POST", path: `${each}/spans`, status: 204 }],
      ws: [`update_${kind}_spans`],
    }),
    operation({
      name: `${kind}.write`,
      ...drawing,
      access: "operate",
      summary: `Write text at places inside ${one}; an empty list clears`,
      input: v.intersect([IdSchema, RegionWritesSchema]),
      output: NothingSchema,
      errors: change,
      http: [{ method: "POST", path: `${each}/write`, status: 204 }],
      ws: [`${kind}_region_write`],
    }),
    operation({
      name: `${kind}.delete`,
      ...drawing,
      access: "operate",
      summary: `Remove ${one}`,
      input: IdSchema,
      output: NothingSchema,
      errors: lookUp,
      http: [{ method: "DELETE", path: each, status: 204 }],
      ws: [`delete_${kind}`],
    }),
    operation({
      name: `${kind}.clear`,
      ...drawing,
      access: "operate",
      summary: `Remove all ${kind}s, of both screen modes`,
      input: NothingSchema,
      output: NothingSchema,
      http: [{ method: "DELETE", path: all, status: 204 }],
      ws: [`clear_${kind}s`],
    }),
  ] as const;
}

export const elementOperations = [
  ...drawnOperations(
    "overlay",
    "an overlay",
    {
      create: CreateOverlaySchema,
      created: CreatedSchema,
      element: OverlaySchema,
      replace: ReplaceOverlaySchema,
      patch: PatchOverlaySchema,
    },
    {
      create: "Draw a box above the terminal",
      list: "Overlays of the current screen mode, lowest first",
      replace: "Replace an overlay's spans",
      patch: "Change the given fields of an overlay at once: position, size, style, spans, focusable",
    },
  ),
  ...drawnOperations(
    "panel",
    "a panel",
    {
      create: CreatePanelSchema,
      created: v.object({ id: v.string(), visible: v.boolean(), rows: v.number(), cols: v.number() }),
      element: PanelSchema,
      replace: ReplacePanelSchema,
      patch: PatchPanelSchema,
    },
    {
      create: "Add a panel in rows at the top or bottom; the program gets the other rows",
      list: "Panels of the current screen mode, top first",
      replace: "Replace a panel's place and spans",
      patch: "Change a panel's place, colour or spans",
    },
  ),
  operation({
    name: "element.batch",
    ...drawing,
    access: "operate",
    summary: "Update spans and write text of one overlay or panel in one step",
    input: BatchUpdateSchema,
    output: NothingSchema,
    errors: ["overlay_not_found", "panel_not_found", "invalid_overlay"],
    ws: ["batch_update"],
  }),
  operation({
    name: "input.mode",
    scope: "session",
    access: "observe",
    summary: "Whether a person's keys go to the program or are captured",
    input: NothingSchema,
    output: InputModeSchema,
    http: [{ method: "GET", path: "/sessions/:name/input/mode" }],
    ws: ["get_input_mode"],
  }),
  operation({
    name: "input.capture",
    scope: "session",
    access: "operate",
    summary: "Capture the keyboard: keys go to subscribers, not to the program",
    input: v.object({
      lease_ms: optional(
        integerBetween(1, MAX_LEASE_MS),
        "duration for a caller without a connection, unless renewed by capture or a key read",
        DEFAULT_LEASE_MS,
      ),
    }),
    output: v.object({
      ...InputModeSchema.entries,
      /** Sequence number of the last key before the unread ones. */
      seq: v.number(),
    }),
    errors: ["input_captured", "session_ended"],
    http: [{ method: "POST", path: "/sessions/:name/input/capture", status: 204 }],
    ws: ["capture_input"],
  }),
  operation({
    name: "input.release",
    scope: "session",
    access: "operate",
    summary: "Release the keyboard to the program; clears the focus",
    input: NothingSchema,
    output: NothingSchema,
    http: [{ method: "POST", path: "/sessions/:name/input/release", status: 204 }],
    ws: ["release_input"],
  }),
  operation({
    name: "input.keys",
    scope: "session",
    access: "operate",
    lasts: "program",
    summary: "Captured keys after a place in the ring of the newest 256",
    input: v.object({
      since: optional(integerFrom(0), "seq of the last key read; absent: the caller's own"),
      wait_ms: optional(WaitMsSchema, "wait this long for a key", 0),
    }),
    output: v.object({ keys: v.array(CapturedKeySchema), seq: v.number(), missed: v.number(), mode: v.string() }),
    http: [{ method: "GET", path: "/sessions/:name/input/keys" }],
    ws: ["get_captured_keys"],
  }),
  operation({
    name: "focus.get",
    ...drawing,
    access: "observe",
    summary: "The overlay or panel that receives captured keys",
    input: NothingSchema,
    output: v.object({ focused: v.nullable(v.string()) }),
    http: [{ method: "GET", path: "/sessions/:name/input/focus" }],
    ws: ["get_focus"],
  }),
  operation({
    name: "focus.set",
    ...drawing,
    access: "operate",
    summary: "Focus an overlay or panel for captured keys",
    input: IdSchema,
    output: NothingSchema,
    errors: ["not_focusable"],
    http: [{ method: "POST", path: "/sessions/:name/input/focus", status: 204 }],
    ws: ["focus"],
  }),
  operation({
    name: "focus.unset",
    ...drawing,
    access: "operate",
    summary: "Clear the focus of captured keys",
    input: NothingSchema,
    output: NothingSchema,
    http: [{ method: "POST", path: "/sessions/:name/input/unfocus", status: 204 }],
    ws: ["unfocus"],
  }),
  operation({
    name: "screen_mode.get",
    ...drawing,
    access: "observe",
    summary: "The displayed set of overlays and panels",
    input: NothingSchema,
    output: ScreenModeSchema,
    http: [{ method: "GET", path: "/sessions/:name/screen_mode" }],
    ws: ["get_screen_mode"],
  }),
  operation({
    name: "screen_mode.enter_alt",
    ...drawing,
    access: "operate",
    summary: "Show a set of overlays and panels of its own",
    input: NothingSchema,
    output: ScreenModeSchema,
    errors: ["already_in_alt_screen"],
    http: [{ method: "POST", path: "/sessions/:name/screen_mode/enter_alt", status: 204 }],
    ws: ["enter_alt_screen"],
  }),
  operation({
    name: "screen_mode.exit_alt",
    ...drawing,
    access: "operate",
    summary: "Remove that set and show the normal one again",
    input: NothingSchema,
    output: ScreenModeSchema,
    errors: ["not_in_alt_screen"],
    http: [{ method: "POST", path: "/sessions/:name/screen_mode/exit_alt", status: 204 }],
    ws: ["exit_alt_screen"],
  }),
] as const;
