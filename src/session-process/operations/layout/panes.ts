/** Operations on the panes of a session with several. */
import type { Handlers } from "../../../endpoint/operations/context.ts";
import type { OperationNameOf } from "../../../operations/table.ts";
import { defined } from "../../../protocol/defined.ts";
import { WshError } from "../../../protocol/errors.ts";
import type { Arrangement as Answer, PaneProgram } from "../../../protocol/layout.ts";
import { parseTarget } from "../../../protocol/names.ts";
import type { Size } from "../../../protocol/size.ts";
import { takeWindowId } from "../../../registry/panes.ts";
import {
  addSplit,
  applyResize,
  breakPane,
  joinPane,
  renamePanes,
  type SplitChange,
  showPane,
  swapPanes,
  tilePane,
  zoomPane,
} from "../../../session/windows/changes.ts";
import { float as makeFloat, moveFloat } from "../../../session/windows/floats.ts";
import {
  floatOf,
  paneEntry,
  panesIn,
  placementOf,
  putPane,
  putWindow,
  type Windows,
  windowById,
  windowWith,
} from "../../../session/windows/state.ts";
import { boundsOf, floatChange } from "./bounds.ts";
import {
  amount,
  answer,
  change,
  isElsewhere,
  type LayoutCall,
  otherPane,
  type PaneUse,
  PROVISIONAL,
  runningIn,
  startPane,
} from "./subject.ts";

type PaneOperation = Extract<OperationNameOf<"layout">, `pane.${string}`>;

export const layoutPaneHandlers: Pick<Handlers<"layout", LayoutCall>, PaneOperation> = {
  "pane.list": async ({ parts: { content } }) => {
    await content.refresh();
    return content.windows().flatMap(({ id, panes }) => panes.map((pane) => ({ ...pane, window: id })));
  },
  "pane.split": (call, { direction, cells, percent, whole, focus, float, x, y, width, height, ...program }) => {
    const size = amount(cells, percent);
    const placing = { whole, focus, ...defined({ size, float: floatChange(float, { x, y, width, height }) }) };
    return call.parts.arrangement.change(() =>
      openPane(call, program, { pane: call.subject.pane, side: direction, ...placing }),
    );
  },
  "pane.float": (call, { on, hidden, direction, by, ...bounds }) => {
    const { pane } = call.subject;
    return change(call, (state, area) => {
      const entry = floatOf(windowWith(state, pane), pane);
      const change = { ...boundsOf(bounds), ...defined({ hidden }), ...(on === true ? { popup: false } : {}) };
      const isChange = Object.keys(change).length > 0 || direction !== undefined;
      if (on === false || (on === undefined && !isChange && entry !== null)) {
        return tilePane(state, pane, area);
      }
      const floated = makeFloat(state, pane, change, area);
      return direction === undefined ? floated : moveFloat(floated, pane, direction, by, area);
    });
  },
  "pane.close": async ({ parts, subject: { pane, window } }, _, { target }) => {
    const { arrangement, session } = parts;
    requireNamed("pane", target, Object.keys(arrangement.state.panes), panesIn(window));
    const ended = runningIn(parts, window.id, pane);
    if (Object.keys(arrangement.state.panes).length === 1) {
      await session.lifetime.kill("killed");
      return { closed: pane, ended };
    }
    await arrangement.change(() => arrangement.close([pane]));
    return { closed: pane, ended };
  },
  "pane.select": (call, { to }) => {
    const pane = to === undefined ? call.subject.pane : otherPane(call, to);
    return change(call, (state) => showPane(state, pane), pane);
  },
  "pane.resize": (call, { direction, by, rows, cols, rows_percent, cols_percent }) => {
    const { pane } = call.subject;
    if (direction !== undefined) {
      return change(call, (state, area) => applyResize(state, pane, { kind: "grow", side: direction, by }, area));
    }
    const [height, width] = [amount(rows, rows_percent), amount(cols, cols_percent)];
    const set = {
      kind: "set",
      ...defined({ rows: height, cols: width }),
    } as const;
    return change(call, (state, area) => applyResize(state, pane, set, area));
  },
  "pane.zoom": (call, { on }) =>
    change(call, (state) => {
      const zoomed = zoomPane(state, call.subject.pane, on ?? null);
      if (!call.byPerson) requireSameFocus(state, zoomed, call.subject.pane);
      return zoomed;
    }),
  "pane.swap": (call, { with: other }) =>
    change(call, (state) => swapPanes(state, call.subject.pane, otherPane(call, other))),
  "pane.move": async (
    call,
    { to, direction, cells, percent, whole, index, name, focus, float: isFloating, x, y, width, height },
  ) => {
    const { parts, subject } = call;
    const { arrangement } = parts;
    const { pane } = subject;
    const float = floatChange(isFloating, { x, y, width, height });
    if (to != null && isElsewhere(parts, parseTarget(to))) {
      const { movePaneAway, retryCrossingMoves } = await import("../../panes/moving.ts");
      const placing = { direction, whole, focus, cells, percent, float };
      await retryCrossingMoves(() => arrangement.change(() => movePaneAway(parts, pane, to, placing)));
      return answer(parts, pane);
    }
    return arrangement.change(async () => {
      const { state } = arrangement;
      const area = arrangement.sizeOf(windowWith(state, pane));
      if (to === undefined || to === null) {
        const options = { focus, base: parts.settings.base_index, ...defined({ index, name }) };
        // Checked before an id is issued.
        breakPane(state, pane, 0, area, options);
        const id = await takeWindowId(parts.instance);
        arrangement.commit(breakPane(arrangement.state, pane, id, area, options));
        return answer(parts, pane);
      }
      const size = amount(cells, percent);
      const beside = parts.findSubject(to).pane;
      const change = { pane: beside, side: direction, whole, focus, ...defined({ size, float }) };
      arrangement.commit(joinPane(state, pane, change, arrangement.sizeOf(windowWith(state, beside))));
      return answer(parts, pane);
    });
  },
  "pane.update": ({ parts, subject: { pane } }, { title, keep_after_exit: keep }) =>
    parts.arrangement.change(() => {
      const { arrangement } = parts;
      const entry = arrangement.state.panes[pane] ?? paneEntry(pane);
      const changes = { ...defined({ title, keep }) };
      arrangement.commit(putPane(arrangement.state, { ...entry, ...changes }));
      if (keep === false) arrangement.removeEnded(pane);
      return answer(parts, pane);
    }),
  "pane.respawn": async (call, program) => {
    const { parts, subject } = call;
    const { session } = parts;
    const ended = runningIn(parts, subject.window.id, subject.pane);
    let respawned: Answer | null = null;
    if (session.exit !== null) {
      await session.lifetime.restart(async () => {
        respawned = await respawn(call, program);
      });
    }
    return { ...(respawned ?? (await respawn(call, program))), ended };
  },
};

