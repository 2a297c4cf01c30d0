/**
 * Texts copied in a session, newest first: in copy mode, by programs (OSC 52), and over the API. Stored in memory only,
 * within limits: the oldest is dropped first.
 */

import { WshError } from "../protocol/errors.ts";
import type { PasteBuffer } from "../protocol/paste.ts";
import { MAX_PASTE_BYTES } from "../protocol/paste.ts";

/** Maximum number of buffers, and their total bytes: several of the longest. */
const MAX_BUFFERS = 50;
const MAX_BYTES = 8 * MAX_PASTE_BYTES;
/** Characters of a buffer that lists show. */
const SHOWN = 80;

interface Kept {
  readonly id: number;
  readonly text: string;
  readonly bytes: number;
  /** Unix time in ms. */
  readonly at: number;
}

/** The notice after a copy: characters of a single line, else lines. */
export function describeCopy(text: string): string {
  const lines = text.replace(/\n$/, "").split("\n").length;
  const [count, unit] = lines === 1 ? [Array.from(text).length, "character"] : [lines, "line"];
  return `copied ${count} ${unit}${count === 1 ? "" : "s"}`;
}

export class PasteBuffers {
  private kept: Kept[] = [];
  private lastId = 0;

  /** The newest text; null without one. */
  get newest(): string | null {
    return this.kept[0]?.text ?? null;
  }

  /** Stores a text; one equal to the newest adds nothing. @throws WshError payload_too_large */
  add(text: string, at = Date.now()): PasteBuffer {
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_PASTE_BYTES) {
      throw new WshError(
        "payload_too_large",
        `the text has ${bytes} bytes; a paste buffer holds at most ${MAX_PASTE_BYTES}`,
      );
    }
    const [first] = this.kept;
    if (first?.text === text) return shown(first);
    const made: Kept = { id: ++this.lastId, text, bytes, at };
    this.kept = [made, ...this.kept].slice(0, MAX_BUFFERS);
    let total = 0;
    this.kept = this.kept.filter((each) => {
      total += each.bytes;
      return total <= MAX_BYTES;
    });
    return shown(made);
  }

  /** A program has copied text, in base64; overlong or empty text is ignored. */
  copied(base64: string): void {
    const text = Buffer.from(base64, "base64").toString();
    if (text !== "" && Buffer.byteLength(text) <= MAX_PASTE_BYTES) this.add(text);
  }

  list(): PasteBuffer[] {
    return this.kept.map(shown);
  }

  /** @param id absent: the newest @throws WshError buffer_not_found */
  get(id?: number): PasteBuffer & { readonly text: string } {
    const found = this.find(id);
    return { ...shown(found), text: found.text };
  }

  /** @throws WshError buffer_not_found */
  remove(id: number): PasteBuffer {
    const found = this.find(id);
    this.kept = this.kept.filter((each) => each !== found);
    return shown(found);
  }

  private find(id?: number): Kept {
    const found = id === undefined ? this.kept[0] : this.kept.find((each) => each.id === id);
    if (found !== undefined) return found;
    throw new WshError("buffer_not_found", id === undefined ? "nothing has been copied yet" : `no paste buffer ${id}`);
  }
}

function shown({ id, text, bytes, at }: Kept): PasteBuffer {
  return { id, bytes, at, begins: text.slice(0, SHOWN) };
}
