/** Tools that draw for people, and capture their keys for a dialog. */
import * as v from "valibot";
import type { JsonSchema } from "../../operations/json-schema.ts";
import { inputSchema } from "../../operations/table.ts";
import { defined } from "../../protocol/defined.ts";
import { CreateOverlaySchema, CreatePanelSchema, ElementScreenModeSchema } from "../../protocol/drawing.ts";
import { WshError } from "../../protocol/errors.ts";
import { optional } from "../../protocol/fields.ts";
import { type Ask, done, TargetField, tool } from "./tool.ts";

const [overlayFields] = CreateOverlaySchema.pipe;
const [panelFields] = CreatePanelSchema.pipe;
const keys = inputSchema("input.keys").entries;

/** A colour and a span have many forms; a model needs them described once, in words. */
const overlaySchemas: Readonly<Record<string, JsonSchema>> = {
  background: { description: "name, #rrggbb or {r,g,b}" },
  spans: {
    type: "array",
    items: { type: "object" },
    description: "{text, fg?, bg?, bold?, italic?, underline?}; \\n begins a line",
  },
};

/** For tools after the description. */
const panelSchemas: typeof overlaySchemas = {
  background: {},
  spans: { type: "array", items: { type: "object" } },
};

const IdField = optional(v.string(), "change this one");
const ListField = optional(v.boolean(), "only list", false);
/** Fields of both kinds; ids and places precede them. */
const commonFields = {
  list: ListField,
  focusable: optional(v.boolean(), "can get captured keys"),
  ttl_ms: optional(v.number(), "lifetime"),
  persist: optional(v.boolean(), "survives a crash"),
  screen_mode: optional(ElementScreenModeSchema, "alt: over full-screen programs"),
};
const RemoveIdField = optional(v.string(), "absent: all");

/** @throws WshError invalid_request naming the missing property of a new element */
function requireField<T>(value: T | null | undefined, name: string): T {
  if (value !== null && value !== undefined) return value;
  throw new WshError("invalid_request", `a new element needs '${name}'`, {
    hint: "Give it, or the id of an element that exists.",
  });
}

/** Rights and hints of tools that draw. */
const draws = {
  core: false,
  access: "operate",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
} as const;

function removalTool(kind: "overlay" | "panel", description: string) {
  return tool({
    name: `wsh_remove_${kind}`,
    title: `Remove ${kind}s`,
    description,
    core: false,
    access: "operate",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    parameters: v.object({ session: TargetField, id: RemoveIdField }),
    output: v.object({ success: v.boolean(), status: v.string() }),
    run: async ({ session, id }, ask) => {
      if (id === undefined) await ask(`${kind}.clear`, {}, session);
      else await ask(`${kind}.delete`, { id }, session);
      return id === undefined ? { ...done, status: "cleared" } : { ...done, status: "removed", id };
    },
  });
}

export const overlay = tool({
  name: "wsh_overlay",
  title: "Draw an overlay",
  description:
    "A box over attached people's terminals: a notice or dialog. Without id it is made (x, y, width, height).",
  ...draws,
  parameters: v.object({
    session: TargetField,
    id: IdField,
    x: optional(overlayFields.entries.x, "column, from 0"),
    y: optional(overlayFields.entries.y, "row, from 0"),
    z: optional(v.number(), "higher is in front"),
    width: optional(overlayFields.entries.width, "cells"),
    height: optional(overlayFields.entries.height, "rows"),
    background: overlayFields.entries.background,
    spans: v.optional(overlayFields.entries.spans),
    ...commonFields,
  }),
  schemaOverrides: overlaySchemas,
  unlisted: ["persist", "screen_mode"],
  output: v.object({
    status: v.optional(v.string()),
    id: v.optional(v.string()),
    overlays: v.optional(v.array(v.unknown())),
  }),
  run: async ({ session, list, id, spans, focusable, ...rest }, ask) => {
    if (list) return { overlays: await ask("overlay.list", {}, session) };
    if (id === undefined) {
      const { x, y, width, height, ...style } = rest;
      const box = {
        x: requireField(x, "x"),
        y: requireField(y, "y"),
        width: requireField(width, "width"),
        height: requireField(height, "height"),
      };
      const created = await ask("overlay.create", { ...style, ...box, focusable, spans: spans ?? [] }, session);
      return { ...done, status: "created", ...created };
    }
    await ask("overlay.patch", { id, spans, focusable, ...rest }, session);
    return { ...done, status: "updated", id };
  },
});

export const removeOverlay = removalTool("overlay", "Remove an overlay, or all.");

