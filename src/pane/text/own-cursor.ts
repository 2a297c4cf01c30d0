/** Output cursors return from callers: only those that this pane has issued are valid here. */
import { WshError } from "../../protocol/errors.ts";
import type { TerminalText } from "./text.ts";

type Cursors = Pick<TerminalText, "first" | "start" | "offset">;

/** 0 is the start of any pane. @throws WshError invalid_cursor */
export function requireOwnCursor({ first, offset }: Cursors, cursor: number): void {
  if (cursor === 0 || (cursor >= first && cursor <= offset)) return;
  throw new WshError("invalid_cursor", `output cursor ${cursor} does not belong to this pane (${first} to ${offset})`);
}

/** Warnings about output since a cursor that an earlier process issued: part of it may be missing. */
export function unsavedSince({ start }: Cursors, cursor: number | undefined): readonly string[] {
  if (cursor === undefined || cursor === 0 || cursor >= start) return [];
  return ["the session crashed after this cursor; output between its last checkpoint and its end is missing"];
}
