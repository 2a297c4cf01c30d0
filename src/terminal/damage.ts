/**
 * Tracks which rows of the screen have changed, and when.
 *
 * Owns a hash of every row and the epoch of its last change. Hashes are compared on request, if the epoch has changed
 * since (once a frame), so unwatched output costs nothing. Each consumer remembers the epoch up to which it has
 * painted; there is nothing to subscribe to.
 */
import { BG_EXTENDED, BG_STALE, CELL_WORDS, type StoredRow, usedCells } from "./rows/xterm-row.ts";

const COMBINED = 0x20_0000;

export class Damage {
  private highHashes: number[] = [];
  private lowHashes: number[] = [];
  private epochs: number[] = [];
  private checkedEpoch = -1;
  private cols = 0;

  /** Updates the table to `epoch`. */
  refresh(epoch: number, rows: number, cols: number, row: (y: number) => StoredRow): void {
    if (epoch === this.checkedEpoch && rows === this.epochs.length && cols === this.cols) return;
    const all = rows !== this.epochs.length || cols !== this.cols;
    if (all) {
      this.highHashes = new Array<number>(rows).fill(0);
      this.lowHashes = new Array<number>(rows).fill(0);
      this.epochs = new Array<number>(rows).fill(epoch);
      this.cols = cols;
    }
    for (let y = 0; y < rows; y++) if (this.differs(row(y), y, cols)) this.epochs[y] = epoch;
    this.checkedEpoch = epoch;
  }

  /** The epoch at which row `y` was found changed. */
  rowEpoch(y: number): number {
    return this.epochs[y] ?? 0;
  }

  /** Two hashes of 32 bits: a change that both miss is one in 10¹⁹. */
  private differs(row: StoredRow, y: number, cols: number): boolean {
    const data = row._data;
    // The rest of the row is plain blanks.
    const end = Math.min(cols, usedCells(row)) * CELL_WORDS;
    let a = 0x811c9dc5 ^ end;
    let b = 0x9e3779b9;
    for (let i = 0; i < end; i += CELL_WORDS) {
      const content = data[i] ?? 0;
      const fg = data[i + 1] ?? 0;
      const bg = (data[i + 2] ?? 0) & ~BG_STALE;
      a = Math.imul(a ^ content, 0x01000193) ^ Math.imul(fg, 0x27d4eb2f) ^ bg;
      b = Math.imul((b ^ (b >>> 15)) + content, 0x85ebca6b) + Math.imul(bg, 0xc2b2ae35) + fg;
      if ((content & COMBINED) !== 0) {
        const text = row._combined[i / CELL_WORDS] ?? "";
        for (let k = 0; k < text.length; k++) a = Math.imul(a ^ text.charCodeAt(k), 0x01000193);
      }
      if ((bg & BG_EXTENDED) !== 0) {
        const extended = row._extendedAttrs[i / CELL_WORDS];
        if (extended !== undefined) a = Math.imul(a ^ extended._ext, 0x01000193) + extended.urlId;
      }
    }
    if (this.highHashes[y] === a && this.lowHashes[y] === b) return false;
    this.highHashes[y] = a;
    this.lowHashes[y] = b;
    return true;
  }
}
