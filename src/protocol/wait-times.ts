/** Default and maximum waits of callers. */
import * as v from "valibot";

/** Longest wait or silence; larger values are capped without notice (docs/protocol.md, Conventions). */
export const MAX_WAIT_MS = 300_000;
/** Callers time out at 60 s; half of that leaves time for an answer. */
export const DEFAULT_WAIT_MS = 30_000;
/** Default silence that counts as idle (docs/protocol.md, Silence). */
export const DEFAULT_IDLE_MS = 2_000;

const clampWait = (ms: number): number => Math.min(MAX_WAIT_MS, ms);

/** A caller's duration: whole milliseconds, capped. */
export const WaitMsSchema = v.pipe(v.number(), v.integer(), v.minValue(0), v.transform(clampWait));
