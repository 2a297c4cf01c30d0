/**
 * The spans and region writes of one element: how they are updated, merged, counted and limited.
 *
 * Pure. Invariants: the inputs are not changed; exceeding a limit is `resource_limit_reached` on creation and
 * `invalid_overlay` on a change (overlays and panels alike), as clients expect.
 */

import type { ElementSpan, ElementText, RegionWrite } from "../../protocol/drawing.ts";
import { type ElementLimits, MAX_SESSION_BYTES } from "../../protocol/drawing-limits.ts";
import { WshError } from "../../protocol/errors.ts";

/** @throws WshError when there are too many pieces or one is too long */
export function checkPieces(
  doing: "create" | "update",
  pieces: readonly ElementText[],
  what: "spans" | "writes",
  limits: ElementLimits,
): void {
  const code = doing === "create" ? "resource_limit_reached" : "invalid_overlay";
  if (pieces.length > limits.pieces) {
    throw new WshError(code, `${pieces.length} ${what}; an element may have ${limits.pieces}`, {
      hint: "Use fewer and longer pieces, or several elements.",
    });
  }
  for (const [index, { text }] of pieces.entries()) {
    const bytes = Buffer.byteLength(text);
    if (bytes > limits.pieceBytes) {
      throw new WshError(code, `the text of ${what}[${index}] has ${bytes} bytes; the limit is ${limits.pieceBytes}`);
    }
  }
}

/** @throws WshError `resource_limit_reached` when all texts of the session together are too long */
export function checkTotal(bytes: number): void {
  if (bytes <= MAX_SESSION_BYTES) return;
  throw new WshError("resource_limit_reached", `the elements' texts would have ${bytes} bytes together`, {
    hint: `Remove elements first; a session's elements hold at most ${MAX_SESSION_BYTES} bytes of text.`,
  });
}

/** UTF-8 bytes of the texts and of span ids. */
export function textBytes(spans: readonly ElementSpan[], writes: readonly RegionWrite[]): number {
  let bytes = 0;
  for (const { text, id } of spans) bytes += Buffer.byteLength(text) + Buffer.byteLength(id ?? "");
  for (const { text } of writes) bytes += Buffer.byteLength(text);
  return bytes;
}

/** Each stored span with the id of a sent one takes its text and style; if several were sent, the last one counts. */
export function updateSpansById(stored: readonly ElementSpan[], sent: readonly ElementSpan[]): ElementSpan[] {
  const byId = new Map(sent.flatMap((span) => (span.id === undefined ? [] : [[span.id, span] as const])));
  return stored.map((span) => (span.id === undefined ? span : (byId.get(span.id) ?? span)));
}

/** A new write replaces one at the same row and column; an empty list clears. */
export function mergeWrites(stored: readonly RegionWrite[], sent: readonly RegionWrite[]): RegionWrite[] {
  if (sent.length === 0) return [];
  const place = ({ row, col }: RegionWrite) => `${row},${col}`;
  const merged = new Map(stored.map((write) => [place(write), write]));
  for (const write of sent) {
    // Deleted first, so that the newest write is drawn last.
    merged.delete(place(write));
    merged.set(place(write), write);
  }
  return [...merged.values()];
}
