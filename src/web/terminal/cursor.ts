/** The cursor of a picture: an element over its cell, in the shape that the program chose. */
import type { Cell, GridCursor } from "../../protocol/grid.ts";
import type { CellSize } from "./cell-size.ts";
import { cellStyleOf } from "./cell-style.ts";

export class CursorView {
  readonly element = document.createElement("div");

  constructor() {
    this.element.className = "cursor";
    this.element.setAttribute("aria-hidden", "true");
  }

  /** @param cell the cell under the cursor */
  show({ row, col, visible, shape, blink }: GridCursor, cell: Cell | undefined, { width, height }: CellSize): void {
    const { element } = this;
    element.hidden = !visible;
    if (!visible) return;
    element.className = `cursor ${shape}${blink ? " blink" : ""}`;
    const cells = cell?.width === 2 ? 2 : 1;
    element.style.transform = `translate(${col * width}px, ${row * height}px)`;
    element.style.width = `${cells * width}px`;
    element.style.height = `${height}px`;
    element.textContent = shape === "block" && cell !== undefined && cell.text.trim() !== "" ? cell.text : "";
    const names = cell === undefined ? "" : cellStyleOf(cell.style).className;
    for (const name of names.split(" ")) if (name === "b" || name === "i") element.classList.add(name);
  }
}
