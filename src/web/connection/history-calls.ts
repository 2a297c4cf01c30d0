/** A pane's history over the control socket, decoded as frames are. */
import { decodeRows, type StyleRun, type WireStyle } from "../../protocol/frame-codec.ts";
import type { HistoryPage, HistoryPlace, HistorySource, Matches } from "../terminal/types.ts";
import type { ControlSocket } from "./control-socket.ts";

interface Lines {
  readonly cols: number;
  readonly screen: HistoryPlace;
  readonly styles: readonly WireStyle[];
  readonly rows: readonly {
    readonly line: number;
    readonly col: number;
    readonly wrapped?: true;
    readonly runs: readonly StyleRun[];
  }[];
  readonly more_above: boolean;
  readonly next: HistoryPlace | null;
}

const beforeParams = ({ line, col }: HistoryPlace): object => ({ before_line: line, before_col: col });
const fromParams = ({ line, col }: HistoryPlace): object => ({ from_line: line, from_col: col });

export function historyOver(control: ControlSocket): HistorySource {
  const page = async (pane: string, params: object): Promise<HistoryPage> => {
    const { styles, rows, cols, screen, more_above, next } = await control.call<Lines>("get_lines", params, pane);
    const runs = rows.map((row) => row.runs);
    const cells = decodeRows(styles, runs, cols);
    return {
      rows: rows.map(({ line, col, wrapped = false }, index) => ({ line, col, wrapped, cells: cells[index] ?? [] })),
      moreAbove: more_above,
      moreBelow: next !== null,
      screen,
    };
  };
  return {
    above: (pane, place, limit) => page(pane, { limit, ...(place === null ? {} : beforeParams(place)) }),
    below: (pane, place, limit) => page(pane, { limit, ...fromParams(place) }),
    search: (pane, { text, isPattern }, at) =>
      control.call<Matches>(
        "search_lines",
        {
          query: text,
          regex: isPattern,
          ...(at === undefined ? {} : "before" in at ? beforeParams(at.before) : fromParams(at.from)),
        },
        pane,
      ),
  };
}
