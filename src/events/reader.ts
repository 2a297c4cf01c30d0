/**
 * Reads the journal of events from a cursor. Any process can use it without a server or session.
 *
 * Invariant: everything before `cursor` has been returned once or was not wanted. A line without its end is read later;
 * the unfinished line of a killed writer is skipped, but not the line that another process wrote after it.
 */
import fs from "node:fs";
import { platform } from "../platform/platform.ts";
import type { RecordedEvent } from "../protocol/recorded-events.ts";
import {
  endOf,
  formatCursor,
  type JournalCursor,
  parseCursor,
  SEGMENT_BYTES,
  segmentPath,
  segmentsIn,
  startOf,
} from "./segments.ts";

/** Bytes read at a time, and at most by one `read`: about 10 ms of work. */
const PIECE_BYTES = 256 * 1024;
const MOST_BYTES = 2 * 1024 * 1024;
/** Longest line that can be an event: texts of events are cut. */
const MAX_LINE_BYTES = 1024 * 1024;
/** Interval between checks where the system does not report changes of the journal, in ms. */
const BLIND_MS = 1_000;
/** Age of a line without an end, in ms, from which nobody is still writing it: a write takes microseconds. */
const WRITE_MS = 1_000;
const NEWLINE = 0x0a;
const BEGIN = '{"event":"';

/** An event of the journal, with the fields that only hooks use. */
export type JournalEvent = RecordedEvent & { readonly on?: readonly unknown[] };

interface ReadEvent {
  readonly event: JournalEvent;
  /** Cursor after the event. */
  readonly cursor: string;
}

export class EventReader {
  /** Some events after the given cursor have been deleted. */
  missed = false;
  private place: JournalCursor;

  /** @param since a cursor, start or now @throws WshError invalid_request */
  constructor(
    private readonly directory: string,
    since: string,
  ) {
    this.place = since === "now" ? endOf(directory) : since === "start" ? startOf(directory) : parseCursor(since);
  }

  get cursor(): string {
    return formatCursor(this.place);
  }

  /** @returns the next events, at most `limit`; empty: there are none, unless `more` */
  read(limit: number, isWanted: (event: JournalEvent) => boolean = () => true): { events: ReadEvent[]; more: boolean } {
    const events: ReadEvent[] = [];
    for (let bytes = 0; bytes < MOST_BYTES && events.length < limit; ) {
      const piece = this.piece();
      if (piece === null) return { events, more: false };
      bytes += piece.length;
      this.take(piece, events, limit, isWanted);
    }
    return { events, more: true };
  }

  /** Complete lines from the cursor on; null: there are none. */
  private piece(size = PIECE_BYTES): Buffer | null {
    const fd = this.open();
    if (fd === null) return null;
    try {
      const bytes = Buffer.allocUnsafe(size);
      const count = fs.readSync(fd, bytes, 0, size, this.place.offset);
      const last = bytes.subarray(0, count).lastIndexOf(NEWLINE);
      if (last >= 0) return bytes.subarray(0, last + 1);
      if (count < size) {
        if (!this.isCutAtEnd(fd, this.place.offset + count)) return null;
        this.moveTo(SEGMENT_BYTES);
        return this.piece();
      }
      if (size < MAX_LINE_BYTES) return this.piece(MAX_LINE_BYTES);
      this.moveTo(this.place.offset + count);
      return this.piece();
    } finally {
      fs.closeSync(fd);
    }
  }

  /** Whether the segment's last line will never end: a full disk cut it where writers continue with the next segment. */
  private isCutAtEnd(fd: number, end: number): boolean {
    if (end < SEGMENT_BYTES || Date.now() - fs.fstatSync(fd).mtimeMs < WRITE_MS) return false;
    return fs.existsSync(segmentPath(this.directory, this.place.segment + 1));
  }

  /** Opens the cursor's segment; if it was deleted, the oldest one. */
  private open(): number | null {
    const { segment, offset } = this.place;
    try {
      const fd = fs.openSync(segmentPath(this.directory, segment), "r");
      if (fs.fstatSync(fd).size >= offset) return fd;
      fs.closeSync(fd);
    } catch {
      const there = segmentsIn(this.directory);
      const isNext = offset === 0 && segment === (there.at(-1) ?? 0) + 1;
      if (there.length === 0 || isNext) return null;
    }
    // The segment was deleted, or another journal has replaced it.
    this.missed = true;
    this.place = startOf(this.directory);
    return this.open();
  }

  private take(piece: Buffer, events: ReadEvent[], limit: number, isWanted: (event: JournalEvent) => boolean): void {
    const { offset, segment } = this.place;
    for (let index = 0; index < piece.length && events.length < limit && this.place.segment === segment; ) {
      const end = piece.indexOf(NEWLINE, index);
      const event = eventOf(piece.toString("utf8", index, end));
      index = end + 1;
      this.moveTo(offset + index);
      if (event !== null && isWanted(event)) events.push({ event, cursor: this.cursor });
    }
  }

  private moveTo(offset: number): void {
    const { segment } = this.place;
    this.place = offset < SEGMENT_BYTES ? { segment, offset } : { segment: segment + 1, offset: 0 };
  }
}

function eventOf(line: string): JournalEvent | null {
  for (const text of [line, line.slice(line.lastIndexOf(BEGIN))]) {
    if (!text.startsWith(BEGIN)) continue;
    try {
      return JSON.parse(text) as JournalEvent;
    } catch {
      // A writer was killed while writing its line.
    }
  }
  return null;
}

/** Calls back when the journal may have grown. Keeps no process alive. */
export function watchEvents(directory: string, changed: () => void): Disposable {
  let watcher: { close(): void } | null = null;
  try {
    watcher = platform().sockets.watch(directory, changed, changed);
  } catch {
    // The directory does not exist, or the system's watches are exhausted.
  }
  const isBlind = watcher === null || !platform().sockets.reportsSockets;
  const timer = isBlind ? setInterval(changed, BLIND_MS) : null;
  timer?.unref();
  return {
    [Symbol.dispose]() {
      watcher?.close();
      clearInterval(timer ?? undefined);
    },
  };
}
