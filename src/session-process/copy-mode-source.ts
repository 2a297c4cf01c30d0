/** A pane's history, screen and commands for copy mode. */
import type { CommandRecord } from "../protocol/commands.ts";
import type { CopyModeSource } from "../session/copy-mode/text.ts";
import type { TerminalModel } from "../terminal/model.ts";

export function copyModeSource(terminal: TerminalModel, commands: () => readonly CommandRecord[]): CopyModeSource {
  return {
    get rows() {
      return terminal.rows;
    },
    get cols() {
      return terminal.cols;
    },
    get firstLine() {
      return terminal.firstLine;
    },
    get top() {
      return terminal.screenTop;
    },
    get lastLine() {
      return terminal.lastLine;
    },
    get cursor() {
      return terminal.grid().cursor;
    },
    get alternateRows() {
      return terminal.alternate ? terminal.grid().lines : null;
    },
    cells: (from, to) => terminal.lineCells(from, to),
    texts: (from, to) => terminal.lineTexts(from, to),
    commands: () =>
      commands().map(({ first_line_id: first, last_line_id: last, output_lines }) => ({
        first,
        last: last ?? terminal.lastLine,
        isEmpty: output_lines === 0 && last !== null,
      })),
  };
}
