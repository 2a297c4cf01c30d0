/** The borders between panes as things to drag: found from the panes' places. Pure but for the elements. */
import type { PanePlace } from "./types.ts";

export interface Border {
  /** The pane whose border it is, on its right or below. */
  readonly pane: string;
  readonly direction: "right" | "down";
  readonly row: number;
  readonly col: number;
  /** Cells along the border. */
  readonly length: number;
}

/** Borders of the panes: one cell beyond the right or lower edge, if another pane follows. */
export function bordersOf(places: readonly PanePlace[]): Border[] {
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

export interface BorderDrag {
  /** The border was moved by this many cells since the last call; negative is left or up. */
  moved(border: Border, cells: number): void;
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
    element.addEventListener("pointerdown", (down) => {
      down.preventDefault();
      down.stopPropagation();
      const side = upright ? cell.width : cell.height;
      const start = upright ? down.clientX : down.clientY;
      let told = 0;
      // The layout redraws the handle while it is dragged, so the document follows the pointer.
      const move = (event: PointerEvent): void => {
        const cells = Math.round(((upright ? event.clientX : event.clientY) - start) / side);
        if (cells === told) return;
        this.drag.moved(border, cells - told);
        told = cells;
      };
      const end = new AbortController();
      const { signal } = end;
      document.addEventListener("pointermove", move, { signal });
      for (const name of ["pointerup", "pointercancel"]) document.addEventListener(name, () => end.abort(), { signal });
    });
    return element;
  }
}
