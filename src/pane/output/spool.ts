/**
 * Lines of a command's output beyond what memory keeps, in a file: UTF-8, one line each. A file has no name,
 * so it disappears with the process. It is written in blocks of whole lines, in order; a jump in the numbers
 * means missing lines.
 *
 * A spool never stops its command: at its limit, on a full disk or on a slow one it stops taking lines and stores the
 * reason. The spools of a pane share a limit; the oldest output is evicted for the newest. A file that is being read is
 * closed when the last reader is done.
 */

import fs from "node:fs";
import { errorCode } from "../../base/errno.ts";
import { trimSpaces } from "../../terminal/rows/row-text.ts";
import type { LineSource, Overflow } from "../text/retained-lines.ts";

/** Bytes gathered before a write, and read back at once, unless one line is longer. */
const BLOCK_BYTES = 64 * 1024;
/** Duration of a block's write, in ms, from which a disk would delay the terminal. */
const SLOW_MS = 500;
/** Open files of a pane: far more large outputs than anyone returns to, far fewer than a process may open. */
const MAX_FILES = 32;

const CR = 0x0d;

export interface SpoolLimits {
  /** Bytes of one command. */
  readonly commandBytes: number;
  /** Bytes of all commands of the pane. */
  readonly totalBytes: number;
  /** Opens an empty file without a name. @returns its descriptor */
  openFile(): number;
}

/** Lines that were written together. */
export interface SpoolBlock {
  /** Number of its first line in the output. */
  readonly first: number;
  readonly count: number;
  readonly offset: number;
  readonly bytes: number;
}

/** The spools of a pane. */
export class Spools {
  /** Spools with a file, oldest first. */
  private readonly openSpools = new Set<Spool>();

  constructor(readonly limits: SpoolLimits) {}

  createSpool(): Spool {
    return new Spool(this);
  }

  /** Evicts other spools to extend one. @returns false when there is no room */
  reserve(spool: Spool, bytes: number): boolean {
    this.openSpools.add(spool);
    const isOver = (): boolean => {
      let held = bytes;
      for (const { storedBytes } of this.openSpools) held += storedBytes;
      return held > this.limits.totalBytes || this.openSpools.size > MAX_FILES;
    };
    while (isOver()) {
      const oldest = this.openSpools.values().next().value;
      if (oldest === undefined || oldest === spool) return false;
      oldest.drop("output of newer commands replaced it");
    }
    return true;
  }

  forget(spool: Spool): void {
    this.openSpools.delete(spool);
  }

  dispose(): void {
    for (const spool of [...this.openSpools]) spool.drop("the session has ended");
  }
}

/** A command's output between the head and the tail in memory. */
export class Spool implements Overflow {
  private descriptor: number | null = null;
  private blocks: SpoolBlock[] = [];
  /** Bytes in the file. */
  private writtenBytes = 0;
  /** Lines that are not in the file yet. */
  private pending: Buffer | null = null;
  private pendingBytes = 0;
  private pendingFirst = 0;
  private pendingCount = 0;
  /** The reason why it stopped taking lines. */
  private stopReason: string | null = null;
  private readers = 0;
  private isDropped = false;

  constructor(private readonly owner: Spools) {}

  /** Bytes in the file. */
  get storedBytes(): number {
    return this.writtenBytes;
  }

  addLine(number: number, text: string): void {
    if (this.stopReason === null) this.add(number, 1, Buffer.from(`${text}\n`));
  }

  addRun(number: number, source: LineSource, from: number, count: number): void {
    if (this.stopReason !== null) return;
    const bytes = source.bytes(from, from + count);
    if (bytes !== null) {
      this.add(number, count, bytes);
      return;
    }
    let text = "";
    for (let index = from; index < from + count; index++) text += `${source.text(index)}\n`;
    this.add(number, count, Buffer.from(text));
  }

  /** The command has ended. */
  end(): void {
    this.flush();
    this.pending = null;
  }

  /** Drops the file and its contents. */
  drop(why: string): void {
    this.isDropped = true;
    this.stopTaking(why);
    this.blocks = [];
    this.writtenBytes = 0;
    this.owner.forget(this);
    this.closeUnread();
  }

  /** A snapshot, readable until it is disposed of. */
  openView(): SpoolView {
    this.flush();
    const { descriptor, blocks, stopReason } = this;
    this.readers++;
    return new SpoolView(descriptor, [...blocks], stopReason, () => {
      this.readers--;
      this.closeUnread();
    });
  }

