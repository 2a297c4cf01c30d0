/** Keys, clicks and drags in a window: they go to its panes and borders. */

import { borderAt, type Placement, paneAt } from "../../session/layout/cells.ts";
import { dragBorder } from "../../session/layout/resize.ts";
import type { Typed } from "../../session/types.ts";
import { show } from "../../session/windows/changes.ts";
import {
  activeWindow,
  panesIn,
  putWindow,
  type WindowEntry,
  type Windows,
  windowById,
} from "../../session/windows/state.ts";
import type { Pointed } from "../../viewer/terminal/pointer.ts";
import type { Arrangement } from "./arrangement.ts";
import type { LocalPane } from "./local-pane.ts";

/** A viewer's own active window, pane and zoom. */
export interface OwnFocus {
  window: number;
  pane: string;
  zoomed: boolean;
}

/** A window as currently shown. */
export interface ShownWindow {
  readonly arrangement: Arrangement;
  readonly content: { readonly activity: { record(): void } };
  readonly own: OwnFocus | null;
  readonly window: WindowEntry;
  /** The pane that receives keys. */
  readonly active: string;
  readonly placement: Placement;
  /** The pane that is the whole picture; null: there are several. */
  readonly single: LocalPane | null;
  focus(pane: string): void;
}

/** A viewer's own focus, which begins as the session's. */
export function ownFocus(arrangement: Arrangement): OwnFocus {
  const { id, active, zoomed } = activeWindow(arrangement.state);
  return { window: windowById(arrangement.state, id).id, pane: active, zoomed };
}

export function pointedIn(self: ShownWindow): Pointed {
  const { arrangement } = self;
  const changed = (make: (state: Windows) => Windows): void =>
    void arrangement.change(() => arrangement.commit(make(arrangement.state))).catch(() => {});
  return {
    get active() {
      return self.active;
    },
    get isInPixels() {
      return self.single?.pane.terminal.modes.mouseEncoding === "sgr-pixels";
    },
    paneAt: (row, col) => paneAt(self.placement, row, col),
    boxOf: (pane) => self.placement.boxes.get(pane) ?? null,
    modesOf: (pane) => arrangement.placed.get(pane)?.modes ?? null,
    give(pane, bytes) {
      if (self.single?.id === pane) return bytes;
      arrangement.placed.get(pane)?.type(bytes);
      return null;
    },
    borderAt: (row, col) => borderAt(self.placement, row, col),
    select(pane) {
      const { own } = self;
      if (own === null) changed((state) => show(state, pane));
      else self.focus(pane);
    },
    drag(border, row, col) {
      const { id } = self.window;
      changed((state) => {
        const window = windowById(state, id);
        const { placement } = self;
        const path = border.path.join();
        // Position after an earlier step of the same drag.
        const now = placement.borders.find((each) => each.index === border.index && each.path.join() === path);
        const root = now === undefined ? window.root : dragBorder(window.root, placement, now, row, col);
        return root === window.root ? state : putWindow(state, { ...window, root });
      });
    },
  };
}

/** To the active pane, or to all of a window whose panes are synchronized. */
export function typedIn(self: ShownWindow): Typed {
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
    typed(bytes, flags) {
      const { window } = self;
      const { placed, ended } = self.arrangement;
      const panes = window.synchronized ? panesIn(window) : [window.active];
      self.arrangement.typedIn(panes);
      for (const pane of panes)
        if (!ended.has(pane)) placed.get(pane)?.type(bytes, pane === window.active ? flags : undefined);
    },
  };
}
