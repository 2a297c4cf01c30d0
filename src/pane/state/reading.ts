/** Whether a program reads typed input. Pure. */
import { isInteractiveShell, type ProgramState } from "./classify.ts";

/** Why typed text waits: the kernel shows that the program does not read its terminal. Null: it may read. */
export function unreadReason({ state, decidedFrom, relay, foreground, why }: ProgramState): string | null {
  if (state !== "running" || decidedFrom !== "kernel" || relay !== null) return null;
  // A starting shell reads soon.
  if (foreground !== null && isInteractiveShell(foreground)) return null;
  return `${foreground?.name ?? "the program"} does not read its input now (${why}): typed text waits until something does`;
}

/**
 * Whether it holds text, and no Ctrl+C, Ctrl+Z or Ctrl+\, which affect a program that does not read and may end it.
 */
export function isText(bytes: Uint8Array): boolean {
  const acts = bytes.some((byte) => byte === 0x03 || byte === 0x1a || byte === 0x1c);
  return !acts && bytes.some((byte) => byte >= 0x20 || byte === 0x0d || byte === 0x0a);
}

/** Whether it begins with a line of text and Enter: no editor key precedes that. */
export function isLine(bytes: Uint8Array): boolean {
  const end = bytes.findIndex((byte) => byte < 0x20 || byte === 0x7f);
  return end > 0 && (bytes[end] === 0x0d || bytes[end] === 0x0a);
}