  private add(number: number, count: number, bytes: Uint8Array): void {
    const follows = this.pendingFirst + this.pendingCount === number;
    if (!follows || this.pendingBytes + bytes.length > BLOCK_BYTES) this.flush();
    if (this.stopReason !== null) return;
    if (bytes.length > BLOCK_BYTES) {
      this.write({ first: number, count, offset: this.writtenBytes, bytes: bytes.length }, bytes);
      return;
    }
    this.pending ??= Buffer.allocUnsafeSlow(BLOCK_BYTES);
    if (this.pendingCount === 0) this.pendingFirst = number;
    this.pending.set(bytes, this.pendingBytes);
    this.pendingBytes += bytes.length;
    this.pendingCount += count;
  }

  private flush(): void {
    const { pending, pendingBytes, pendingFirst, pendingCount } = this;
    if (pending === null || pendingCount === 0) return;
    this.pendingBytes = 0;
    this.pendingCount = 0;
    const block = { first: pendingFirst, count: pendingCount, offset: this.writtenBytes, bytes: pendingBytes };
    this.write(block, pending.subarray(0, pendingBytes));
  }

  private write(block: SpoolBlock, bytes: Uint8Array): void {
    const { commandBytes, totalBytes } = this.owner.limits;
    if (this.writtenBytes + block.bytes > commandBytes) {
      this.stopTaking(`the limit of ${commandBytes} bytes a command (spool_command_bytes) was reached`);
      return;
    }
    if (!this.owner.reserve(this, block.bytes)) {
      this.stopTaking(`the limit of ${totalBytes} bytes a session (spool_session_bytes) was reached`);
      return;
    }
    const began = performance.now();
    try {
      this.descriptor ??= this.owner.limits.openFile();
      // Near the end of a disk a write may be partial; the next attempt reports why.
      for (let index = 0; index < bytes.length; ) {
        index += fs.writeSync(this.descriptor, bytes, index, bytes.length - index, block.offset + index);
      }
    } catch (error) {
      this.stopTaking(`the file could not be written (${errorCode(error) || "no reason given"})`);
      return;
    }
    this.writtenBytes += block.bytes;
    this.blocks.push(block);
    this.joinLast();
    if (performance.now() - began > SLOW_MS) this.stopTaking("the disk is too slow");
  }

  /** Joins blocks that were written early, for a reader, with the next. */
  private joinLast(): void {
    const [before, last] = this.blocks.slice(-2);
    if (before === undefined || last === undefined || before.first + before.count !== last.first) return;
    if (before.bytes + last.bytes > BLOCK_BYTES) return;
    const joined = { ...before, count: before.count + last.count, bytes: before.bytes + last.bytes };
    this.blocks.splice(-2, 2, joined);
  }

  private stopTaking(why: string): void {
    this.stopReason ??= why;
    this.pending = null;
    this.pendingBytes = 0;
    this.pendingCount = 0;
  }

  private closeUnread(): void {
    if (!this.isDropped || this.readers > 0 || this.descriptor === null) return;
    fs.closeSync(this.descriptor);
    this.descriptor = null;
  }
}

/** A spool at one moment. */
export class SpoolView implements Disposable {
  private isOpen = true;

  constructor(
    private readonly descriptor: number | null,
    readonly blocks: readonly SpoolBlock[],
    /** The reason why it stopped taking lines; null while it takes them. */
    readonly stopReason: string | null,
    private readonly onDispose: () => void,
  ) {}

  /** The lines of a block. */
  read({ offset, bytes }: SpoolBlock): string[] {
    if (this.descriptor === null) return [];
    const buffer = Buffer.allocUnsafe(bytes);
    let length = 0;
    while (length < bytes) {
      const bytesRead = fs.readSync(this.descriptor, buffer, length, bytes - length, offset + length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    // Every line has its end; lines stored as printed also have a CR and blanks before it.
    return buffer
      .toString("utf8", 0, length - 1)
      .split("\n")
      .map(withoutEnd);
  }

  [Symbol.dispose](): void {
    if (this.isOpen) this.onDispose();
    this.isOpen = false;
  }
}

function withoutEnd(line: string): string {
  let end = line.length;
  while (end > 0 && line.charCodeAt(end - 1) === CR) end--;
  return trimSpaces(end === line.length ? line : line.slice(0, end));
}
