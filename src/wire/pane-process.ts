/** The process that has a pane: views in other sessions forward calls to it. */
import * as v from "valibot";
import { WshError } from "../protocol/errors.ts";

export const PaneProcessSchema = v.object({ pane: v.string(), socket: v.string() });
export type PaneProcess = v.InferOutput<typeof PaneProcessSchema>;

/** Maximum processes per call: a session's, then that of a view; the pane may move meanwhile. */
const MAX_HOPS = 8;

/**
 * Calls a process; while it answers that the pane has moved, calls the process that has it now.
 * @param ask gets null for the first process
 * @throws the last process's error
 */
export async function followPane<T>(ask: (owner: PaneProcess | null) => Promise<T>): Promise<T> {
  let owner: PaneProcess | null = null;
  for (let hop = 1; ; hop++) {
    try {
      return await ask(owner);
    } catch (thrown) {
      const { code, details } = WshError.from(thrown);
      const moved = code === "moved" ? v.safeParse(PaneProcessSchema, details) : null;
      if (moved?.success !== true || hop === MAX_HOPS) throw thrown;
      owner = moved.output;
    }
  }
}
