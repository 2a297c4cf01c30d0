/** Operations on the windows of a session. */
import type { Handlers } from "../../../endpoint/operations/context.ts";
import type { OperationNameOf } from "../../../operations/table.ts";
import { defined } from "../../../protocol/defined.ts";
import { WshError } from "../../../protocol/errors.ts";
import { windowId } from "../../../protocol/names.ts";
import { takeWindowId } from "../../../registry/panes.ts";
import { moveWindow, windowBeside } from "../../../session/windows/changes.ts";
import { showFloats } from "../../../session/windows/floats.ts";
import {
  addWindow,
  focusWindow,
  paneEntry,
  panesIn,
  putWindow,
  requireFree,
  windowById,
} from "../../../session/windows/state.ts";
import { commitOrUndo, requireOne } from "./panes.ts";
import { answer, change, type LayoutCall, PROVISIONAL, runningIn, startPane } from "./subject.ts";

type WindowOperation = Extract<OperationNameOf<"layout">, `window.${string}`>;

export const windowHandlers: Pick<Handlers<"layout", LayoutCall>, WindowOperation> = {
  "window.list": async ({ parts: { content } }) => {
    await content.refresh();
    return content.windows();
  },
  "window.create": (call, { name, index, focus, ...program }) => {
    const { arrangement, session, instance, settings } = call.parts;
    return arrangement.change(async () => {
      session.requireRunning();
      const options = { focus, name: name ?? null, base: settings.base_index, ...defined({ index }) };
      addWindow(arrangement.state, 0, paneEntry(PROVISIONAL), options);
      const id = await takeWindowId(instance);
      const { entry, undo } = await startPane(call, program, id, arrangement.area);
      commitOrUndo(() => arrangement.commit(addWindow(arrangement.state, id, entry, options)), undo);
      return answer(call.parts, entry.id);
    });
  },
  "window.close": async ({ parts, place: { window } }, _, { target }) => {
    const { arrangement, session } = parts;
    requireOne(
      "window",
      target,
      arrangement.state.windows.map(({ id }) => windowId(id)),
    );
    const ended = runningIn(parts, window.id);
    if (arrangement.state.windows.length === 1) {
      await session.lifetime.kill("killed");
      return { closed: windowId(window.id), ended };
    }
    await arrangement.change(() => arrangement.close(panesIn(windowById(arrangement.state, window.id))));
    return { closed: windowId(window.id), ended };
  },
  "window.select": (call, { index, to }) => {
    const { arrangement } = call.parts;
    const { state } = arrangement;
    const id = to === undefined ? call.place.window.id : windowBeside(state, call.place.window.id, to);
    const found = index === undefined ? windowById(state, id) : state.windows.find((each) => each.index === index);
    if (found === undefined) throw new WshError("pane_not_found", `the session has no window ${index}`);
    return change(call, (now) => focusWindow(now, found.id), found.active);
  },
  "window.floats": (call, { shown, focus }) =>
    change(call, (state) => showFloats(state, call.place.window.id, shown ?? null, focus)),
  "window.update": (call, { name, index, synchronized }) =>
    change(call, (state) => {
      const { id } = call.place.window;
      if (index !== undefined) requireFree(state, index, id);
      const moved = index === undefined ? state : moveWindow(state, id, index);
      const window = windowById(moved, id);
      return putWindow(moved, {
        ...window,
        ...defined({ name, synchronized }),
      });
    }),
};
