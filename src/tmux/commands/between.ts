/** Windows that go to another session: their panes go one by one, and stand there as they stood. */
import { automaticName } from "../../protocol/session.ts";
import type { Session, Window } from "../model.ts";
import type { Run } from "../run.ts";
import { keepName } from "./start.ts";

/**
 * Moves a window, which gets another id there; callers of tmux see the same.
 * @param index its number there; null: the next free one
 * @returns the new window's target; `holder`: a window that keeps the session that it has left, which has no other
 */
export async function moveTo(
  run: Run,
  { id, info, name, target, panes }: Window,
  from: Session,
  { to, index, focus }: { readonly to: Session; readonly index: number | null; readonly focus: boolean },
): Promise<{ readonly window: string; readonly holder: string | null }> {
  const { call } = run.backend;
  const ask = call.bind(run.backend);
  const { windows } = await ask("layout.get", {}, from.target);
  const layout = windows.find(({ id }) => id === target)?.tmux;
  const [first, ...others] = panes;
  if (first === undefined) return { window: target, holder: null };
  // A session ends with its last pane.
  const made =
    from.windows.length === 1 ? await ask("window.create", { command: "cat", focus: false }, from.target) : null;
  const holder = made?.window ?? null;
  await ask("pane.move", { to: to.target, focus: false }, first.target);
  const { window } = await ask("pane.move", { to: null, ...(index === null ? {} : { index }), focus }, first.target);
  let last = first;
  for (const pane of others) {
    await ask("pane.move", { to: last.target, direction: "down", focus: false }, pane.target);
    last = pane;
  }
  if (layout !== undefined && others.length > 0) await ask("layout.set", { tmux: layout }, window);
  await run.refresh();
  await run.change((state) => {
    state.panes[window] = id.replace("@", "@w");
  });
  // One that is named by its program goes on to be.
  if (automaticName(panes.find((each) => each.info.active)?.info ?? first.info) === info.name)
    return { window, holder };
  await ask("window.update", { name: info.name }, window);
  await keepName(run, window, info.name, name);
  return { window, holder };
}
