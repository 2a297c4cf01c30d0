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
  /** @param useCached as of the last check of its program */
  labelOf(pane: string, useCached?: boolean): PaneLabel | null;
  endOf(pane: string): PaneLabel | null;
}

interface ArrangedWindow {
  readonly arrangement: Arrangement;
  readonly content: PaneTexts;
  readonly window: WindowEntry;
  readonly placement: Placement;
}

/** @param useCached with texts as of the last checks of the programs */
export function windowPlacementOf(self: ArrangedWindow, useCached = false): WindowPlacement {
  const { placement, window } = self;
  const panes = panesIn(window).flatMap((id): PlacedPane[] => {
    const box = placement.boxes.get(id);
    if (box === undefined) return [];
    const float = placement.floats.find(({ pane }) => pane === id);
    return [{ id, box, ...paneTexts(self, id, box, float?.framed, useCached), ...defined({ float }) }];
  });
  const size = { rows: placement.size.rows, cols: placement.size.cols };
  return { size, panes, lines: borderCells(placement), active: window.active, synchronized: window.synchronized };
}

/** The text of the line above a pane, or of the pane itself without such a line. */
function paneTexts(
  { content }: ArrangedWindow,
  id: string,
  { row }: PaneBox,
  framed = false,
  useCached = false,
): Pick<PlacedPane, "label" | "end"> {
  const label = row > 0 || framed ? content.labelOf(id, useCached) : null;
  const end = label === null ? content.endOf(id) : null;
  return label !== null ? { label } : end !== null ? { end } : {};
}

/** Whether a pane still has the texts of its last drawing. */
export function hasSameTexts(self: ArrangedWindow, { id, box, label, end, float }: PlacedPane): boolean {
  return JSON.stringify(paneTexts(self, id, box, float?.framed)) === JSON.stringify({ label, end });
}

export function framePlacesOf({ arrangement, placement, window }: ArrangedWindow): FramePlaces {
  const { placedPanes, state } = arrangement;
  const floats = new Map(placement.floats.map(({ pane, framed }, index) => [pane, { z: index + 1, framed: framed }]));
  const panes = [...placement.boxes].map(([id, { row, col, rows, cols }]) => {
    const frame = placedPanes.get(id)?.frame;
    const ownPlace = frame?.places?.panes[0];
    // The rows of a covered pane show the pane above it, not its history.
    const isVisible =
      ownPlace !== undefined && frame?.rows === rows && frame.cols === cols && !isCovered(placement, id);
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
      first_line: isVisible ? ownPlace.first_line : null,
      first_col: isVisible ? ownPlace.first_col : 0,
      history: ownPlace?.history ?? 0,
      wrapped: isVisible ? ownPlace.wrapped : [],
    };
  });
  return { window: windowId(window.id), panes };
}
