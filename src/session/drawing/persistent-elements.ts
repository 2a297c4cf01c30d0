/**
 * Persistent elements (`persist`) in a checkpoint. Their creators are gone after a restore, so focus and an agent's alt
 * mode are not saved. Pure.
 */
import { type ElementState, noElements } from "./element.ts";

/** The persistent part of a session's elements. */
export function persistentElements({ elements, nextZ, created }: ElementState): ElementState {
  const persistent = elements.filter(({ persist }) => persist);
  return persistent.length === 0 ? noElements : { ...noElements, elements: persistent, nextZ: { ...nextZ }, created };
}

/** Whether there are persistent elements. Runs per change of the drawing. */
export function hasPersistentElements({ elements }: ElementState): boolean {
  return elements.some(({ persist }) => persist);
}
