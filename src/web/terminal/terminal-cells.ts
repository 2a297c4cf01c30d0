/**
 * The cells of one terminal: those of the page's font, or, for a followed session that is wider than its place, smaller
 * ones that show it completely. Smaller cells are whole device pixels too, with a font of that size; a scaled picture
 * would have lines between pixels, and thin ones would vanish.
 */
import { CellMeasure } from "./cell-size.ts";

/** Smallest scale at which a followed session is shown completely; below it the person pans. */
const LEAST_SCALE = 0.55;
/** Properties that the smaller cells override, for the terminal's element. */
const properties = ["--font-size", "--cell-width", "--cell-height", "--cell-spacing"] as const;

export class TerminalCells {
  private readonly smallerCells = new CellMeasure();
  /** Size of the smaller cells in device pixels, and their font; "": they are not used. */
  private fontKey = "";

  constructor(
    private readonly element: HTMLElement,
    /** Cells of the page's font. */
    readonly pageCells: CellMeasure,
  ) {}

  get measure(): CellMeasure {
    return this.fontKey === "" ? this.pageCells : this.smallerCells;
  }

  /** @param cols columns to show completely; null: cells have their own size @returns whether the cells have changed */
  fit(cols: number | null): boolean {
    const ratio = globalThis.devicePixelRatio;
    const full = Math.round(this.pageCells.size.width * ratio);
    const width = cols === null ? full : Math.max(leastWidth(full), Math.floor((this.availableWidth() * ratio) / cols));
    const { fontSize, advance } = this.pageCells;
    const key = width >= full ? "" : `${width} ${fontSize} ${advance} ${ratio}`;
    if (key === this.fontKey) return false;
    this.fontKey = key;
    const { style } = this.element;
    for (const name of properties) style.removeProperty(name);
    if (key === "") return true;
    style.setProperty("--font-size", `${(fontSize * width) / (advance * ratio)}px`);
    this.smallerCells.measure(this.element, width);
    const { size } = this.smallerCells;
    style.setProperty("--cell-width", `${size.width}px`);
    style.setProperty("--cell-height", `${size.height}px`);
    style.setProperty("--cell-spacing", `${size.spacing}px`);
    return true;
  }

  /** Width inside the element, in CSS pixels. */
  private availableWidth(): number {
    const { paddingLeft, paddingRight } = getComputedStyle(this.element);
    return this.element.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
  }
}

/** @param full width of a full-size cell, in device pixels */
function leastWidth(full: number): number {
  return Math.max(1, Math.floor(full * LEAST_SCALE));
}
