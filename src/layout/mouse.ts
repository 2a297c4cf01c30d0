/**
 * Mouse reports of the outer terminal, for the pane under the pointer.
 *
 * The outer terminal reports in SGR as much as any pane that is shown asked for; where there are several panes, clicks
 * and drags in any case. A report goes to the pane it happened over, if that pane's program asked for such reports, in
 * the pane's own coordinates and encoding. A button that went down in a pane stays with it until it goes up. Besides, a
 * click selects its pane, a drag of a border moves it, and the wheel is arrow keys to a full-screen program.
 */
import { decodeKeys, initialKeyState } from "../keys/decode.ts";
import { encodeReport, type ReadMouse, readReport } from "../keys/mouse.ts";
import type { FrameModes } from "../protocol/frame.ts";
import { type Border, type Placement, paneAt } from "../session/layout/cells.ts";
import type { PaneLink } from "./pane-link.ts";

type Links = ReadonlyMap<string, PaneLink>;

const ESCAPE = 0x1b;
const SGR = 1006;
/** Bit of the wheel in a button. */
const WHEEL = 64;
const encodings = { 0: "x10", 1005: "utf8", 1006: "sgr", 1015: "urxvt" } as const;

/** Lines that a notch of the wheel is, as in most terminals. */
const NOTCH_LINES = 3;
/** Button of the wheel turned up; the next one is down. */
const WHEEL_UP = 64;
/** Clicks, the wheel, and motion while a button is down. */
const DRAGS = 1002;
const encoder = new TextEncoder();

/** What clicks and drags do besides reaching programs. */
export interface PointerPort {
  readonly links: Links;
  /** The pane that has the focus. */
  readonly active: string;
  /** Whether they do anything. */
  readonly isOn: boolean;
  select(pane: string): void;
  /** @param row @param col where the pointer has taken the border */
  drag(border: Border, row: number, col: number): void;
}

/** What the outer terminal must report. @param own whether clicks and drags are for us. Runs once per picture. */
export function mouseModes(
  panes: readonly string[],
  links: Links,
  own: boolean,
): Pick<FrameModes, "mouse" | "mouseEncoding"> {
  let mouse: FrameModes["mouse"] = own && panes.length > 1 ? DRAGS : 0;
  for (const pane of panes) {
    const asked = links.get(pane)?.frame?.modes.mouse ?? 0;
    if (asked > mouse) mouse = asked;
  }
  return { mouse, mouseEncoding: mouse === 0 ? 0 : SGR };
}

/** The pointer of one viewer. */
export class Pointer {
  /** The pane in which a button went down, until it goes up. */
  private grabbed: string | null = null;
  /** The border that is dragged. */
  private dragged: Border | null = null;

  constructor(private readonly port: PointerPort) {}

  /**
   * @param offset of the session's picture that the terminal does not show
   * @returns what is typed as it is: everything but mouse reports
   */
  place(bytes: Uint8Array, offset: { readonly top: number; readonly left: number }, placement: Placement): Uint8Array {
    if (!bytes.includes(ESCAPE)) return bytes;
    const { events, state } = decodeKeys(initialKeyState, bytes);
    if (!events.some(({ kind }) => kind === "mouse")) return bytes;
    const rest: Uint8Array[] = [];
    for (const { kind, raw } of events) {
      if (kind === "mouse") this.report(raw, offset, placement);
      else rest.push(raw);
    }
    return new Uint8Array(Buffer.concat([...rest, state.rest]));
  }

  private report(raw: Uint8Array, offset: { readonly top: number; readonly left: number }, placement: Placement): void {
    const event = readReport(raw);
    if (event === null) return;
    const row = event.row - 1 + offset.top;
    const col = event.col - 1 + offset.left;
    const pressed = !event.release && !event.motion && event.button < WHEEL;
    if (this.moved(event, row, col)) return;
    const pane = this.grabbed ?? paneAt(placement, row, col);
    const box = pane === null ? undefined : placement.boxes.get(pane);
    if (event.release) this.grabbed = null;
    else if (pressed) {
      this.grabbed = pane;
      if (pane === null) this.dragged = this.port.isOn ? borderAt(placement, row, col) : null;
      else if (this.port.isOn && pane !== this.port.active) this.port.select(pane);
    }
    const link = pane === null ? undefined : this.port.links.get(pane);
    if (box === undefined || link === undefined) return;
    const modes = link.frame?.modes;
    // Reports in pixels cannot be made from cells.
    if (modes === undefined || modes.mouseEncoding === 1016) return;
    if (!wants(modes.mouse, event)) {
      this.scrolled(link, modes, event);
      return;
    }
    const own = {
      row: Math.min(Math.max(row - box.row, 0), box.rows - 1) + 1,
      col: Math.min(Math.max(col - box.col, 0), box.cols - 1) + 1,
    };
    link.type(encodeReport({ ...event, ...own, encoding: encodings[modes.mouseEncoding] }));
  }

  /** A border is being dragged. @returns whether the report was about that */
  private moved({ release, motion }: ReadMouse, row: number, col: number): boolean {
    const { dragged } = this;
    if (dragged === null) return false;
    if (release || !motion) this.dragged = null;
    if (!motion && !release) return false;
    if (motion) this.port.drag(dragged, row, col);
    return true;
  }

  /** The wheel, over a full-screen program that asked for no mouse. */
  private scrolled(link: PaneLink, modes: FrameModes, { button, motion, release }: ReadMouse): void {
    const isWheel = button === WHEEL_UP || button === WHEEL_UP + 1;
    if (!this.port.isOn || !modes.alternate || !isWheel || motion || release) return;
    const final = button === WHEEL_UP ? "A" : "B";
    link.type(encoder.encode(`\x1b${modes.applicationCursor ? "O" : "["}${final}`.repeat(NOTCH_LINES)));
  }
}

/** The border at a cell of the window. */
function borderAt({ borders }: Placement, row: number, col: number): Border | null {
  const here = borders.find(
    (border) =>
      row >= border.row && row < border.row + border.rows && col >= border.col && col < border.col + border.cols,
  );
  return here ?? null;
}

function wants(
  mode: FrameModes["mouse"],
  event: { readonly motion: boolean; readonly held: boolean; readonly release: boolean },
) {
  if (mode === 0) return false;
  if (mode === 9) return !event.motion && !event.release;
  if (mode === 1000) return !event.motion;
  return mode === 1003 || !event.motion || event.held;
}
