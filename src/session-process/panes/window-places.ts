/** The positions of a window's panes for drawing, and for a page. */
import type { PaneLabel } from "../../compositor/border-titles.ts";
import type { PlacedPane, WindowPlacement } from "../../compositor/window.ts";
import { defined } from "../../protocol/defined.ts";
import type { FramePlaces } from "../../protocol/frame.ts";
import { windowId } from "../../protocol/names.ts";
import { borderCells, type PaneBox, type Placement } from "../../session/layout/cells.ts";
import { isCovered } from "../../session/layout/floats.ts";
import { panesIn, type WindowEntry } from "../../session/windows/state.ts";
import type { Arrangement } from "./arrangement.ts";

/** Texts about a pane: in the line above it, or in the pane itself without such a line; null: none. */
export interface PaneTexts {
  /** @param asKnown as of the last check of its program */
  labelOf(pane: string, asKnown?: boolean): PaneLabel | null;
  endOf(pane: string): PaneLabel | null;
}

interface PlacedWindow {
  readonly arrangement: Arrangement;
  readonly content: PaneTexts;
  readonly window: WindowEntry;
  readonly placement: Placement;
}

/** @param asKnown with texts as of the last checks of the programs */
export function windowPlacesOf(self: PlacedWindow, asKnown = false): WindowPlacement {
  const { placement, window } = self;
  const panes = panesIn(window).flatMap((id): PlacedPane[] => {
    const box = placement.boxes.get(id);
    if (box === undefined) return [];
    const float = placement.floats.find(({ pane }) => pane === id);
    return [{ id, box, ...textsOf(self, id, box, float?.framed, asKnown), ...defined({ float }) }];
  });
  const size = { rows: placement.size.rows, cols: placement.size.cols };
  return { size, panes, lines: borderCells(placement), active: window.active, synchronized: window.synchronized };
}

/** The text of the line above a pane, or of the pane itself without such a line. */
function textsOf(
  { content }: PlacedWindow,
  id: string,
  { row }: PaneBox,
  framed = false,
  asKnown = false,
): Pick<PlacedPane, "label" | "end"> {
  const label = row > 0 || framed ? content.labelOf(id, asKnown) : null;
  const end = label === null ? content.endOf(id) : null;
  return label !== null ? { label } : end !== null ? { end } : {};
}

/** Whether a pane still has the texts of its last drawing. */
export function hasTexts(self: PlacedWindow, { id, box, label, end, float }: PlacedPane): boolean {
  return JSON.stringify(textsOf(self, id, box, float?.framed)) === JSON.stringify({ label, end });
}

export function framePlacesOf({ arrangement, placement, window }: PlacedWindow): FramePlaces {
  const { placed, state } = arrangement;
  const floats = new Map(placement.floats.map(({ pane, framed }, index) => [pane, { z: index + 1, framed: framed }]));
  const panes = [...placement.boxes].map(([id, { row, col, rows, cols }]) => {
    const frame = placed.get(id)?.frame;
    const ownPlace = frame?.places?.panes[0];
    // The rows of a covered pane show the pane above it, not its history.
    const fits = ownPlace !== undefined && frame?.rows === rows && frame.cols === cols && !isCovered(placement, id);
    return {
      id,
      row,
      col,
      rows,
      cols,
      active: id === window.active,
      ...floats.get(id),
      title: state.panes[id]?.title ?? frame?.title ?? "",
      alternate: ownPlace?.alternate ?? frame?.modes.alternate ?? false,
      mouse: frame?.modes.mouse ?? 0,
      first_line: fits ? ownPlace.first_line : null,
      first_col: fits ? ownPlace.first_col : 0,
      history: ownPlace?.history ?? 0,
      wrapped: fits ? ownPlace.wrapped : [],
    };
  });
  return { window: windowId(window.id), panes };
}
