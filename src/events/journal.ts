/**
 * Appends events to the instance's journal. All session processes write without waiting for each other: one write(2)
 * appends each line to the newest segment, where the kernel puts concurrent writes one after the other. If others fill
 * the segment meanwhile and a line begins past its end, the line is written again into the next segment; readers skip
 * the first copy (segments.ts).
 *
 * Invariants: an appended event is in the file before `append` returns, or waits in memory until the next one; the next
 * write ends a line that a full disk cut. At the limit, the oldest waiting events are dropped.
 */
import fs from "node:fs";
import { ensureOwnDir } from "../instance/owned-files.ts";
import { KEPT_SEGMENTS, lastEventOf, SEGMENT_BYTES, segmentPath, segmentsIn } from "./segments.ts";

/** Events that wait in memory while the journal cannot be written. */
const MAX_PENDING = 1_000;

export class EventJournal {
  private fd: number | null = null;
  private segment = 0;
  private readonly pending: string[] = [];
  private torn = false;
  private isFailing = false;

  /** @param failed called when writing fails for the first time since the last success */
  constructor(
    private readonly directory: string,
    private readonly failed: (error: unknown) => void,
  ) {}

  append(event: object): void {
    this.pending.push(`${JSON.stringify(event)}\n`);
    if (this.pending.length > MAX_PENDING) this.pending.shift();
    try {
      for (let [line] = this.pending; line !== undefined; [line] = this.pending) {
        this.put(line);
        this.pending.shift();
      }
      this.isFailing = false;
    } catch (error) {
      if (!this.isFailing) this.failed(error);
      this.isFailing = true;
      this.close();
    }
  }

  /** The name and tags of a session in its last event; null: no recent one is kept. */
  lastOf(session: string): { readonly session: string; readonly tags: readonly string[] } | null {
    return lastEventOf(this.directory, session);
  }

  close(): void {
    if (this.fd !== null) fs.closeSync(this.fd);
    this.fd = null;
  }

  /** @throws the system's error; then the file has nothing of the line, or a part */
  private put(line: string): void {
    const bytes = Buffer.from(this.torn ? `\n${line}` : line);
    for (;;) {
      const fd = this.writable();
      const before = fs.fstatSync(fd).size;
      const written = fs.writeSync(fd, bytes);
      this.torn = written < bytes.length;
      if (this.torn) throw new Error("the disk is full");
      const after = fs.fstatSync(fd).size;
      if (after <= SEGMENT_BYTES || beginOf(bytes, fd, before, after) < SEGMENT_BYTES) return;
    }
  }

  /** The newest segment with room. */
  private writable(): number {
    if (this.fd !== null) {
      const { size, nlink } = fs.fstatSync(this.fd);
      if (size < SEGMENT_BYTES && nlink > 0) return this.fd;
      this.close();
    }
    ensureOwnDir(this.directory);
    const newest = segmentsIn(this.directory).at(-1) ?? 1;
    const size = fs.statSync(segmentPath(this.directory, newest), { throwIfNoEntry: false })?.size ?? 0;
    this.segment = size < SEGMENT_BYTES ? newest : newest + 1;
    const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW } = fs.constants;
    this.fd = fs.openSync(segmentPath(this.directory, this.segment), O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
    if (this.segment > newest) {
      for (const old of segmentsIn(this.directory))
        if (old <= this.segment - KEPT_SEGMENTS) fs.rmSync(segmentPath(this.directory, old), { force: true });
    }
    return this.fd;
  }
}

/** Start of our line among the bytes written since `before`. */
function beginOf(bytes: Buffer, fd: number, before: number, after: number): number {
  const region = Buffer.alloc(after - before);
  const count = fs.readSync(fd, region, 0, region.length, before);
  return before + Math.max(0, region.subarray(0, count).indexOf(bytes));
}
