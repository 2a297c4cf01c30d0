/**
 * Directs the mouse reports of one attached terminal to the element under the pointer.
 *
 * A report over a pane goes to its program if the program requested such reports, in the program's own cells and
 * encoding; a button pressed in a pane belongs to that pane until its release. If wsh handles the mouse (`isOn`),
 * a click selects its pane, a drag of a border moves it, the wheel opens copy mode or sends arrow keys to a
 * full-screen program, a drag in a pane selects text, the right button opens the pane's menu, and the status line
 * takes clicks.
 *
 * While a pane enters copy mode for a drag or the wheel, pointer movements are stored as one position and one
 * count of rows, and are applied afterwards.
 */
import { decodeKeys, initialKeyState } from "../../keys/decode.ts";
import { type DecodedMouse, decodeMouse, encodeReport } from "../../keys/mouse.ts";
import { type CopyModeInput, MAX_WHEEL_ROWS } from "../../protocol/copy-mode.ts";
import type { FrameModes } from "../../protocol/frame.ts";
import { ClickCounter } from "../../session/copy-mode/clicks.ts";
import type { Border, PaneBox } from "../../session/layout/cells.ts";
import type { FloatEdge } from "../../session/layout/floats.ts";
import type { StatusTarget } from "../../session/types.ts";

const ESCAPE = 0x1b;
/** Bit of the wheel in a button; the wheel turned up, the next one is down. */
const WHEEL = 64;
const LEFT_BUTTON = 0;
const RIGHT_BUTTON = 2;
/** Motion with the left button pressed. */
const LEFT_DRAG = 32;
const encodings = { 0: "x10", 1005: "utf8", 1006: "sgr", 1015: "urxvt" } as const;
/** Rows or lines per notch of the wheel, as in most terminals. */
const WHEEL_ROWS = 3;
/** Mode for clicks, the wheel, and motion while a button is pressed. */
const DRAG_MODE = 1002;
/** Mode that includes motion without a button. */
const MOTION_MODE = 1003;
const SGR_ENCODING = 1006;
const encoder = new TextEncoder();

/** Targets of mouse reports within a picture, in its cells from 0. */
export interface MouseTargets {
  /** The focused pane. */
  readonly active: string;
  /**
   * Whether a program has the terminal report in pixels, which do not map to cells: reports go to the program
   * unchanged.
   */
  readonly isInPixels: boolean;
  paneAt(row: number, col: number): string | null;
  boxOf(pane: string): PaneBox | null;
  /** Null: there is no picture. */
  modesOf(pane: string): FrameModes | null;
  /** Whether the pane is in copy mode, for all its viewers. */
  isInCopyMode(pane: string): boolean;
  /**
   * Sends bytes to a pane. @param byAgent it is an AI agent's terminal
   * @returns bytes to type at this terminal instead; null: the pane has got them
   */
  sendTo(pane: string, bytes: Uint8Array, byAgent: boolean): Uint8Array | null;
  select(pane: string): void;
  borderAt(row: number, col: number): Border | FloatEdge | null;
  /** A border, or the frame of a floating pane, was dragged to a cell. */
  drag(border: Border | FloatEdge, row: number, col: number): void;
}

export interface PointerPort {
  readonly targets: MouseTargets;
  /** Whether this terminal shows copy mode instead of its only pane; copy mode then gets the reports. */
  readonly isInCopyMode: boolean;
  /** Whether a caller has captured the keyboard, and with it the reports for programs. */
  readonly isCaptured: boolean;
  /** Whether a pane belongs to another session that the person may not use. */
  isInaccessible(pane: string): boolean;
  /** Whether clicks, drags and the wheel have any effect besides reaching programs. */
  readonly handlesMouse: boolean;
  readonly copyModeKeys: Pick<CopyModeInput, "keys" | "bound">;
  /** Rows of the session's screen above the picture. */
  readonly top: number;
  /** The element at a cell of the session's screen, outside of the picture. */
  statusAt(row: number, col: number): StatusTarget | null;
  openCopyMode(input: CopyModeInput, pane: string): Promise<void>;
  /** A part of the status line was clicked, or the wheel was turned over it. */
  useStatusLine(target: StatusTarget, what: "left" | "right" | "up" | "down"): void;
  /** The right button was pressed in a pane. */
  openMenu(pane: string): void;
  /** Types bytes after the input being read. */
  sendInput(bytes: Uint8Array): void;
}

/** Modes of a terminal whose mouse wsh handles, for programs that have requested less or nothing. */
export function withMouse<T extends Pick<FrameModes, "mouse" | "mouseEncoding">>(modes: T): T {
  return { ...modes, mouse: modes.mouse === MOTION_MODE ? MOTION_MODE : DRAG_MODE, mouseEncoding: SGR_ENCODING };
}

interface CellPosition {
  readonly row: number;
  readonly col: number;
}

/** A pane that enters copy mode. */
interface EnteringPane {
  readonly pane: string;
  /** Current position of the drag, and the position of the release. */
  dragged: CellPosition | null;
  released: CellPosition | null;
  /** Rows that the wheel has scrolled up since then. */
  wheel: number;
}

