/**
 * Persistent elements (`persist`) in a checkpoint: their creators are gone after a restore, so focus and an agent's alt
 * mode are not saved. Unreadable parts are left out. Pure.
 */
import * as v from "valibot";
import {
  BackgroundSchema,
  ElementScreenModeSchema,
  ElementSpanSchema,
  RegionWriteSchema,
} from "../../protocol/drawing.ts";
import { type ElementState, noElements } from "./element.ts";
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
const KeptSchema = v.variant("kind", [
  v.object({ ...common, kind: v.literal("overlay"), x: number, y: number, width: number }),
  v.object({ ...common, kind: v.literal("panel"), position: v.picklist(["top", "bottom"]) }),
]);
const StateSchema = v.object({
  elements: v.pipe(v.array(v.unknown()), v.maxLength(MAX_PERSISTENT)),
  nextZ: v.object({ overlay: number, panel: number }),
  created: number,
});

/** The persistent part of a session's elements. */
export function keptElements({ elements, nextZ, created }: ElementState): ElementState {
  const kept = elements.filter(({ persist }) => persist);
  return kept.length === 0 ? noElements : { ...noElements, elements: kept, nextZ: { ...nextZ }, created };
}

/** Whether there are persistent elements. Runs per change of the drawing. */
export function hasKept({ elements }: ElementState): boolean {
  return elements.some(({ persist }) => persist);
}

/** Parses them from a checkpoint. Never throws. */
export function parseKept(value: unknown): ElementState {
  const state = v.safeParse(StateSchema, value);
  if (!state.success) return noElements;
  const elements = state.output.elements.flatMap((each) => {
    const { success, output } = v.safeParse(KeptSchema, each);
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
  return { ...noElements, elements, nextZ, created };
}
