/**
 * Mouse reports of the outer terminal, for the pane under the pointer.
 *
 * The outer terminal reports in SGR as much as any pane that is shown asked for. A report goes to the pane it happened
 * over, if that pane's program asked for such reports, in the pane's own coordinates and encoding. A button that went
 * down in a pane stays with it until it goes up.
 */
import { decodeKeys, initialKeyState } from "../keys/decode.ts";
import { encodeReport, readReport } from "../keys/mouse.ts";
import type { FrameModes } from "../protocol/frame.ts";
import { type Placement, paneAt } from "../session/layout/cells.ts";
import type { PaneLink } from "./pane-link.ts";

type Links = ReadonlyMap<string, PaneLink>;

const ESCAPE = 0x1b;
const SGR = 1006;
/** Bit of the wheel in a button. */
const WHEEL = 64;
const encodings = { 0: "x10", 1005: "utf8", 1006: "sgr", 1015: "urxvt" } as const;

/** What the outer terminal must report. Runs once per picture. */
export function mouseModes(panes: readonly string[], links: Links): Pick<FrameModes, "mouse" | "mouseEncoding"> {
  let mouse: FrameModes["mouse"] = 0;
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

  constructor(private readonly links: Links) {}

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
    const pane = this.grabbed ?? paneAt(placement, row, col);
    const box = pane === null ? undefined : placement.boxes.get(pane);
    if (event.release) this.grabbed = null;
    else if (!event.motion && event.button < WHEEL) this.grabbed = pane;
    const link = pane === null ? undefined : this.links.get(pane);
    if (box === undefined || link === undefined) return;
    const modes = link.frame?.modes;
    // Reports in pixels cannot be made from cells.
    if (modes === undefined || !wants(modes.mouse, event) || modes.mouseEncoding === 1016) return;
    const own = {
      row: Math.min(Math.max(row - box.row, 0), box.rows - 1) + 1,
      col: Math.min(Math.max(col - box.col, 0), box.cols - 1) + 1,
    };
    link.type(encodeReport({ ...event, ...own, encoding: encodings[modes.mouseEncoding] }));
  }
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
