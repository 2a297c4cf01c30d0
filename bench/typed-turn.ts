/** A turn of typing at a terminal whose program echoes: the same keys for every measure and peer. */
import type { Window } from "./window.ts";

/** Keys of one turn: peers take turns, so that a busy moment of the machine meets everyone. */
export const KEYS = 60;

/** Types the keys of a turn, one by one with a pause of `pauseMs` between. @returns how long each took to come back, in ms */
export async function turn(window: Window, pauseMs: number): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < KEYS; at++) {
    // Capital letters: floods print digits, and a status line drawn in between has no single capital.
    const key = String.fromCharCode(65 + (at % 26));
    const seen = window.next(key);
    const typed = performance.now();
    window.type(key);
    times.push((await seen) - typed);
    await Bun.sleep(pauseMs);
  }
  // Lines have a limited length, as people's do.
  window.type("\r\n");
  await Bun.sleep(pauseMs);
  return times;
}
