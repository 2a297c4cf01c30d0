/**
 * Persistent elements (`persist`) in a checkpoint. Their creators are gone after a restore, so focus and an agent's alt
 * mode are not saved. Pure.
 */
import { type ElementState, noElements } from "./element.ts";

/** The persistent part of a session's elements. */
export function keptElements({ elements, nextZ, created }: ElementState): ElementState {
  const kept = elements.filter(({ persist }) => persist);
  return kept.length === 0 ? noElements : { ...noElements, elements: kept, nextZ: { ...nextZ }, created };
}

/** Whether there are persistent elements. Runs per change of the drawing. */
export function hasKept({ elements }: ElementState): boolean {
  return elements.some(({ persist }) => persist);
}
