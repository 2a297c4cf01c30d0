/**
 * Which panels are shown, where, and how large the program's screen is (docs/protocol.md, Drawing).
 *
 * Pure. Invariants: the program keeps at least `MIN_PANE_ROWS` rows and `MIN_PANE_COLS` columns, whatever the outer
 * size; a panel is shown completely or not at all; the highest z is nearest the edge, at the top and at the bottom
 * alike. Runs when a panel or the outer size changes.
 */
import type { PanelPosition } from "../protocol/drawing.ts";
import { MIN_PANE_COLS, MIN_PANE_ROWS, type Size } from "../protocol/size.ts";

interface LayoutPanel {
  readonly id: string;
  readonly position: PanelPosition;
  readonly height: number;
  readonly z: number;
}

interface PlacedPanel {
  readonly id: string;
  /** First row on the outer screen, 0-based; meaningless while not visible. */
  readonly row: number;
  readonly height: number;
  readonly visible: boolean;
}

export interface Layout {
  /** In the order given. */
  readonly panels: readonly PlacedPanel[];
  /** Rows taken at the top and at the bottom. */
  readonly top: number;
  readonly bottom: number;
  readonly ptyRows: number;
  readonly ptyCols: number;
}

/** Id of the status line among the panels of a layout; callers cannot use it. */
const STATUS_ID = "status";

/** The status line's row on the outer screen; null when it has no room or is off. */
export function statusRow({ panels }: Layout): number | null {
  const statusPanel = panels.findLast(({ id }) => id === STATUS_ID);
  return statusPanel?.visible === true ? statusPanel.row : null;
}

/** The outer screen of a layout. */
export function outerSize({ top, ptyRows, bottom, ptyCols }: Layout): Size {
  return { rows: top + ptyRows + bottom, cols: ptyCols };
}

/** @param panels those of the current screen mode, oldest first (with equal z the older is nearer the edge) */
export function layoutPanels(panels: readonly LayoutPanel[], outer: Size): Layout {
  const rows = Math.max(MIN_PANE_ROWS, outer.rows);
  const rank = (panel: LayoutPanel) => (panel.position === "top" ? 0 : 1);
  const order = [...panels].sort((a, b) => b.z - a.z || rank(a) - rank(b));
  const placed = new Map<string, PlacedPanel>();
  let remaining = rows - MIN_PANE_ROWS;
  let top = 0;
  let bottom = 0;
  for (const { id, height, position } of order) {
    const visible = height <= remaining;
    placed.set(id, { id, height, visible, row: position === "top" ? top : rows - bottom - height });
    if (!visible) continue;
    remaining -= height;
    if (position === "top") top += height;
    else bottom += height;
  }
  return {
    panels: panels.flatMap(({ id }) => placed.get(id) ?? []),
    top,
    bottom,
    ptyRows: rows - top - bottom,
    ptyCols: Math.max(MIN_PANE_COLS, outer.cols),
  };
}

/**
 * The layout of the panels with the status line at the edge of the outer screen, outside all of them; without it if the
 * program would have too few rows.
 */
export function layoutWithStatus(position: PanelPosition, outer: Size, layoutRest: (rest: Size) => Layout): Layout {
  if (outer.rows <= MIN_PANE_ROWS + 1) return layoutRest(outer);
  const layout = layoutRest({ rows: outer.rows - 1, cols: outer.cols });
  const id = STATUS_ID;
  if (position === "bottom") {
    const statusPanel = { id, row: outer.rows - 1, height: 1, visible: true };
    return { ...layout, panels: [...layout.panels, statusPanel], bottom: layout.bottom + 1 };
  }
  const shiftedPanels = layout.panels.map((panel) => ({ ...panel, row: panel.row + 1 }));
  return { ...layout, panels: [...shiftedPanels, { id, row: 0, height: 1, visible: true }], top: layout.top + 1 };
}

/** The same panels around a program's screen of another size, for example of a hidden window. */
export function layoutAround(layout: Layout, { rows, cols }: Size): Layout {
  const addedRows = rows - layout.ptyRows;
  if (addedRows === 0 && cols === layout.ptyCols) return layout;
  const panels = layout.panels.map((panel) =>
    panel.row < layout.top ? panel : { ...panel, row: panel.row + addedRows },
  );
  return { ...layout, panels, ptyRows: rows, ptyCols: cols };
}
