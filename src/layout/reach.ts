/**
 * Connects a layout process that takes over from a lost one, or serves a restored session, to the panes of the layout.
 * A pane leaves the layout only when its process is gone. One whose process is stopped, or too busy to answer, keeps its
 * place, is shown as unresponsive, and is tried again until it answers.
 */
import { orUntil } from "../base/deadline.ts";
import type { Logger } from "../instance/log/log.ts";
import { hostSocket, type Instance } from "../instance/paths.ts";
import { processState } from "../instance/registry/liveness.ts";
import { WshError } from "../protocol/errors.ts";
import { oldestFirst, windowWith } from "../session/windows/state.ts";
import type { Arrangement } from "./arrangement.ts";

/** Longest that the session waits for panes that do not answer while others do, in ms. */
const OTHERS_MS = 1_000;
/** Pause from one try to the next, in ms: at first, and at most. An unanswered try takes seconds by itself. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 15_000;
const EXIT_UNKNOWN = { code: null, signal: null, isLost: true } as const;

export interface ReachPort {
  readonly arrangement: Arrangement;
  readonly instance: Instance;
  readonly logger: Logger;
}

/** Resolves when every pane is connected or gone, or some are and the others keep it waiting. @throws WshError when all are gone */
export async function reachAll(port: ReachPort): Promise<void> {
  const { arrangement } = port;
  const all = oldestFirst(arrangement.state).map((pane) => reach(port, pane));
  const settled = Promise.all(all).then(() => {});
  await orUntil(settled, { ms: OTHERS_MS }, () => {});
  if (arrangement.links.size === 0) await Promise.race([settled, Promise.any(all.map(whenTrue))]).catch(() => {});
  if (arrangement.links.size === 0) throw new WshError("session_not_found", "no pane of the session lives");
}

async function whenTrue(answer: Promise<boolean>): Promise<void> {
  if (!(await answer)) throw new Error("the pane is gone");
}

/** @returns false when its process is gone, and the pane with it */
async function reach({ arrangement, instance, logger }: ReachPort, pane: string): Promise<boolean> {
  const socket = hostSocket(instance, Number(pane.slice(1)));
  const isThere = (): boolean => arrangement.state.panes[pane] !== undefined;
  for (let pause = FIRST_PAUSE_MS; isThere(); pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      const { state } = arrangement;
      const box = arrangement.placementOf(windowWith(state, pane)).boxes.get(pane);
      await arrangement.connect(pane, socket, box ?? { rows: 24, cols: 80 }, state.panes[pane]?.view != null);
      if (isThere()) {
        // The window may have another size by now.
        arrangement.place();
        return true;
      }
      arrangement.links.get(pane)?.close();
      arrangement.forget(pane);
    } catch (thrown) {
      const error = WshError.from(thrown);
      if (error.code === "session_not_found" && processState(socket) !== "alive") {
        logger.warn("a pane is gone", { pane, error });
        await arrangement.change(() => {
          if (isThere()) arrangement.remove(pane, EXIT_UNKNOWN);
        });
        return false;
      }
      if (pause === FIRST_PAUSE_MS) logger.warn("a pane does not answer: it is tried again", { pane, error });
      await Bun.sleep(pause);
    }
  }
  return false;
}
