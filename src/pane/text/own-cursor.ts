/** Output cursors come back from callers: only those that this pane has handed out mean a place here. */
import { WshError } from "../../protocol/errors.ts";
import type { TerminalText } from "./text.ts";

/** 0 is the start of any pane. @throws WshError invalid_cursor */
export function requireOwnCursor({ start, offset }: Pick<TerminalText, "start" | "offset">, cursor: number): void {
  if (cursor === 0 || (cursor >= start && cursor <= offset)) return;
  throw new WshError("invalid_cursor", `output cursor ${cursor} is none of this pane's (${start} to ${offset})`);
}
