/**
 * The pointer over a terminal: reports for programs that request them, selection for everything else. A finger scrolls
 * natively, and acts as the wheel for a full-screen program or one that requests the wheel. A press without a drag is
 * also sent to the session if the terminal would send it: it moves the focus of panes and answers dialogs.
 */
import type { FrameModes } from "../../protocol/frame.ts";
import { mouseBytes, type PointerAt } from "./mouse-report.ts";
import type { PanePlace } from "./types.ts";

/** Rows per notch of the wheel when arrow keys replace it. */
const WHEEL_ROWS = 3;
/** Wheel distance of one report, in CSS pixels: one notch, or several finer steps of a touchpad. */
const WHEEL_STEP = 40;

/** A point of the window, and the pressed modifier keys. */
type At = Pick<MouseEvent, "clientX" | "clientY" | "shiftKey" | "altKey" | "ctrlKey">;

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
  private held: number | null = null;
  private last = "";
  private wheel = 0;
  /** Last position of the only finger, in CSS pixels from the top; null: none, or several. */
  private finger: number | null = null;

  constructor(
    private readonly root: HTMLElement,
    private readonly port: PointerPort,
  ) {
    root.addEventListener("pointerdown", (event) => this.down(event));
    root.addEventListener("pointermove", (event) => this.move(event));
    root.addEventListener("pointerup", (event) => this.up(event));
    root.addEventListener("pointercancel", () => {
      this.held = null;
    });
    root.addEventListener("click", (event) => this.click(event));
    root.addEventListener("wheel", (event) => this.turned(event), { passive: false });
    const touched = ({ touches }: TouchEvent): void => {
      this.finger = touches.length === 1 ? (touches[0]?.clientY ?? null) : null;
      this.wheel = 0;
    };
    root.addEventListener("touchstart", touched, { passive: true });
    root.addEventListener("touchend", touched, { passive: true });
    root.addEventListener("touchmove", (event) => this.swiped(event), { passive: false });
    root.addEventListener("contextmenu", (event) => {
      if (this.isTold(event) || this.held !== null) event.preventDefault();
    });
  }

  /** Whether the program under the pointer has requested the event. Shift keeps it for the page. */
  private isTold(event: At): boolean {
    if (event.shiftKey || this.port.modes().mouse === 0) return false;
    const { row, col } = this.port.cellAt(event.clientX, event.clientY);
    return (this.port.paneAt(row, col)?.mouse ?? 1) !== 0;
  }

  private down(event: PointerEvent): void {
    if (event.pointerType === "touch") return;
    if (!this.isTold(event)) {
      if (event.shiftKey) beginSelection();
      return;
    }
    event.preventDefault();
    this.root.setPointerCapture(event.pointerId);
    this.held = event.button;
    this.tell(event, "press", event.button);
    this.port.focus();
  }

  private move(event: PointerEvent): void {
    if (event.pointerType === "touch") return;
    if (this.held === null && !this.isTold(event)) return;
    const { row, col } = this.port.cellAt(event.clientX, event.clientY);
    const at = `${row} ${col} ${this.held}`;
    if (at === this.last) return;
    this.last = at;
    this.tell(event, "move", this.held);
  }

  private up(event: PointerEvent): void {
    if (this.held === null) return;
    const { held } = this;
    this.held = null;
    this.tell(event, "release", held);
  }

  /** A press that selected nothing. */
  private click(event: MouseEvent): void {
    if (event.target instanceof Element) {
      const link = event.target.closest("a");
      if (link !== null && !event.ctrlKey && !event.metaKey) event.preventDefault();
      else if (link !== null) return;
    }
    const selection = getSelection();
    if (selection !== null && !selection.isCollapsed) return;
    this.port.focus();
    if (event instanceof PointerEvent && event.pointerType !== "touch" && this.isTold(event)) return;
    if (this.port.modes().mouse === 0) return;
    this.tell(event, "press", 0);
    this.tell(event, "release", 0);
  }

  private turned(event: WheelEvent): void {
    if (event.ctrlKey) return;
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? event.deltaY * WHEEL_STEP : event.deltaY;
    if (this.scrolled(event, pixels)) event.preventDefault();
  }

  /** A finger moving up scrolls down. */
  private swiped(event: TouchEvent): void {
    const [touch] = event.touches;
    if (this.finger === null || touch === undefined || event.touches.length !== 1) return;
    const { clientX, clientY } = touch;
    const { shiftKey, altKey, ctrlKey } = event;
    const pixels = this.finger - clientY;
    this.finger = clientY;
    if (this.scrolled({ clientX, clientY, shiftKey, altKey, ctrlKey }, pixels) && event.cancelable)
      event.preventDefault();
  }

  /** @returns whether the program gets it; otherwise the page scrolls */
  private scrolled(event: At, pixels: number): boolean {
    const { row, col } = this.port.cellAt(event.clientX, event.clientY);
    const pane = this.port.paneAt(row, col);
    const isReported = this.isTold(event);
    if (!isReported && pane?.alternate !== true) return false;
    this.wheel += pixels;
    const steps = Math.trunc(this.wheel / WHEEL_STEP);
    this.wheel -= steps * WHEEL_STEP;
    if (!isReported && this.port.modes().mouse === 0) {
      if (steps !== 0) this.port.arrows(steps * WHEEL_ROWS);
      return true;
    }
    for (let step = 0; step < Math.abs(steps); step++) this.tell(event, steps < 0 ? "wheel-up" : "wheel-down", null);
    return true;
  }

  private tell(event: At, kind: PointerAt["kind"], button: number | null): void {
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