export class Pointer {
  /** The pane in which a button was pressed, until all buttons are released, and the number of pressed ones. */
  private grabbedPane: string | null = null;
  private pressedCount = 0;
  private draggedBorder: Border | FloatEdge | null = null;
  /** Position at which the left button was pressed in a pane whose program did not request it. */
  private pressPosition: CellPosition | null = null;
  private entering: EnteringPane | null = null;
  private readonly clicks = new ClickCounter();
  /** Parts of the input that replaces the input being read; null while nothing is read. */
  private typedParts: Uint8Array[] | null = null;
  /** Whether the newest input is an AI agent's. */
  private isByAgent = false;

  constructor(private readonly port: PointerPort) {}

  /**
   * @param offset part of the session's screen that the terminal does not show
   * @param byAgent it is an AI agent's terminal
   * @returns input to type unchanged
   */
  translate(bytes: Uint8Array, offset: { readonly top: number; readonly left: number }, byAgent: boolean): Uint8Array {
    this.isByAgent = byAgent;
    const { targets, handlesMouse, isInCopyMode } = this.port;
    if (!bytes.includes(ESCAPE) || (targets.isInPixels && !handlesMouse && !isInCopyMode)) return bytes;
    const { events, state } = decodeKeys(initialKeyState, bytes);
    if (!events.some(({ kind }) => kind === "mouse")) return bytes;
    const typed: Uint8Array[] = [];
    this.typedParts = typed;
    for (const { kind, raw } of events) {
      const event = kind === "mouse" ? decodeMouse(raw) : null;
      if (kind !== "mouse") typed.push(raw);
      else if (event !== null) this.report(event, offset);
    }
    this.typedParts = null;
    return new Uint8Array(Buffer.concat([...typed, state.rest]));
  }

  private report(event: DecodedMouse, offset: { readonly top: number; readonly left: number }): void {
    const { targets, handlesMouse, top } = this.port;
    const screenCell = { row: event.row - 1 + offset.top, col: event.col - 1 + offset.left };
    const windowCell = { row: screenCell.row - top, col: screenCell.col };
    const isWheel = event.button >= WHEEL && !event.motion;
    const isPress = !event.release && !event.motion && !isWheel;
    if (this.dragBorder(event, windowCell)) return;
    // A button was released outside of the terminal.
    if (event.motion && !event.held) this.pressedCount = 0;
    if (isPress || this.pressedCount === 0) this.grabbedPane = null;
    // The button was pressed elsewhere: in a dialog that the press has closed.
    if (handlesMouse && event.release && this.pressedCount === 0) return;
    if (handlesMouse && this.grabbedPane === null && this.handleStatusLine(event)) return;
    const pane = (isWheel ? null : this.grabbedPane) ?? targets.paneAt(windowCell.row, windowCell.col);
    if (event.release) this.pressedCount = Math.max(0, this.pressedCount - 1);
    else if (isPress) {
      this.pressedCount++;
      this.pressPosition = null;
      this.grabbedPane = pane;
      if (pane === null) this.grab(windowCell);
      else if (handlesMouse && pane !== targets.active) targets.select(pane);
    }
    if (pane !== null) this.reportToPane(pane, event, windowCell, isPress);
  }

  /** A button was pressed on a border; a floating pane is brought to the front by its frame. */
  private grab({ row, col }: CellPosition): void {
    const { targets, handlesMouse } = this.port;
    this.draggedBorder = handlesMouse ? targets.borderAt(row, col) : null;
    if (this.draggedBorder !== null && "float" in this.draggedBorder && this.draggedBorder.float !== targets.active)
      targets.select(this.draggedBorder.float);
  }

  /** Handles a report over a pane, or of a button that was pressed there. */
  private reportToPane(pane: string, event: DecodedMouse, position: CellPosition, isPress: boolean): void {
    const { targets, isInCopyMode } = this.port;
    const box = targets.boxOf(pane);
    const program = targets.modesOf(pane);
    if (box === null || program === null) return;
    const modes = isInCopyMode ? withMouse(program) : program;
    const paneCell = {
      row: Math.min(Math.max(position.row - box.row, 0), box.rows - 1),
      col: Math.min(Math.max(position.col - box.col, 0), box.cols - 1),
    };
    const clicks =
      isPress && event.button === LEFT_BUTTON ? this.clicks.countPress(`${pane} ${paneCell.row} ${paneCell.col}`) : 1;
    if (this.storeReport(pane, event, paneCell)) return;
    if (!wantsReport(modes.mouse, event)) this.handleUnrequested(pane, modes, event, paneCell, clicks);
    // Reports in pixels cannot be computed from cells.
    else if (modes.mouseEncoding !== 1016)
      this.sendReport(pane, paneCell, { ...event, encoding: encodings[modes.mouseEncoding] });
  }

