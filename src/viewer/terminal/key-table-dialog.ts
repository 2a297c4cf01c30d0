/**
 * Shows the whole table of keys over a terminal until the next key. That key is handled as usual, unless it is
 * one with which people leave such a list. A click runs its row.
 */
import { drawKeyMap, findKeyMapRow, type KeyMapRow, layoutKeyMap } from "../../compositor/key-map.ts";
import { parseMouseReport, WHEEL_DOWN, WHEEL_UP } from "../../keys/mouse.ts";
import type { Frame } from "../../protocol/frame.ts";
import type { TerminalDialog } from "./overlay-layer.ts";

/** Lines scrolled per notch of the wheel. */
const WHEEL_LINES = 3;
const closingKeys: ReadonlySet<string> = new Set(["Escape", "q", "Enter"]);

/** @param clicked called with the clicked row; null: the row that detaches */
export function keyTableDialog(
  prefix: string,
  rows: readonly KeyMapRow[],
  clicked: (row: KeyMapRow | null) => void,
): TerminalDialog {
  let firstLine = 0;
  const detach = { keys: [prefix], description: "detach" };
  const isPrefixBound = rows.some(({ keys }) => keys.some((key) => key.toLowerCase() === prefix.toLowerCase()));
  const table: KeyMapRow[] = isPrefixBound ? [...rows] : [detach, ...rows];
  return {
    draw: (frame: Frame, ascii: boolean) =>
      drawKeyMap(frame, table, {
        title: `Keys after ${prefix}`,
        moreHint: "Up and Down scroll",
        firstLine,
        fillsTerminal: true,
        ascii,
      }),
    handleEvent({ kind, parsed, raw }, size) {
      const { lines } = layoutKeyMap(table, size);
      const page = Math.max(1, size.rows - 1);
      const scroll = (step: number): "open" => {
        firstLine = Math.max(0, Math.min(firstLine + step, lines - page));
        return "open";
      };
      if (kind === "mouse") {
        const report = parseMouseReport(raw);
        if (report === null || report.release) return "open";
        const { button } = report;
        if (button === WHEEL_UP || button === WHEEL_DOWN)
          return scroll(button === WHEEL_UP ? -WHEEL_LINES : WHEEL_LINES);
        const cell = { row: report.row - 1, col: report.col - 1 };
        const row = button === 0 ? findKeyMapRow(table, { firstLine, fillsTerminal: true }, size, cell) : null;
        if (row === null) return "open";
        clicked(row === detach ? null : row);
        return "closed";
      }
      if (kind !== "key") return kind === "paste" ? "passed" : "open";
      const step = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, " ": page }[parsed?.key ?? ""];
      if (step === undefined || lines <= page) return closingKeys.has(parsed?.key ?? "") ? "closed" : "passed";
      return scroll(step);
    },
  };
}
