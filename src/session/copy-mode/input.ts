/** Converts input in copy mode to keys and text. Pure. */
import type { ParsedKey } from "../../keys/types.ts";
import { pastedText } from "../line-editor.ts";

/** Ctrl+Space is the byte 0, which input events leave unnamed. */
export function nulKey(raw: Uint8Array): ParsedKey | null {
  return raw.length === 1 && raw[0] === 0 ? { key: " ", modifiers: ["ctrl"] } : null;
}

/** The first line of a bracketed paste. */
export function pastedLine(raw: Uint8Array): string {
  return pastedText({ raw }).split("\n", 1)[0] ?? "";
}