  /** Drags a border. @returns whether the report belonged to the drag */
  private dragBorder({ release, motion }: DecodedMouse, { row, col }: CellPosition): boolean {
    const { draggedBorder } = this;
    if (draggedBorder === null) return false;
    if (release || !motion) this.draggedBorder = null;
    if (!motion && !release) return false;
    if (motion) this.port.targets.drag(draggedBorder, row, col);
    return true;
  }

  private handleStatusLine({ button, motion, release, row, col }: DecodedMouse): boolean {
    const target = this.port.statusAt(row - 1, col - 1);
    if (target === null) return false;
    if (motion || release) return true;
    const gesture =
      button === WHEEL ? "up" : button === WHEEL + 1 ? "down" : button === RIGHT_BUTTON ? "right" : "left";
    if (button === LEFT_BUTTON || gesture !== "left") this.port.useStatusLine(target, gesture);
    return true;
  }

  /** Handles a report that the program did not request. */
  private handleUnrequested(
    pane: string,
    modes: FrameModes,
    event: DecodedMouse,
    paneCell: CellPosition,
    clicks: number,
  ): void {
    if (!this.port.handlesMouse) return;
    const { button, motion, release } = event;
    const wheel = motion || release ? 0 : button === WHEEL ? WHEEL_ROWS : button === WHEEL + 1 ? -WHEEL_ROWS : 0;
    if (wheel !== 0 && modes.alternate) {
      const final = wheel > 0 ? "A" : "B";
      this.typeInto(pane, encoder.encode(`\x1b${modes.applicationCursor ? "O" : "["}${final}`.repeat(WHEEL_ROWS)));
    } else if (wheel > 0) this.enterCopyMode(pane, { wheel });
    else if (release) this.pressPosition = null;
    else if (motion && this.pressPosition !== null) {
      const from = this.pressPosition;
      this.pressPosition = null;
      this.enterCopyMode(pane, { press: { ...from, clicks: 1 } }, paneCell);
    } else if (!motion && button === LEFT_BUTTON) {
      if (clicks > 1) this.enterCopyMode(pane, { press: { ...paneCell, clicks } });
      else this.pressPosition = paneCell;
    } else if (!motion && button === RIGHT_BUTTON) this.port.openMenu(pane);
  }

  private enterCopyMode(pane: string, how: Omit<CopyModeInput, "keys">, dragged: CellPosition | null = null): void {
    const paneEntering: EnteringPane = { pane, dragged, released: null, wheel: 0 };
    this.entering = paneEntering;
    this.port
      .openCopyMode({ ...this.port.copyModeKeys, ...how }, pane)
      .then(() => this.replayStored(paneEntering))
      // Its process is gone or does not support copy mode: nothing is shown, and nothing is lost.
      .catch(() => {})
      .finally(() => {
        if (this.entering === paneEntering) this.entering = null;
      });
  }

  /** @returns whether the report is stored until the pane is in copy mode */
  private storeReport(pane: string, { button, motion, release }: DecodedMouse, paneCell: CellPosition): boolean {
    const { entering } = this;
    if (entering === null || entering.pane !== pane) return false;
    if (button === WHEEL || button === WHEEL + 1) {
      const wheel = entering.wheel + (button === WHEEL ? WHEEL_ROWS : -WHEEL_ROWS);
      entering.wheel = Math.min(MAX_WHEEL_ROWS, Math.max(0, wheel));
    } else if (motion) entering.dragged = paneCell;
    else if (release) entering.released = paneCell;
    return true;
  }

  /** The pane is in copy mode: it receives the stored pointer movements. */
  private replayStored({ pane, dragged, released, wheel }: EnteringPane): void {
    if (wheel > 0) this.port.openCopyMode({ ...this.port.copyModeKeys, wheel }, pane).catch(() => {});
    if (dragged !== null) this.sendReport(pane, dragged, { button: LEFT_DRAG, release: false, encoding: "sgr" });
    if (released !== null) this.sendReport(pane, released, { button: LEFT_BUTTON, release: true, encoding: "sgr" });
  }

  private sendReport(
    pane: string,
    { row, col }: CellPosition,
    report: Pick<DecodedMouse, "button" | "release" | "encoding">,
  ): void {
    this.typeInto(pane, encodeReport({ ...report, row: row + 1, col: col + 1 }));
  }

  private typeInto(pane: string, bytes: Uint8Array): void {
    if (this.port.isInaccessible(pane)) return;
    const { targets, isCaptured } = this.port;
    const typed = isCaptured && !targets.isInCopyMode(pane) ? bytes : targets.sendTo(pane, bytes, this.isByAgent);
    if (typed === null) return;
    if (this.typedParts === null) this.port.sendInput(typed);
    else this.typedParts.push(typed);
  }
}

function wantsReport(
  mode: FrameModes["mouse"],
  event: { readonly motion: boolean; readonly held: boolean; readonly release: boolean },
) {
  if (mode === 0) return false;
  if (mode === 9) return !event.motion && !event.release;
  if (mode === 1000) return !event.motion;
  return mode === 1003 || !event.motion || event.held;
}
