/** Whether a program takes what is typed. Pure. */
import { isInteractiveShell, type ProgramState } from "./classify.ts";

/** Why typed text waits: the kernel shows that the program does not read its terminal. Null: it may. */
export function unreadBy({ state, decidedFrom, relay, foreground, why }: ProgramState): string | null {
  if (state !== "running" || decidedFrom !== "kernel" || relay !== null) return null;
  // A shell that starts reads soon.
  if (foreground !== null && isInteractiveShell(foreground)) return null;
  return `${foreground?.name ?? "the program"} does not read its input now (${why}): typed text waits until something does`;
}

/** It holds text, and no Ctrl+C, Ctrl+Z or Ctrl+\\, which act on a program that does not read: it may end by them. */
export function isText(bytes: Uint8Array): boolean {
  const acts = bytes.some((byte) => byte === 0x03 || byte === 0x1a || byte === 0x1c);
  return !acts && bytes.some((byte) => byte >= 0x20 || byte === 0x0d || byte === 0x0a);
}

/** It begins with a line of text and Enter: no key of an editor comes before that. */
export function isLine(bytes: Uint8Array): boolean {
  const end = bytes.findIndex((byte) => byte < 0x20 || byte === 0x7f);
  return end > 0 && (bytes[end] === 0x0d || bytes[end] === 0x0a);
}
