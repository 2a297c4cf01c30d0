/** The whole table of keys over a terminal, until the next key, which is not lost. */
import { drawKeyMap, type KeyMapRow, layoutKeyMap } from "../../compositor/key-map.ts";
import type { Frame } from "../../protocol/frame.ts";
import type { OwnDialog } from "./above.ts";

export function allKeys(prefix: string, rows: readonly KeyMapRow[]): OwnDialog {
  let from = 0;
  const table: KeyMapRow[] = [{ keys: [prefix], says: "detach" }, ...rows];
  return {
    draw: (frame: Frame, ascii: boolean) =>
      drawKeyMap(frame, table, {
        ...{ title: `Keys after ${prefix}`, more: "Up and Down show the rest", from, whole: true, ascii },
      }),
    pressed({ kind, parsed }, size) {
      if (kind !== "key") return kind === "paste" ? "passed" : "open";
      const { lines } = layoutKeyMap(table, size);
      const page = Math.max(1, size.rows - 1);
      const step = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, " ": page }[parsed?.key ?? ""];
      if (step === undefined || lines <= page) return parsed?.key === "Escape" ? "closed" : "passed";
      from = Math.max(0, Math.min(from + step, lines - page));
      return "open";
    },
  };
}
