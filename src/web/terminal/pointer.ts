/**
 * The pointer over a terminal: reports for programs that request them, selection for everything else. A finger scrolls
 * natively, and acts as the wheel for a full-screen program or one that requests the wheel. A press without a drag is
 * also sent to the session if the terminal would send it: it moves the focus of panes and answers dialogs.
 */
import type { FrameModes } from "../../protocol/frame.ts";
import { type CellPointer, mouseBytes } from "./mouse-report.ts";
import type { PanePlace } from "./types.ts";

/** Rows per notch of the wheel when arrow keys replace it. */
const WHEEL_ROWS = 3;
/** Wheel distance of one report, in CSS pixels: one notch, or several finer steps of a touchpad. */
const WHEEL_STEP = 40;

/** A point of the window, and the pressed modifier keys. */
type PointerPoint = Pick<MouseEvent, "clientX" | "clientY" | "shiftKey" | "altKey" | "ctrlKey">;

export interface PointerPort {
  readonly modes: () => FrameModes;
  /** The cell of the picture under a point of the window. */
  cellAt(x: number, y: number): { readonly row: number; readonly col: number };
  paneAt(row: number, col: number): PanePlace | undefined;
  send(bytes: Uint8Array): void;
  arrows(count: number): void;
  focus(): void;
}

export class Pointer {
  private heldButton: number | null = null;
  private lastMove = "";
  private unreportedPixels = 0;
  /** Last position of the only finger, in CSS pixels from the top; null: none, or several. */
  private finger: number | null = null;

  constructor(
    private readonly root: HTMLElement,
    private readonly port: PointerPort,
  ) {
    root.addEventListener("pointerdown", (event) => this.buttonPressed(event));
    root.addEventListener("pointermove", (event) => this.move(event));
    root.addEventListener("pointerup", (event) => this.buttonReleased(event));
    root.addEventListener("pointercancel", () => {
      this.heldButton = null;
    });
    root.addEventListener("click", (event) => this.click(event));
    root.addEventListener("wheel", (event) => this.wheelTurned(event), { passive: false });
    const fingersChanged = ({ touches }: TouchEvent): void => {
      this.finger = touches.length === 1 ? (touches[0]?.clientY ?? null) : null;
      this.unreportedPixels = 0;
    };
    root.addEventListener("touchstart", fingersChanged, { passive: true });
    root.addEventListener("touchend", fingersChanged, { passive: true });
    root.addEventListener("touchmove", (event) => this.fingerMoved(event), { passive: false });
    root.addEventListener("contextmenu", (event) => {
      if (this.isForProgram(event) || this.heldButton !== null) event.preventDefault();
    });
  }

  /** Whether the program under the pointer requested mouse events. Shift keeps them for the page. */
  private isForProgram(event: PointerPoint): boolean {
    if (event.shiftKey || this.port.modes().mouse === 0) return false;
    const { row, col } = this.port.cellAt(event.clientX, event.clientY);
    return (this.port.paneAt(row, col)?.mouse ?? 1) !== 0;
  }

  private buttonPressed(event: PointerEvent): void {
    if (event.pointerType === "touch") return;
    if (!this.isForProgram(event)) {
      if (event.shiftKey) beginSelection();
      return;
    }
    event.preventDefault();
    this.root.setPointerCapture(event.pointerId);
    this.heldButton = event.button;
    this.report(event, "press", event.button);
    this.port.focus();
  }

  private move(event: PointerEvent): void {
    if (event.pointerType === "touch") return;
    if (this.heldButton === null && !this.isForProgram(event)) return;
    const { row, col } = this.port.cellAt(event.clientX, event.clientY);
    const at = `${row} ${col} ${this.heldButton}`;
    if (at === this.lastMove) return;
    this.lastMove = at;
    this.report(event, "move", this.heldButton);
  }

  private buttonReleased(event: PointerEvent): void {
    if (this.heldButton === null) return;
    const { heldButton: held } = this;
    this.heldButton = null;
    this.report(event, "release", held);
  }

  /** Handles a press that selected nothing. */
  private click(event: MouseEvent): void {
    if (event.target instanceof Element) {
      const link = event.target.closest("a");
      if (link !== null && !event.ctrlKey && !event.metaKey) event.preventDefault();
      else if (link !== null) return;
    }
    const selection = getSelection();
    if (selection !== null && !selection.isCollapsed) return;
    this.port.focus();
    if (event instanceof PointerEvent && event.pointerType !== "touch" && this.isForProgram(event)) return;
    if (this.port.modes().mouse === 0) return;
    this.report(event, "press", 0);
    this.report(event, "release", 0);
  }

  private wheelTurned(event: WheelEvent): void {
    if (event.ctrlKey) return;
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? event.deltaY * WHEEL_STEP : event.deltaY;
    if (this.scroll(event, pixels)) event.preventDefault();
  }

  /** A finger moving up scrolls down. */
  private fingerMoved(event: TouchEvent): void {
    const [touch] = event.touches;
    if (this.finger === null || touch === undefined || event.touches.length !== 1) return;
    const { clientX, clientY } = touch;
    const { shiftKey, altKey, ctrlKey } = event;
    const pixels = this.finger - clientY;
    this.finger = clientY;
    if (this.scroll({ clientX, clientY, shiftKey, altKey, ctrlKey }, pixels) && event.cancelable)
      event.preventDefault();
  }

  /** @returns whether the program gets it; otherwise the page scrolls */
  private scroll(event: PointerPoint, pixels: number): boolean {
    const { row, col } = this.port.cellAt(event.clientX, event.clientY);
    const pane = this.port.paneAt(row, col);
    const isReported = this.isForProgram(event);
    if (!isReported && pane?.alternate !== true) return false;
    this.unreportedPixels += pixels;
    const steps = Math.trunc(this.unreportedPixels / WHEEL_STEP);
    this.unreportedPixels -= steps * WHEEL_STEP;
    if (!isReported && this.port.modes().mouse === 0) {
      if (steps !== 0) this.port.arrows(steps * WHEEL_ROWS);
      return true;
    }
    for (let step = 0; step < Math.abs(steps); step++) this.report(event, steps < 0 ? "wheel-up" : "wheel-down", null);
    return true;
  }

  private report(event: PointerPoint, kind: CellPointer["kind"], button: number | null): void {
    const { row, col } = this.port.cellAt(event.clientX, event.clientY);
    const { shiftKey, altKey, ctrlKey } = event;
    const bytes = mouseBytes({ row, col, button, kind, shiftKey, altKey, ctrlKey }, this.port.modes());
    if (bytes !== null) this.port.send(bytes);
  }
}

/** Begins a new selection: Shift would extend an existing one, even in the text input. */
function beginSelection(): void {
  const selection = getSelection();
  const { activeElement } = document;
  if (!(activeElement instanceof HTMLTextAreaElement)) return;
  activeElement.blur();
  selection?.removeAllRanges();
}
