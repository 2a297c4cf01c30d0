/**
 * Completes sequences that xterm executes only in part.
 *
 * Owns the remaining work for the slice being parsed: the scanner ends a slice at each of these sequences
 * (`client-filter.ts`), a hook records the part that xterm omits, and `finish` runs after xterm has parsed the slice.
 * Invariant: other terminals end in xterm's state. Effects that they produce themselves are fed only to xterm; effects
 * that they may omit too are fed to xterm and returned for them; sequences that xterm ignores are not sent to them at
 * all.
 */
import type { Terminal } from "@xterm/headless";
import { privateMode } from "./mode-values.ts";
import type { ModeTracker } from "./modes.ts";
import { SideMargins } from "./side-margins.ts";

/** ED 1 from the last column, in steps that xterm survives: there, it reads a row below the last one. */
const ERASE_ABOVE = "\x1b[D\x1b[1J\x1b[C\x1b[X";
/** Modes of one XTSAVE or XTRESTORE that are read. */
const MAX_SAVED = 32;

type Params = readonly (number | number[])[];

const encoder = new TextEncoder();

export class Completions {
  private isEraseAbovePending = false;
  /** Fed to xterm and to other terminals; applying it twice is harmless. */
  private pendingOutput = "";
  /** For other terminals: xterm has executed it already. */
  private clientOutput = "";
  /** Saved by XTSAVE. */
  private readonly savedModes = new Map<number, boolean>();
  private readonly sideMargins: SideMargins;

  constructor(
    private readonly terminal: Terminal,
    private readonly modes: ModeTracker,
  ) {
    const { parser } = terminal;
    this.sideMargins = new SideMargins(terminal);
    parser.registerEscHandler({ final: "8" }, () => this.restoreCursor());
    parser.registerEscHandler({ final: "c" }, () => {
      this.savedModes.clear();
      return false;
    });
    parser.registerEscHandler({ intermediates: "#", final: "8" }, () => {
      // DECALN removes the margins; that homes the cursor, as DECALN itself does.
      this.pendingOutput = "\x1b[r";
      return false;
    });
    parser.registerCsiHandler({ intermediates: "'", final: "}" }, (params) => this.editColumns(params, "'}"));
    parser.registerCsiHandler({ intermediates: "'", final: "~" }, (params) => this.editColumns(params, "'~"));
    parser.registerCsiHandler({ prefix: "?", final: "s" }, (params) => this.saveModes(params));
    parser.registerCsiHandler({ prefix: "?", final: "r" }, (params) => this.restoreModes(params));
  }

  /** The terminal was resized. */
  handleResize(): void {
    this.sideMargins.reset();
  }

  /** Whether nothing remains to be done, as after nearly every slice. */
  get isDone(): boolean {
    return !this.isEraseAbovePending && this.pendingOutput === "" && this.clientOutput === "";
  }

  /** Finishes the slice through `feed`; returns the bytes that other terminals need, usually null. */
  finish(feed: (bytes: Uint8Array) => void): Uint8Array | null {
    if (this.isEraseAbovePending) {
      feed(encoder.encode(ERASE_ABOVE));
      this.isEraseAbovePending = false;
    }
    const { pendingOutput, clientOutput } = this;
    if (pendingOutput === "" && clientOutput === "") return null;
    this.pendingOutput = "";
    this.clientOutput = "";
    if (pendingOutput !== "") feed(encoder.encode(pendingOutput));
    return encoder.encode(clientOutput + pendingOutput);
  }

  /** The replacement, fed to xterm and to other terminals, for a sequence that only wsh executes. */
  queueOutput(text: string): void {
    this.pendingOutput += text;
  }

  /** ED 1, before xterm executes it; true: xterm must not execute it. */
  interceptEraseAbove(): boolean {
    const { cols, buffer } = this.terminal;
    // The steps themselves contain one, a column further left.
    if (buffer.active.cursorX < cols - 1) return false;
    this.isEraseAbovePending = true;
    return true;
  }

  /** DECRC: origin mode is restored too, and changing it moves the cursor. */
  private restoreCursor(): boolean {
    const { terminal, modes } = this;
    const { active } = terminal.buffer;
    const { savedCursor, top } = modes.bufferState(active.type);
    const origin = savedCursor?.origin ?? false;
    if (origin === terminal.modes.originMode) return false;
    const y =
      (savedCursor === null ? 0 : Math.min(Math.max(savedCursor.y - active.baseY, 0), terminal.rows - 1)) -
      (origin ? top : 0);
    this.pendingOutput = `\x1b[?6${origin ? "h" : "l"}\x1b[${Math.max(0, y) + 1};${(savedCursor?.x ?? 0) + 1}H`;
    return false;
  }

  /** DECIC and DECDC do nothing while the cursor is outside the margins. */
  private editColumns([count]: Params, final: string): boolean {
    const { active } = this.terminal.buffer;
    const { top, bottom } = this.modes.bufferState(active.type);
    if (active.cursorY < top || active.cursorY > bottom || !this.sideMargins.contains(active.cursorX)) return true;
    this.clientOutput = `\x1b[${typeof count === "number" && count > 0 ? count : 1}${final}`;
    return false;
  }

  private saveModes(params: Params): boolean {
    for (const mode of params.slice(0, MAX_SAVED)) {
      const value = typeof mode === "number" ? privateMode(this.terminal, this.modes, mode) : null;
      if (value !== null && typeof mode === "number") this.savedModes.set(mode, value);
    }
    return true;
  }

  /** Modes that were never saved remain unchanged. */
  private restoreModes(params: Params): boolean {
    for (const mode of params.slice(0, MAX_SAVED)) {
      const value = typeof mode === "number" ? this.savedModes.get(mode) : undefined;
      if (value !== undefined) this.pendingOutput += `\x1b[?${mode}${value ? "h" : "l"}`;
    }
    return true;
  }
}
