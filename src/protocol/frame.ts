/**
 * A frame: the complete contents of a rendered terminal, and its events.
 *
 * The session process composes it for each rendering client and sends it as an update (frame-codec.ts); the client
 * renders it. Invariant: `lines` has exactly `rows` rows of `cols` cells, as protocol/grid.ts defines them.
 */
import * as v from "valibot";
import { integerBetween } from "./fields.ts";
import type { Grid, Row } from "./grid.ts";

/** A text that a program or a person has copied. */
export const ClipboardCopySchema = v.object({
  /** Selections of OSC 52: none, `c`, `s`, `p` and so on. */
  selection: v.string(),
  base64: v.string(),
  /** The AI agent that typed into the pane last, or that made it; absent: another writer. */
  agent: v.optional(v.string()),
});
export type ClipboardCopy = Readonly<v.InferOutput<typeof ClipboardCopySchema>>;

/** Modes of the program that the outer terminal must have as well, since they determine its input. */
export const FrameModesSchema = v.object({
  /** Whether the program is on its alternate screen. */
  alternate: v.boolean(),
  /** DECSCNM: the whole screen is shown with its colours exchanged. */
  reverseVideo: v.boolean(),
  bracketedPaste: v.boolean(),
  /** DEC mode 9, 1000, 1002 or 1003; 0 when off. */
  mouse: v.picklist([0, 9, 1000, 1002, 1003]),
  /** DEC mode 1005, 1006, 1015 or 1016; 0 for X10's bytes. */
  mouseEncoding: v.picklist([0, 1005, 1006, 1015, 1016]),
  focus: v.boolean(),
  applicationCursor: v.boolean(),
  applicationKeypad: v.boolean(),
  modifyOtherKeys: v.picklist([0, 1, 2]),
  kittyFlags: integerBetween(0, 31),
  /** False until the program chooses a cursor: the person's own shape stays. */
  cursorChosen: v.boolean(),
});
export type FrameModes = v.InferOutput<typeof FrameModesSchema>;

export const initialFrameModes: FrameModes = {
  alternate: false,
  reverseVideo: false,
  bracketedPaste: false,
  mouse: 0,
  mouseEncoding: 0,
  focus: false,
  applicationCursor: false,
  applicationKeypad: false,
  modifyOtherKeys: 0,
  kittyFlags: 0,
  cursorChosen: false,
};

/** The position of a pane in a frame, and its program's lines in its rows. */
const PanePlaceSchema = v.object({
  id: v.string(),
  row: v.number(),
  col: v.number(),
  rows: v.number(),
  cols: v.number(),
  active: v.boolean(),
  title: v.string(),
  alternate: v.boolean(),
  /** Mouse mode that its own program requested; 0: none. */
  mouse: v.number(),
  /** Logical line of the first row; null on the alternate screen. */
  first_line: v.nullable(v.number()),
  /** Cell of that line at which the row begins. */
  first_col: v.number(),
  /** Rows of history above the first one. */
  history: v.number(),
  /** Rows of the pane whose line continues in the next row. */
  wrapped: v.array(v.number()),
  /** For a floating pane: its position above the tiled ones, from 1, and whether it has a frame around it. */
  z: v.exactOptional(v.number()),
  framed: v.exactOptional(v.boolean()),
});
export type PanePlace = v.InferOutput<typeof PanePlaceSchema>;

export const FramePlacesSchema = v.object({
  /** Id of the shown window; null while the terminal shows no window. */
  window: v.nullable(v.string()),
  panes: v.array(PanePlaceSchema),
});
export type FramePlaces = v.InferOutput<typeof FramePlacesSchema>;

/** Everything that a client's terminal must show. */
export interface Frame extends Grid {
  /** Only for a client that requested it. */
  readonly places?: FramePlaces;
  readonly modes: FrameModes;
  /** Null: the outer terminal's title is not changed. */
  readonly title: string | null;
}

/** Events, not state: rendered once, with their frame. */
export interface FrameEvents {
  /** Lines that left the top of the normal screen since the last frame, oldest first. */
  readonly scrolled: readonly Row[];
  readonly bell: boolean;
  /** Text for the clipboard (OSC 52), already allowed by policy. */
  readonly clipboard: ClipboardCopy | null;
}

export const noEvents: FrameEvents = { scrolled: [], bell: false, clipboard: null };

/** Maximum lines passed to the outer terminal's scrollback with one frame; older ones are in wsh's own history. */
export const MAX_SCROLLED = 1000;
/** Longest text of one cell, in UTF-16 units: twice that of real graphemes; marks can be stacked without end. */
export const MAX_GRAPHEME = 64;
