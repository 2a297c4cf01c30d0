/** Keys, clicks and drags in a window, directed to its panes and borders. */

import type { Border, Placement } from "../../session/layout/cells.ts";
import { borderAt, dragFrame, type FloatEdge, paneAt } from "../../session/layout/floats.ts";
import { dragBorder } from "../../session/layout/resize.ts";
import type { TypedInput } from "../../session/types.ts";
import { showPane } from "../../session/windows/changes.ts";
import { dragFloat } from "../../session/windows/floats.ts";
import {
  activeWindow,
  openPopup,
  putWindow,
  typedPanes,
  type WindowEntry,
  type Windows,
  windowById,
} from "../../session/windows/state.ts";
import type { MouseTargets } from "../../viewer/terminal/pointer.ts";
import type { Arrangement } from "./arrangement.ts";
import type { LocalPane } from "./local-pane.ts";

/** A viewer's own active window, pane and zoom. */
export interface OwnFocus {
  window: number;
  pane: string;
  zoomed: boolean;
}

/** A displayed window. */
interface DisplayedWindow {
  readonly arrangement: Arrangement;
  readonly content: { readonly activity: { record(): void } };
  readonly ownFocus: OwnFocus | null;
  readonly window: WindowEntry;
  /** The pane that receives keys. */
  readonly active: string;
  readonly placement: Placement;
  /** The pane that fills the picture; null: there are several. */
  readonly single: LocalPane | null;
  focus(pane: string): void;
}

/** A viewer's own focus, which begins as a copy of the session's. */
export function ownFocus(arrangement: Arrangement): OwnFocus {
  const { id, active, zoomed } = activeWindow(arrangement.state);
  return { window: windowById(arrangement.state, id).id, pane: active, zoomed };
}

export function mouseTargetsIn(self: DisplayedWindow): MouseTargets {
  const { arrangement } = self;
  const applyChange = (make: (state: Windows) => Windows): void =>
    void arrangement.change(() => arrangement.commit(make(arrangement.state))).catch(() => {});
  return {
    get active() {
      return self.active;
    },
    get isInPixels() {
      return self.single?.pane.terminal.modes.mouseEncoding === "sgr-pixels";
    },
    paneAt: (row, col) => unlessBehindPopup(self, paneAt(self.placement, row, col), (pane) => pane),
    boxOf: (pane) => self.placement.boxes.get(pane) ?? null,
    modesOf: (pane) => arrangement.placedPanes.get(pane)?.modes ?? null,
    isInCopyMode: (pane) => arrangement.placedPanes.get(pane)?.copyMode?.isOn === true,
    sendTo(pane, bytes, byAgent) {
      if (self.single?.id === pane) return bytes;
      arrangement.placedPanes.get(pane)?.type(bytes, undefined, byAgent);
      return null;
    },
    borderAt: (row, col) =>
      unlessBehindPopup(self, borderAt(self.placement, row, col), (edge) => ("float" in edge ? edge.float : null)),
    select(pane) {
      const { ownFocus } = self;
      if (ownFocus === null) applyChange((state) => showPane(state, pane));
      else self.focus(pane);
    },
    drag(border, row, col) {
      const { id } = self.window;
      if ("float" in border) {
        const outer = self.placement.floats.find(({ pane }) => pane === border.float)?.outer;
        if (outer === undefined) return;
        const box = dragFrame(border, outer, row, col);
        const area = self.placement.size;
        applyChange((state) =>
          state.panes[border.float] === undefined ? state : dragFloat(state, border.float, box, area),
        );
        return;
      }
      applyChange((state) => {
        const window = windowById(state, id);
        const { placement } = self;
        const path = border.path.join();
        // Position after an earlier step of the same drag.
        const currentBorder = placement.borders.find(
          (each) => each.index === border.index && each.path.join() === path,
        );
        const root =
          currentBorder === undefined ? window.root : dragBorder(window.root, placement, currentBorder, row, col);
        return root === window.root ? state : putWindow(state, { ...window, root });
      });
    },
  };
}

/** While a popup is open, the mouse reaches nothing else. */
function unlessBehindPopup<T extends string | Border | FloatEdge>(
  { window }: DisplayedWindow,
  hit: T | null,
  paneOf: (hit: T) => string | null,
): T | null {
  const popup = openPopup(window);
  return hit === null || popup === null || paneOf(hit) === popup ? hit : null;
}

/** Escape, Ctrl+C, Enter and q. */
function isClosingKey(bytes: Uint8Array): boolean {
  return /^(?:\x1b|\x03|\r|\n|q)$/.test(Buffer.from(bytes).toString("latin1"));
}

/** The active pane as the recipient of input, or all panes of a window if they are synchronized. */
export function typedInputOf(self: DisplayedWindow): TypedInput {
  return {
    get id() {
      return self.active;
    },
    activity: {
      record: () => {
        self.content.activity.record();
        self.arrangement.localOf(self.active)?.pane.activity.record();
      },
    },
    flags: () => self.arrangement.localOf(self.active)?.pane.flags() ?? null,
    typed(bytes, flags, byAgent) {
      const { window } = self;
      const { placedPanes, endedPanes } = self.arrangement;
      const panes = typedPanes(window);
      self.arrangement.noteTyping(panes);
      const [firstPane = ""] = panes;
      // A popup that stays after its program's end is closed by a key.
      if (endedPanes.has(firstPane) && openPopup(window) === firstPane && isClosingKey(bytes)) {
        void self.arrangement.change(() => self.arrangement.removeEnded(firstPane)).catch(() => {});
        return;
      }
      for (const pane of panes)
        if (!endedPanes.has(pane))
          placedPanes.get(pane)?.type(bytes, pane === window.active ? flags : undefined, byAgent);
    },
  };
}
