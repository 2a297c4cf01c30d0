/**
 * The mouse in copy mode: the wheel scrolls; a drag selects, and copies when the button goes up; beyond the edge it
 * scrolls; a double click takes a word, path or address, a triple click a line. Releasing the button neither leaves
 * copy mode nor scrolls.
 *
 * Owns the timer of a drag at the edge, which ends when the button goes up, or with `close`.
 */
import { MOTION, type MouseReport, WHEEL_DOWN, WHEEL_UP } from "../../keys/mouse.ts";
import { ClickCounter } from "./clicks.ts";
import { type Selection, selectWord } from "./selection.ts";
import type { CopyModeText, Point } from "./text.ts";

/** Rows per turn of the wheel. */
const WHEEL_ROWS = 3;
/** Interval between two rows while a drag is held at the edge, in ms. */
const EDGE_MS = 50;

/** The target of the mouse. */
interface CopyModeTarget {
  readonly text: CopyModeText;
  readonly selection: Selection | null;
  scroll(rows: number): void;
  moveCursor(point: Point): void;
  setSelection(selection: Selection | null): void;
  /** The mouse button was released. */
  handleRelease(): void;
  positionAt(row: number, col: number): Point;
}

export class CopyModePointer {
  private readonly clicks = new ClickCounter();
  private pressedAt: Point | null = null;
  private edgeTimer: Timer | null = null;

  constructor(private readonly target: CopyModeTarget) {}

  close(): void {
    this.release();
  }

  report({ button, row, col, release }: MouseReport): void {
    const { target } = this;
    const cell = { row: row - 1, col: col - 1 };
    if (button === WHEEL_UP || button === WHEEL_DOWN) target.scroll(button === WHEEL_UP ? -WHEEL_ROWS : WHEEL_ROWS);
    else if (release) {
      const isDragged = this.pressedAt !== null;
      this.release();
      if (isDragged) target.handleRelease();
    } else if ((button & MOTION) !== 0) this.drag(cell);
    else if (button === 0) this.press(cell);
  }

  /** @param counted presses in a row, if already counted */
  press({ row, col }: { readonly row: number; readonly col: number }, counted?: number): void {
    const { target } = this;
    const clicks = this.clicks.countPress(`${row} ${col}`, counted);
    const point = target.positionAt(row, col);
    this.pressedAt = point;
    target.setSelection(null);
    if (clicks === 2) target.setSelection(selectWord(target.text, point));
    else if (clicks === 3) target.setSelection({ kind: "lines", anchor: point, head: point });
    else target.moveCursor(point);
  }

  private drag({ row, col }: { readonly row: number; readonly col: number }): void {
    const { target, pressedAt } = this;
    if (pressedAt === null) return;
    this.extendSelection(row, col);
    const { rows } = target.text.source;
    const step = row <= 0 ? -1 : row >= rows - 1 ? 1 : 0;
    clearInterval(this.edgeTimer ?? undefined);
    this.edgeTimer =
      step === 0
        ? null
        : setInterval(() => {
            target.scroll(step);
            this.extendSelection(row, col);
          }, EDGE_MS);
  }

  private extendSelection(row: number, col: number): void {
    const { target, pressedAt } = this;
    if (pressedAt === null) return;
    const kind = target.selection?.kind ?? "characters";
    target.setSelection({ kind, anchor: target.selection?.anchor ?? pressedAt, head: target.positionAt(row, col) });
  }

  private release(): void {
    this.pressedAt = null;
    clearInterval(this.edgeTimer ?? undefined);
    this.edgeTimer = null;
  }
}
