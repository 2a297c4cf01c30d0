/**
 * The mouse in copy mode: the wheel scrolls; a drag selects, and copies when the button goes up; beyond the edge it
 * scrolls; a double click takes a word, path or address, a triple click a line. Releasing the button neither leaves
 * copy mode nor scrolls.
 *
 * Owns the timer of a drag at the edge, which ends when the button goes up, or with `close`.
 */
import type { MouseReport } from "../../keys/mouse.ts";
import { Clicks } from "./clicks.ts";
import { type Selection, wordAt } from "./selection.ts";
import type { CopyModeText, Point } from "./text.ts";

/** Rows per turn of the wheel. */
const WHEEL_ROWS = 3;
/** Interval between two rows while a drag is held at the edge, in ms. */
const EDGE_MS = 50;
const MOTION = 32;
const WHEEL_UP = 64;
const WHEEL_DOWN = 65;

/** The target of the mouse. */
interface Pointed {
  readonly text: CopyModeText;
  readonly selection: Selection | null;
  scroll(rows: number): void;
  go(point: Point): void;
  choose(selection: Selection | null): void;
  /** The mouse button was released. */
  released(): void;
  placeAt(row: number, col: number): Point;
}

export class Pointing {
  private readonly clicks = new Clicks();
  private pressed: Point | null = null;
  private edge: Timer | null = null;

  constructor(private readonly look: Pointed) {}

  close(): void {
    this.release();
  }

  report({ button, row, col, release }: MouseReport): void {
    const { look } = this;
    const place = { row: row - 1, col: col - 1 };
    if (button === WHEEL_UP || button === WHEEL_DOWN) look.scroll(button === WHEEL_UP ? -WHEEL_ROWS : WHEEL_ROWS);
    else if (release) {
      const isDragged = this.pressed !== null;
      this.release();
      if (isDragged) look.released();
    } else if ((button & MOTION) !== 0) this.drag(place);
    else if (button === 0) this.press(place);
  }

  /** @param counted presses in a row, if already counted */
  press({ row, col }: { readonly row: number; readonly col: number }, counted?: number): void {
    const { look } = this;
    const clicks = this.clicks.press(`${row} ${col}`, counted);
    const point = look.placeAt(row, col);
    this.pressed = point;
    look.choose(null);
    if (clicks === 2) look.choose(wordAt(look.text, point));
    else if (clicks === 3) look.choose({ kind: "lines", anchor: point, head: point });
    else look.go(point);
  }

  private drag({ row, col }: { readonly row: number; readonly col: number }): void {
    const { look, pressed } = this;
    if (pressed === null) return;
    this.extend(row, col);
    const { rows } = look.text.source;
    const step = row <= 0 ? -1 : row >= rows - 1 ? 1 : 0;
    clearInterval(this.edge ?? undefined);
    this.edge =
      step === 0
        ? null
        : setInterval(() => {
            look.scroll(step);
            this.extend(row, col);
          }, EDGE_MS);
  }

  private extend(row: number, col: number): void {
    const { look, pressed } = this;
    if (pressed === null) return;
    const kind = look.selection?.kind ?? "characters";
    look.choose({ kind, anchor: look.selection?.anchor ?? pressed, head: look.placeAt(row, col) });
  }

  private release(): void {
    this.pressed = null;
    clearInterval(this.edge ?? undefined);
    this.edge = null;
  }
}