export const panel = tool({
  name: "wsh_panel",
  title: "Draw a panel",
  description:
    "A strip at the edge of attached people's terminals, for lasting status; the program gets the other rows. " +
    "Without id it is made (position, height). More as of wsh_overlay.",
  ...draws,
  parameters: v.object({
    session: TargetField,
    id: IdField,
    position: optional(panelFields.entries.position, "edge"),
    height: v.optional(panelFields.entries.height),
    z: v.optional(v.number()),
    background: panelFields.entries.background,
    spans: panelFields.entries.spans,
    ...commonFields,
  }),
  schemaOverrides: { ...panelSchemas, height: { type: "integer" } },
  unlisted: ["persist", "screen_mode", "ttl_ms", "z", "focusable"],
  output: v.object({
    status: v.optional(v.string()),
    id: v.optional(v.string()),
    visible: v.optional(v.boolean()),
    rows: v.optional(v.number()),
    cols: v.optional(v.number()),
    panels: v.optional(v.array(v.unknown())),
  }),
  run: async ({ session, list, id, focusable, ...rest }, ask) => {
    if (list) return { panels: await ask("panel.list", {}, session) };
    if (id !== undefined) {
      await ask("panel.patch", { id, focusable, ...rest }, session);
      return { ...done, status: "updated", id, ...(await roomLeft(ask, session, id)) };
    }
    const { position, height, ...style } = rest;
    const place = { position: requireField(position, "position"), height: requireField(height, "height") };
    const created = await ask("panel.create", { ...style, ...place, focusable }, session);
    return { ...done, status: "created", ...created };
  },
});

/** Whether the panel is visible, and the program's remaining rows. */
async function roomLeft(ask: Ask, session: string, id: string) {
  const [{ visible }, info] = await Promise.all([ask("panel.get", { id }, session), ask("session.get", {}, session)]);
  const pane = info.windows.find((window) => window.active)?.panes.find((candidate) => candidate.active);
  return { visible, rows: pane?.rows ?? info.rows, cols: pane?.cols ?? info.cols };
}

export const removePanel = removalTool("panel", "Remove a panel, or all.");

export const inputMode = tool({
  name: "wsh_input_mode",
  title: "Capture keys",
  description:
    "capture: keys of attached people go to you, not to the program, for a dialog that you have drawn. Always " +
    "release it. read: the unread keys (or those after since, a seq).",
  ...draws,
  parameters: v.object({
    session: TargetField,
    mode: optional(v.picklist(["capture", "release"]), "the keyboard"),
    focus: v.optional(v.string()),
    unfocus: optional(v.boolean(), "end that", false),
    read: optional(v.boolean(), "return keys", false),
    since: keys.since,
    wait_ms: keys.wait_ms,
    lease_ms: inputSchema("input.capture").entries.lease_ms,
  }),
  schemaOverrides: {
    focus: { type: "string", description: "id of a focusable overlay or panel" },
    since: { type: "integer" },
    wait_ms: { type: "integer", default: 0, description: "for a key" },
    lease_ms: { type: "integer", default: 120_000, description: "longest capture" },
  },
  output: v.object({
    mode: v.string(),
    focused_element: v.nullable(v.string()),
    keys: v.optional(v.array(v.unknown())),
    seq: v.optional(v.number()),
  }),
  run: async ({ session, mode, focus, unfocus, read, since, wait_ms, lease_ms }, ask) => {
    if (focus !== undefined && unfocus) {
      throw new WshError("invalid_request", "'focus' and 'unfocus' cannot be used together", {
        hint: "Give one of the two.",
      });
    }
    const before = mode === "capture" && focus !== undefined ? await ask("input.mode", {}, session) : undefined;
    const capture = mode === "capture" ? await ask("input.capture", { lease_ms }, session) : undefined;
    if (mode === "release") await ask("input.release", {}, session);
    try {
      if (focus !== undefined) await ask("focus.set", { id: focus }, session);
    } catch (thrown) {
      // Keys captured for an element that does not exist would reach nothing.
      if (before?.mode === "passthrough") await ask("input.release", {}, session);
      throw thrown;
    }
    if (unfocus) await ask("focus.unset", {}, session);
    const position = defined({ since });
    const captured = read ? await ask("input.keys", { ...position, wait_ms }, session) : {};
    const [now, { focused }] = await Promise.all([ask("input.mode", {}, session), ask("focus.get", {}, session)]);
    return { ...(capture === undefined ? {} : { seq: capture.seq }), ...captured, ...now, focused_element: focused };
  },
});

export const screenMode = tool({
  name: "wsh_screen_mode",
  title: "Alternate set of drawings",
  description: "enter_alt begins a separate set of overlays and panels, exit_alt ends it. Without action: the mode.",
  ...draws,
  parameters: v.object({ session: TargetField, action: v.optional(v.picklist(["enter_alt", "exit_alt"])) }),
  output: v.object({ mode: v.string() }),
  run: async ({ session, action }, ask) =>
    action === undefined ? ask("screen_mode.get", {}, session) : ask(`screen_mode.${action}`, {}, session),
});
