/** Starting a pane's program again: used for panes and for windows. */
import { TmuxError } from "../error.ts";
import type { Place } from "../model.ts";
import type { Arguments } from "../parse/arguments.ts";
import type { Run } from "../run.ts";
import { programOf } from "./start.ts";

/** Starts a pane's program again, or another one: wsh gives that another id, which is shown as the one before. */
export async function respawn(run: Run, args: Arguments, place: Place): Promise<void> {
  const { session, window, pane } = place;
  if (!args.has("k") && pane.info.state !== "exited") {
    throw new TmuxError(`respawn pane failed: pane ${session.name}:${window.index}.${pane.index} still active`);
  }
  const program = await programOf(run, args, place);
  const isSame = program.command === null && !args.has("c") && !args.has("e");
  const { keep_after_exit: _, ...started } = program;
  // Read before the change, which leaves out what belongs to dead panes.
  const { own: options, marked } = (await run.load()).state;
  const { pane: now } = await run.backend.call("pane.respawn", isSame ? {} : started, pane.target);
  await run.refresh();
  if (now === pane.target) return;
  await run.change((state) => {
    state.panes[now] = pane.id.replace("%", "@");
    const own = options[pane.target];
    if (own !== undefined) state.own[now] = own;
    if (marked === pane.target) state.marked = now;
  });
}
