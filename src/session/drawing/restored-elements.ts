/** Reads persistent elements from a checkpoint. Unreadable parts are omitted. Pure. */
import * as v from "valibot";
import {
  BackgroundSchema,
  ElementScreenModeSchema,
  ElementSpanSchema,
  RegionWriteSchema,
} from "../../protocol/drawing.ts";
import { noElements, type PersistentElements } from "./element.ts";
import { textBytes } from "./element-text.ts";

/** More than any session may have: a damaged file costs no more than a full one. */
const MAX_PERSISTENT = 10_000;

const number = v.pipe(v.number(), v.safeInteger());
const common = {
  id: v.string(),
  order: number,
  mode: ElementScreenModeSchema,
  focusable: v.boolean(),
  z: number,
  background: v.optional(BackgroundSchema),
  spans: v.array(ElementSpanSchema),
  writes: v.array(RegionWriteSchema),
  expiresAt: v.optional(v.number()),
  height: number,
};
const ElementSchema = v.variant("kind", [
  v.object({ ...common, kind: v.literal("overlay"), x: number, y: number, width: number }),
  v.object({ ...common, kind: v.literal("panel"), position: v.picklist(["top", "bottom"]) }),
]);
const StateSchema = v.object({
  elements: v.pipe(v.array(v.unknown()), v.maxLength(MAX_PERSISTENT)),
  nextZ: v.object({ overlay: number, panel: number }),
  created: number,
});

/** Parses them from a checkpoint. Never throws. */
export function parsePersistent(value: unknown): PersistentElements {
  const state = v.safeParse(StateSchema, value);
  if (!state.success) return noElements;
  const elements = state.output.elements.flatMap((each) => {
    const { success, output } = v.safeParse(ElementSchema, each);
    if (!success) return [];
    const { background, expiresAt } = output;
    const more = {
      background,
      expiresAt,
      ofAgentAlt: false,
      persist: true,
      bytes: textBytes(output.spans, output.writes),
    };
    return [output.kind === "panel" ? { ...output, ...more, visible: false } : { ...output, ...more }];
  });
  const { nextZ, created } = state.output;
  return { elements, nextZ, created };
}
