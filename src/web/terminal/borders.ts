/** Draggable borders between panes, computed from the panes' positions. Pure except for the elements. */
import type { PanePlace } from "./types.ts";

export interface Border {
  /** The pane to the left of the border, or above it. */
  readonly pane: string;
  /** The effect of a drag; the upper edge of a floating pane moves the whole pane. */
  readonly direction: "right" | "down" | "move";
  readonly row: number;
  readonly col: number;
  /** Cells along the border. */
  readonly length: number;
  /** Stacking position of a floating pane above the tiled ones. */
  readonly z?: number | undefined;
}

/**
 * Borders of the panes: one cell beyond the right or lower edge, if another pane follows; then the frames of floating
 * panes, lowest first.
 */
function bordersOf(all: readonly PanePlace[]): Border[] {
  const places = all.filter(({ z }) => z === undefined);
  const frames = all.filter(({ framed }) => framed === true);
  return [...tiledBorders(places), ...frames.flatMap(frameOf)];
}

function frameOf({ id: pane, row, col, rows, cols, z }: PanePlace): Border[] {
  return [
    { pane, z, direction: "move", row: row - 1, col: col - 1, length: cols + 2 },
    { pane, z, direction: "right", row, col: col + cols, length: rows },
    { pane, z, direction: "down", row: row + rows, col: col - 1, length: cols + 2 },
  ];
}

function tiledBorders(places: readonly PanePlace[]): Border[] {
  return places.flatMap((place) => {
    const { id, row, col, rows, cols } = place;
    const borders: Border[] = [];
    const besides = places.some(
      (other) => other.col === col + cols + 1 && other.row < row + rows && row < other.row + other.rows,
    );
    const below = places.some(
      (other) => other.row === row + rows + 1 && other.col < col + cols && col < other.col + other.cols,
    );
    if (besides) borders.push({ pane: id, direction: "right", row, col: col + cols, length: rows });
    if (below) borders.push({ pane: id, direction: "down", row: row + rows, col, length: cols });
    return borders;
  });
}

type Direction = "left" | "right" | "up" | "down";

export interface BorderDrag {
  /** The border of a pane, or a floating pane as a whole, was moved by this many cells since the last call. */
  onMoved(pane: string, what: "border" | "whole", direction: Direction, cells: number): void;
}

export class Borders {
  readonly element = document.createElement("div");
  private key = "";

  constructor(private readonly drag: BorderDrag) {
    this.element.className = "borders";
  }

  show(places: readonly PanePlace[], cell: { readonly width: number; readonly height: number }): void {
    const borders = bordersOf(places);
    const key = JSON.stringify([borders, cell]);
    if (key === this.key) return;
    this.key = key;
    this.element.replaceChildren(...borders.map((border) => this.handle(border, cell)));
  }

  private handle(border: Border, cell: { readonly width: number; readonly height: number }): HTMLElement {
    const element = document.createElement("div");
    const upright = border.direction === "right";
    element.className = `border ${border.direction}`;
    element.style.left = `${border.col * cell.width}px`;
    element.style.top = `${border.row * cell.height}px`;
    element.style.width = `${(upright ? 1 : border.length) * cell.width}px`;
    element.style.height = `${(upright ? border.length : 1) * cell.height}px`;
    element.style.zIndex = border.z === undefined ? "" : String(border.z);
    element.addEventListener("pointerdown", (down) => {
      down.preventDefault();
      down.stopPropagation();
      const what = border.direction === "move" ? "whole" : "border";
      const requested = { across: 0, down: 0 };
      const moveBy = (axis: keyof typeof requested, cells: number): void => {
        const by = cells - requested[axis];
        if (by === 0) return;
        requested[axis] = cells;
        const [back, forth] = axis === "across" ? (["left", "right"] as const) : (["up", "down"] as const);
        this.drag.onMoved(border.pane, what, by < 0 ? back : forth, Math.abs(by));
      };
      // The layout redraws the handle during the drag, so the document tracks the pointer.
      const move = (event: PointerEvent): void => {
        if (border.direction !== "down") moveBy("across", Math.round((event.clientX - down.clientX) / cell.width));
        if (border.direction !== "right") moveBy("down", Math.round((event.clientY - down.clientY) / cell.height));
      };
      const end = new AbortController();
      const { signal } = end;
      document.addEventListener("pointermove", move, { signal });
      for (const name of ["pointerup", "pointercancel"]) document.addEventListener(name, () => end.abort(), { signal });
    });
    return element;
  }
}
