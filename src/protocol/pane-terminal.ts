/** The answer to `peer.terminal`: data of a pane's terminal for tmux's formats. */
import * as v from "valibot";

export const PaneTerminalSchema = v.object({
  /** Its device; null: its program has ended. */
  tty: v.nullable(v.string()),
  /** The directory in which its program was started, and its command; null: a shell. */
  start_path: v.string(),
  start_command: v.nullable(v.string()),
  /** Unix time in ms at which its program ended; null while it runs. */
  ended_at: v.nullable(v.number()),
  cursor: v.object({ row: v.number(), col: v.number(), visible: v.boolean(), character: v.string() }),
  alternate: v.boolean(),
  /** Rows above the screen, and an estimate of their bytes. */
  history: v.number(),
  history_bytes: v.number(),
  /** Margins of the displayed screen, and columns with a tab stop. */
  top: v.number(),
  bottom: v.number(),
  tabs: v.array(v.number()),
  /** The cursor of the normal screen behind the alternate one. */
  behind: v.nullable(v.object({ row: v.number(), col: v.number() })),
  modes: v.object({
    bracketed_paste: v.boolean(),
    keypad_cursor: v.boolean(),
    keypad: v.boolean(),
    mouse: v.picklist(["none", "x10", "vt200", "drag", "any"]),
    mouse_encoding: v.picklist(["default", "utf8", "sgr", "urxvt", "sgr-pixels"]),
    insert: v.boolean(),
    origin: v.boolean(),
    wrap: v.boolean(),
    synchronized: v.boolean(),
    cursor_shape: v.picklist(["block", "underline", "bar"]),
    cursor_blink: v.boolean(),
  }),
  /** Whether a person is in copy mode there. */
  copy_mode: v.boolean(),
  /** Unix time in ms at which a terminal attached last; null: never. */
  attached_at: v.optional(v.nullable(v.number()), null),
});
export type PaneTerminal = v.InferOutput<typeof PaneTerminalSchema>;
