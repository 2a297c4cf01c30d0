/** The state of a pane's terminal for formats of `wsh tmux`: modes, margins, tab stops, cursors, copy mode. */
import { platform } from "../../platform/platform.ts";
import type { PaneTerminal } from "../../protocol/pane-terminal.ts";
import type { Viewers } from "../../session/viewers.ts";
import type { LocalPane } from "./local-pane.ts";

export function paneTerminal({ id, copyMode, pane }: LocalPane, { all, attachedAt }: Viewers): Promise<PaneTerminal> {
  const { terminal, pid } = pane;
  const { processes } = platform();
  const stat = pid === null ? null : processes.stat(pid);
  const tty = stat === null ? null : processes.terminalPath(stat.tty);
  return terminal.whenAtRest(() => {
    const { cursor, modes, historyBytes: history_bytes } = terminal;
    const history = Math.max(0, terminal.totalLines - terminal.rows);
    const { text: character = " " } = terminal.cells(cursor.row)[cursor.col] ?? {};
    const { bracketedPaste, applicationCursor, applicationKeypad, mouseTracking, mouseEncoding, ...otherModes } = modes;
    return {
      tty,
      start_path: pane.startCwd,
      start_command: pane.runsOneCommand ? pane.command : null,
      ended_at: pane.exit === null ? null : Date.now() - pane.activity.idleMs(),
      cursor: { ...cursor, character },
      history,
      history_bytes,
      alternate: terminal.alternate,
      ...terminal.screenGeometry,
      modes: {
        bracketed_paste: bracketedPaste,
        keypad_cursor: applicationCursor,
        keypad: applicationKeypad,
        mouse: mouseTracking,
        mouse_encoding: mouseEncoding,
        insert: otherModes.insert,
        origin: otherModes.origin,
        wrap: otherModes.wrap,
        synchronized: otherModes.synchronizedOutput,
        cursor_shape: otherModes.cursorShape,
        cursor_blink: otherModes.cursorBlink,
      },
      attached_at: attachedAt,
      copy_mode:
        copyMode.isOn || all.some(({ controls, shownContent }) => controls.isInCopyMode && shownContent.shows(id)),
    };
  });
}
