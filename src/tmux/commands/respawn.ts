/** Restarts a pane's program, for respawn-pane and respawn-window. */
import { TmuxError } from "../error.ts";
import type { ResolvedTarget } from "../model.ts";
import type { Arguments } from "../parse/arguments.ts";
import type { Run } from "../run.ts";
import { programOf } from "./start.ts";

/**
 * Restarts a pane's program, or starts another one. wsh gives the new pane another id; tmux callers see the earlier
 * one.
 */
export async function respawn(run: Run, args: Arguments, place: ResolvedTarget): Promise<void> {
  const { session, window, pane } = place;
  if (!args.has("k") && pane.info.state !== "exited") {
    throw new TmuxError(`respawn pane failed: pane ${session.name}:${window.index}.${pane.index} still active`);
  }
  // Options that the caller omits keep their earlier values, except variables.
  const before = await run.backend.terminal(pane.target);
  const { keep_after_exit: _, ...program } = await programOf(run, args, place);
  const started = {
    ...program,
    cwd: args.has("c") ? program.cwd : before.start_path,
    command: args.words.length > 0 ? program.command : before.start_command,
  };
  // Read before the change, which removes the state of dead panes.
  const { own: options, marked, pipes } = (await run.load()).state;
  const { pane: now } = await run.backend.call("pane.respawn", started, pane.target);
  await run.refresh();
  if (now === pane.target) return;
  await run.change((state) => {
    state.panes[now] = pane.id.replace("%", "@");
    const own = options[pane.target];
    if (own !== undefined) state.own[now] = own;
    const pipe = pipes[pane.target];
    if (pipe !== undefined) state.pipes[now] = pipe;
    if (marked === pane.target) state.marked = now;
  });
}