/** Starts a program in a new pane of the layout. Call within a change; a failure leaves nothing behind. */
export async function openPane(
  call: LayoutCall,
  program: PaneProgram,
  change: SplitChange,
  use: PaneUse = {},
): Promise<Answer> {
  const { arrangement, session } = call.parts;
  session.requireRunning();
  const area = arrangement.sizeOf(windowWith(arrangement.state, change.pane));
  const provisional = addSplit(arrangement.state, paneEntry(PROVISIONAL), change, area);
  const window = windowWith(provisional, PROVISIONAL);
  const { entry, undo } = await startPane(call, program, window.id, paneSize(provisional, PROVISIONAL, area), use);
  commitOrUndo(() => arrangement.commit(addSplit(arrangement.state, entry, change, area)), undo);
  return answer(call.parts, entry.id, call.isAnswered);
}

/**
 * Only the pane with the focus can be zoomed, since a call must not move a person's focus. @throws WshError
 * invalid_request
 */
function requireSameFocus(before: Windows, after: Windows, pane: string): void {
  const { id, active } = windowWith(before, pane);
  if (windowById(after, id).active === active) return;
  throw new WshError("invalid_request", `pane '${pane}' is not the active pane; '${active}' is`, {
    hint: "To zoom it, select it first. This also moves the input of people in that window.",
  });
}

/** Replaces a pane's program; without a given one, restarts the same program in the same pane. */
function respawn(call: LayoutCall, program: PaneProgram): Promise<Answer> {
  const { parts, subject } = call;
  const { arrangement } = parts;
  const { pane } = subject;
  return arrangement.change(async () => {
    const window = windowWith(arrangement.state, pane);
    if (Object.values(program).every((value) => value === undefined)) {
      await arrangement.restart(pane);
      return answer(parts, pane);
    }
    const size = arrangement.placedPanes.get(pane)?.size ?? arrangement.sizeOf(window);
    const { entry, undo } = await startPane(call, program, window.id, size);
    const { [pane]: old, ...panes } = arrangement.state.panes;
    // A user's settings for the pane apply to any program in it.
    const respawned = { ...entry, keep: entry.keep ?? old?.keep ?? null, title: entry.title ?? old?.title ?? null };
    const other = (each: string): string => (each === pane ? entry.id : each);
    const next: Windows = putWindow(
      { ...arrangement.state, panes: { ...panes, [entry.id]: respawned } },
      renamePanes(window, other),
    );
    commitOrUndo(() => arrangement.commit(next), undo);
    arrangement.resume();
    void arrangement.placedPanes.get(pane)?.endProgram();
    arrangement.forget(pane);
    return answer(parts, entry.id);
  });
}

/**
 * A call that ends something must name it: the oldest pane of a session, or the active one of a window, may be a
 * person's.
 * @throws WshError invalid_request
 */
export function requireNamed(
  kind: "pane" | "window",
  target: string | undefined,
  all: readonly string[],
  inWindow: readonly string[] = [],
): void {
  const parsed = target === undefined ? null : parseTarget(target);
  const isWhole =
    parsed === null || parsed.kind === "session_id" || (parsed.kind === "session" && parsed.window === undefined);
  const isWindow =
    parsed?.kind === "window_id" || (parsed?.kind === "session" && parsed.window !== "" && parsed.pane === undefined);
  const candidates = isWhole ? all : kind === "pane" && isWindow ? inWindow : [];
  if (candidates.length < 2) return;
  throw new WshError("invalid_request", `'${target ?? "the session"}' has ${candidates.length} ${kind}s: name one`, {
    hint: `Name one of ${candidates.join(", ")}.`,
  });
}

/** Ends a started pane again if it cannot be put into the layout. */
export function commitOrUndo(commit: () => void, undo: () => void): void {
  try {
    commit();
  } catch (error) {
    undo();
    throw error;
  }
}

/** Size of a pane in a value; for a hidden one, the whole window. */
function paneSize(state: Windows, pane: string, area: Size): Size {
  // Behind a zoomed pane it has the cells that it gets after the zoom.
  const box = placementOf({ ...windowWith(state, pane), zoomed: false }, area).boxes.get(pane);
  return box === undefined ? area : { rows: box.rows, cols: box.cols };
}
