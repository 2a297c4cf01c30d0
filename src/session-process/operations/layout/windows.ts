/** Operations on the windows of a session. */
import type { Handlers } from "../../../endpoint/operations/context.ts";
import { isWithinSession } from "../../../operations/rights.ts";
import type { OperationNameOf } from "../../../operations/table.ts";
import { defined } from "../../../protocol/defined.ts";
import { parseTarget, windowId } from "../../../protocol/names.ts";
import { windowDestination } from "../../../protocol/window-destination.ts";
import { takeWindowId } from "../../../registry/panes.ts";
import { windowBeside } from "../../../session/windows/changes.ts";
import { showFloats } from "../../../session/windows/floats.ts";
import { makeRoom, moveWindow, swapWindows } from "../../../session/windows/order.ts";
import {
  addWindow,
  focusWindow,
  noWindow,
  paneEntry,
  panesIn,
  putWindow,
  type Windows,
  windowById,
} from "../../../session/windows/state.ts";
import { commitOrUndo, requireNamed } from "./panes.ts";
import { answer, change, isElsewhere, type LayoutCall, PROVISIONAL, runningIn, startPane } from "./subject.ts";

type WindowOperation = Extract<OperationNameOf<"layout">, `window.${string}`>;

export const windowHandlers: Pick<Handlers<"layout", LayoutCall>, WindowOperation> = {
  "window.list": async ({ parts: { content } }) => {
    await content.refresh();
    return content.windows();
  },
  "window.create": (call, { name, index, make_room: room, focus, ...program }) => {
    const { arrangement, session, instance, settings } = call.parts;
    return arrangement.change(async () => {
      session.requireRunning();
      const options = { focus, name: name ?? null, base: settings.base_index, ...defined({ index }) };
      const withRoom = (): Windows =>
        room && index !== undefined ? makeRoom(arrangement.state, index) : arrangement.state;
      addWindow(withRoom(), 0, paneEntry(PROVISIONAL), options);
      const id = await takeWindowId(instance);
      const { entry, undo } = await startPane(call, program, id, arrangement.area);
      commitOrUndo(() => arrangement.commit(addWindow(withRoom(), id, entry, options)), undo);
      return answer(call.parts, entry.id, call.isAnswered);
    });
  },
  "window.close": async ({ parts, subject: { window } }, _, { target }) => {
    const { arrangement, session } = parts;
    requireNamed(
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
    const id = to === undefined ? call.subject.window.id : windowBeside(state, call.subject.window.id, to);
    const window = index === undefined ? windowById(state, id) : state.windows.find((each) => each.index === index);
    if (window === undefined) throw noWindow(String(index));
    return change(call, (now) => focusWindow(now, window.id), window.active);
  },
  "window.floats": (call, { shown, focus }) =>
    change(call, (state) => showFloats(state, call.subject.window.id, shown ?? null, focus)),
  "window.update": (call, { name, index, synchronized }) =>
    change(call, (state) => {
      const { id } = call.subject.window;
      const moved = index === undefined ? state : moveWindow(state, id, { ...defaultPlacement(call), index });
      const window = windowById(moved, id);
      return putWindow(moved, {
        ...window,
        ...defined({ name, synchronized }),
      });
    }),
  "window.move": (call, { to, index: givenIndex, make_room: makeRoom, focus }) => {
    const { parts, subject } = call;
    const { id } = subject.window;
    const { target, index } = destinationOf(parts, to ?? null, givenIndex ?? null);
    const placement = { index, makeRoom, focus };
    if (target === null)
      return change(call, (state) => moveWindow(state, id, { ...defaultPlacement(call), ...placement }));
    return loadMoving(parts, ({ moveWindowAway }) => moveWindowAway(parts, id, target, placement));
  },
  "window.swap": (call, { with: other }) => {
    const { parts, subject } = call;
    const { id } = subject.window;
    const { state } = parts.arrangement;
    if (!isWithinSession(other) && isElsewhere(parts, parseTarget(other))) {
      return loadMoving(parts, ({ swapWindowAway }) => swapWindowAway(parts, id, other));
    }
    const index = Number(other);
    const window = !isWithinSession(other)
      ? parts.findSubject(other).window.id
      : other === "next" || other === "previous" || other === "last"
        ? windowBeside(state, id, other)
        : state.windows.find((each) => each.index === index)?.id;
    if (window === undefined) throw noWindow(other);
    return change(call, (now) => swapWindows(now, id, window));
  },
};

/** The default placement of a window in its session. */
function defaultPlacement({ parts }: LayoutCall) {
  return { index: null, base: parts.settings.base_index, makeRoom: false, focus: false };
}

/** Destination of a window. `target`: the other session; null: this one. @throws WshError invalid_request */
function destinationOf(
  parts: LayoutCall["parts"],
  to: string | null,
  givenIndex: number | null,
): { readonly target: string | null; readonly index: number | null } {
  const { session, index } = windowDestination(to, givenIndex);
  return { target: session !== null && isElsewhere(parts, parseTarget(session)) ? session : null, index };
}

/** Loaded when a window first moves to another session. */
async function loadMoving<T>(
  { arrangement }: LayoutCall["parts"],
  act: (moving: typeof import("../../panes/moving-windows.ts")) => Promise<T>,
): Promise<T> {
  const { retryCrossingMoves } = await import("../../panes/moving.ts");
  const moving = await import("../../panes/moving-windows.ts");
  return retryCrossingMoves(() => arrangement.change(() => act(moving)));
}
