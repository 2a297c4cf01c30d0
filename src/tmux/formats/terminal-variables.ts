/** Variables of formats about a pane's terminal, of tmux 3.3a and of later versions. Pure. */
import type { PaneTerminal } from "../../protocol/pane-terminal.ts";

/** tmux's value for a cursor that was never saved. */
const NEVER = 4_294_967_295;

export const terminalVariables: Readonly<Record<string, (of: PaneTerminal) => string | number | boolean>> = {
  alternate_on: ({ alternate }) => alternate,
  alternate_saved_x: ({ behind }) => behind?.col ?? NEVER,
  alternate_saved_y: ({ behind }) => behind?.row ?? NEVER,
  bracket_paste_flag: ({ modes }) => modes.bracketed_paste,
  cursor_blinking: ({ modes }) => modes.cursor_blink,
  cursor_character: ({ cursor }) => cursor.character,
  cursor_flag: ({ cursor }) => cursor.visible,
  cursor_shape: ({ modes }) => modes.cursor_shape,
  cursor_x: ({ cursor }) => cursor.col,
  cursor_y: ({ cursor }) => cursor.row,
  history_bytes: (terminal) => terminal.history_bytes,
  history_size: ({ history }) => history,
  insert_flag: ({ modes }) => modes.insert,
  keypad_cursor_flag: ({ modes }) => modes.keypad_cursor,
  keypad_flag: ({ modes }) => modes.keypad,
  mouse_all_flag: ({ modes }) => modes.mouse === "any",
  mouse_any_flag: ({ modes }) => ["vt200", "drag", "any"].includes(modes.mouse),
  mouse_button_flag: ({ modes }) => modes.mouse === "drag",
  mouse_sgr_flag: ({ modes }) => modes.mouse_encoding === "sgr",
  mouse_standard_flag: ({ modes }) => modes.mouse === "vt200",
  mouse_utf8_flag: ({ modes }) => modes.mouse_encoding === "utf8",
  origin_flag: ({ modes }) => modes.origin,
  pane_dead_time: ({ ended_at }) => (ended_at === null ? "" : Math.floor(ended_at / 1000)),
  pane_in_mode: ({ copy_mode }) => copy_mode,
  pane_mode: ({ copy_mode }) => (copy_mode ? "copy-mode" : ""),
  pane_start_command: ({ start_command }) => start_command ?? "",
  pane_start_path: ({ start_path }) => start_path,
  pane_tabs: ({ tabs }) => tabs.join(","),
  pane_tty: ({ tty }) => tty ?? "",
  scroll_region_lower: ({ bottom }) => bottom,
  scroll_region_upper: ({ top }) => top,
  synchronized_output_flag: ({ modes }) => modes.synchronized,
  wrap_flag: ({ modes }) => modes.wrap,
};
