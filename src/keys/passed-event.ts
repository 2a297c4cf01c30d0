/**
 * Input that a dialog or copy mode passes on to the program. It arrived while the terminal had the modes of that
 * element, in which pastes are marked.
 */
import { PASTE_BEGIN, PASTE_END } from "../protocol/pasted-text.ts";
import type { InputEvent } from "./types.ts";

/** Bytes of an event for a program, which gets the marks of a paste only if it has requested them. */
export function bytesForProgram({ raw, kind }: InputEvent, bracketedPaste: boolean): Uint8Array {
  if (kind !== "paste" || bracketedPaste) return raw;
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.length);
  const begin = bytes.indexOf(PASTE_BEGIN) === 0 ? PASTE_BEGIN.length : 0;
  const end = bytes.length - PASTE_END.length;
  return raw.subarray(begin, end >= begin && bytes.lastIndexOf(PASTE_END) === end ? end : undefined);
}
