/**
 * The emulator with its hooks, answers, modes and hot window.
 *
 * Owns xterm. Parsing is synchronous, so events reach the sink while a slice is being parsed: only `position`
 * may be read then. xterm can throw on unusual input: a new instance of the same size replaces it. History
 * and the line count are kept, the screen's contents are moved into history, and the sink is notified.
 */
import { Terminal } from "@xterm/headless";
import { type AnnouncementSink, Announcements } from "./announcements.ts";
import { BypassedLines } from "./bypass/bypass.ts";
import { Completions } from "./completions.ts";
import { History, type RetiredLines } from "./history/history.ts";
import { HOT_ROWS, HotWindow } from "./history/hot-window.ts";
import { loadLines } from "./history/load.ts";
import { disruptiveModes, disruptiveModesOff, leftoverModesOff } from "./leftover-modes.ts";
import type { Position } from "./marks.ts";
import { ModeTracker } from "./modes.ts";
import { Pictures } from "./pictures/pictures.ts";
import type { TerminalProfile } from "./profile.ts";
import { PromptRows } from "./prompt-rows.ts";
import { QueryResponder, schemeReport } from "./queries.ts";
import { LinkTable } from "./rows/hyperlinks.ts";
import { addWidths } from "./widths.ts";

export type ResetReason =
  | "alternate_screen_enter"
  | "alternate_screen_exit"
  | "resize"
  | "parser_restart"
  | "clear_screen"
  | "clear_scrollback"
  | "hard_reset";

export interface EmulatorSink extends AnnouncementSink {
  /** Whether chunks should contain the program's original bytes. */
  wantsRaw?(): boolean;
  /** Answers to queries, to be written to the PTY. */
  reply(bytes: Uint8Array): void;
  bell(): void;
  alternate(active: boolean): void;
  reset(reason: ResetReason): void;
  /** The error that the emulator threw before it was replaced, for the log. */
  crashed?(error: unknown): void;
  /** History drops its oldest lines; long ones arrive in pieces. Text of other lines remains readable. */
  retired?(lines: RetiredLines): void;
  /** The cursor of the normal screen may move up, or lines move or are erased: existing text may be overwritten. */
  displacing?(): void;
  /** The slice about to be parsed writes over text after a carriage return. @param end offset at its end */
  overwriting?(slice: Uint8Array, end: number): void;
  /** Text below this position was erased while text above it remains: a menu is being redrawn. */
  erasedBelow?(top: Position): void;
}

export interface EmulatorOptions {
  readonly rows: number;
  readonly cols: number;
  /** Maximum logical lines above the screen. */
  readonly historyLines: number;
  readonly historyBytes: number;
  readonly profile: TerminalProfile;
}

/** One xterm and the objects built on it; replaced as a whole. */
interface EmulatorParts {
  readonly terminal: Terminal;
  readonly modes: ModeTracker;
  readonly queries: QueryResponder;
  readonly hot: HotWindow;
  readonly bypassed: BypassedLines;
  readonly completions: Completions;
  readonly prompt: PromptRows;
  readonly pictures: Pictures;
}

/** CUU, CPL, CUP, HVP, VPA, restored cursor, SU, SD, IL, DL; RI, DECRC. */
const UPWARD_SEQUENCES = { csi: ["A", "F", "H", "f", "d", "u", "S", "T", "L", "M"], esc: ["M", "8"] } as const;

const CR = 0x0d;
const LF = 0x0a;

/** Whether a slice has a carriage return that does not end a line. Runs per slice. */
function overwritesText(slice: Uint8Array): boolean {
  for (let index = slice.indexOf(CR); index >= 0; index = slice.indexOf(CR, index + 1)) {
    const next = slice[index + 1];
    if (next !== LF && next !== CR) return true;
  }
  return false;
}

const encoder = new TextEncoder();

export class Emulator {
  readonly links = new LinkTable();
  profile: TerminalProfile;
  private readonly packedHistory: History;
  private readonly announcements: Announcements;
  private parts: EmulatorParts;
  private isOnAlternate = false;
  /** Offset at the end of the slice that is being parsed. */
  private sliceEnd = 0;
  private isModeResetPending = false;
  private scrolledAwayRows = 0;

  constructor(
    private readonly options: EmulatorOptions,
    private readonly sink: EmulatorSink,
  ) {
    this.profile = options.profile;
    this.packedHistory = new History(options.cols, (lines) => this.sink.retired?.(lines));
    this.announcements = new Announcements(sink, this.links, {
      position: () => this.position(),
      sliceEnd: () => this.sliceEnd,
    });
    this.parts = this.createParts(options.rows, options.cols, -1);
  }

  get title(): string {
    return this.announcements.title;
  }

  /** Directory as the shell last reported it (OSC 7). */
  get cwd(): string | null {
    return this.announcements.cwd;
  }

  get rows(): number {
    return this.parts.terminal.rows;
  }

  get cols(): number {
    return this.parts.terminal.cols;
  }

  /** Notifies programs that requested it (mode 2031) of a new colour scheme. */
  setProfile(profile: TerminalProfile): void {
    const isOther = profile.scheme !== this.profile.scheme;
    this.profile = profile;
    if (isOther && this.modes.modes.schemeUpdates) this.sink.reply(encoder.encode(schemeReport(profile)));
  }

  get modes(): ModeTracker {
    return this.parts.modes;
  }

  get queries(): QueryResponder {
    return this.parts.queries;
  }

  get pictures(): Pictures {
    return this.parts.pictures;
  }

  /** Rows of the normal screen that left a scroll region below its first row: they are lost. */
  get scrolledAway(): number {
    return this.scrolledAwayRows;
  }

  /** Whether the alternate screen is shown. */
  get alternate(): boolean {
    return this.isOnAlternate;
  }

  get terminal(): Terminal {
    this.settle();
    return this.parts.terminal;
  }

  get hot(): HotWindow {
    this.settle();
    return this.parts.hot;
  }

  get history(): History {
    this.settle();
    return this.packedHistory;
  }

  /** Takes lines that need no parsing and begin before `limit`; returns their end. */
  bypassLines(bytes: Uint8Array, from: number, limit: number): number {
    return this.parts.bypassed.takeLines(bytes, from, limit);
  }

  /** Loads saved lines into history; `first` is the number of the first. Call before anything is parsed. */
  loadLines(lines: Uint8Array, first: number): void {
    const { rows, cols } = this;
    const { hot } = this.parts;
    hot.setFirstLine(first);
    if (loadLines(lines, { hot, cols, feed: (bytes) => this.feed(bytes) })) this.replaceParts(rows, cols, hot.lastLine);
    this.trim();
  }

  /** Trims history to its limits: call after every chunk. */
  trim(): void {
    this.parts.bypassed.trim();
  }

  /**
   * Parses a slice, which scrolls at most `MAX_SCROLL` rows; `end` is the offset at its end.
   * @returns bytes parsed after it that no program printed, for other terminals to follow; usually null
   */
  parse(slice: Uint8Array, end: number): Uint8Array | null {
    this.settle();
    this.sliceEnd = end;
    if (!this.isOnAlternate && overwritesText(slice)) this.sink.overwriting?.(slice, end);
    try {
      this.feed(slice);
      if (!this.isModeResetPending) {
        const { completions } = this.parts;
        return completions.isDone ? null : completions.finish((bytes) => this.feed(bytes));
      }
      this.isModeResetPending = false;
      return this.resetLeftoverModes();
    } catch (error) {
      // xterm has stopped in the middle of its state and would parse nothing more.
      this.recover(error);
    }
    return null;
  }

  /** Switches off modes that programs left on, at the end of the slice being parsed: at a mark. */
  resetModesAfterSlice(): void {
    this.isModeResetPending = true;
  }

  /** @param redraws see `HotWindow.resize` */
  resize(rows: number, cols: number, redraws: boolean): void {
    const { hot } = this;
    if (redraws && cols < this.cols) this.parts.prompt.cutRows(cols);
    hot.resize(cols, rows, redraws);
    this.modes.handleResize();
    this.queries.handleResize();
    this.parts.completions.handleResize();
  }

  /** Position of the cursor on the normal screen. */
  position(): Position {
    const { bypassed } = this.parts;
    if (!bypassed.isEmpty) return bypassed.position;
    const { cursorX, cursorY } = this.terminal.buffer.normal;
    return this.hot.position(cursorY, cursorX);
  }

  dispose(): void {
    const { terminal, modes, queries, pictures } = this.parts;
    for (const part of [modes, queries, pictures]) part.dispose();
    terminal.dispose();
  }

  private createParts(rows: number, cols: number, lastLine: number): EmulatorParts {
    const terminal = new Terminal({
      rows,
      cols,
      scrollback: HOT_ROWS,
      allowProposedApi: true,
      logLevel: "off",
      windowOptions: {
        getWinState: true,
        getWinPosition: true,
        getScreenSizePixels: true,
        getScreenSizeChars: true,
        getWinSizePixels: true,
        getCellSizePixels: true,
        getWinSizeChars: true,
        pushTitle: true,
        popTitle: true,
      },
    });
    addWidths(terminal);
    const { historyLines, historyBytes } = this.options;
    const limits = { lines: historyLines, bytes: historyBytes };
    const hot = new HotWindow(terminal, this.packedHistory, this.links, limits, lastLine);
    const modes = new ModeTracker(terminal);
    const bypassed = new BypassedLines(terminal, modes, hot, (bytes) => parseNow(terminal, bytes));
    const say = (text: string): void => this.sink.reply(encoder.encode(text));
    const queries = new QueryResponder(terminal, modes, () => this.profile, say);
    terminal.onData((data) => {
      if (data !== "") say(data);
    });
    const completions = new Completions(terminal, modes);
    this.installHooks(terminal);
    const prompt = new PromptRows(terminal);
    const pictures = new Pictures(terminal, modes, () => this.profile, say);
    pictures.readSixel((text) => completions.queueOutput(text));
    return { terminal, modes, queries, hot, bypassed, completions, prompt, pictures };
  }

  private replaceParts(rows: number, cols: number, lastLine: number): void {
    this.dispose();
    this.parts = this.createParts(rows, cols, lastLine);
  }

  private recover(error: unknown): void {
    const { terminal, hot } = this.parts;
    hot.retireScreen();
    hot.retireAll();
    this.replaceParts(terminal.rows, terminal.cols, hot.lastLine);
    if (this.isOnAlternate) this.sink.alternate(false);
    this.isOnAlternate = false;
    this.sink.crashed?.(error);
    this.sink.reset("parser_restart");
  }

  private feed(bytes: Uint8Array): void {
    const { terminal, hot } = this.parts;
    hot.prepare();
    parseNow(terminal, bytes);
  }

  /** Modes that make the screen wrong, by name. */
  get disruptiveModes(): string[] {
    this.settle();
    return disruptiveModes(this.parts.terminal, this.modes);
  }

  /** Switches off modes that a program left on. @param isEditing keep the modes of an editor that reads a line */
  resetDisruptiveModes(isEditing: boolean): Uint8Array | null {
    this.settle();
    return this.feedReset(disruptiveModesOff(this.parts.terminal, this.modes, isEditing));
  }

  private resetLeftoverModes(): Uint8Array | null {
    return this.feedReset(leftoverModesOff(this.parts.terminal, this.modes));
  }

  private feedReset(text: string): Uint8Array | null {
    if (text === "") return null;
    const bytes = encoder.encode(text);
    this.feed(bytes);
    // The hooks do not report SI.
    this.modes.selectCharset(0);
    return bytes;
  }

  private settle(): void {
    const { bypassed } = this.parts;
    if (bypassed.isEmpty) return;
    try {
      bypassed.settle();
    } catch (error) {
      this.recover(error);
    }
  }

  private installHooks(terminal: Terminal): void {
    const { parser } = terminal;
    terminal.onBell(() => this.sink.bell());
    terminal.onScroll(() => {
      if (!this.isOnAlternate && this.modes.bufferState("normal").top > 0) this.scrolledAwayRows++;
    });
    terminal.buffer.onBufferChange((buffer) => this.handleBufferChange(buffer.type === "alternate"));
    this.announcements.installHooks(terminal);
    parser.registerCsiHandler({ final: "J" }, (params) => this.handleErase(params[0]));
    parser.registerEscHandler({ final: "c" }, () => this.handleHardReset());
    for (const final of UPWARD_SEQUENCES.csi) parser.registerCsiHandler({ final }, () => this.reportDisplacing());
    for (const final of UPWARD_SEQUENCES.esc) parser.registerEscHandler({ final }, () => this.reportDisplacing());
  }

  private reportDisplacing(): boolean {
    if (!this.isOnAlternate) this.sink.displacing?.();
    return false;
  }

  private handleBufferChange(entered: boolean): void {
    // RIS reports a change to the normal buffer even when it was active.
    if (!entered) this.hot.handleActivation();
    if (entered === this.isOnAlternate) return;
    this.isOnAlternate = entered;
    if (!entered) this.modes.handleAlternateExit();
    this.sink.alternate(entered);
    this.sink.reset(entered ? "alternate_screen_enter" : "alternate_screen_exit");
  }

  /** ED, before xterm executes it. The contents of a fully erased screen go to history. */
  private handleErase(what: number | number[] | undefined): boolean {
    if (what === 1) this.reportDisplacing();
    if (what === 1) return this.parts.completions.interceptEraseAbove();
    const { active, normal } = this.terminal.buffer;
    const onNormal = active.type === "normal";
    if (what === 2 || (what === 0 && onNormal && active.cursorX === 0 && active.cursorY === 0)) {
      if (onNormal) this.hot.retireScreen();
      // Blank rows do not go to history, but the next output there is new in any case.
      if (onNormal) this.sink.erasedBelow?.(this.hot.position(0, 0));
      this.sink.reset("clear_screen");
    } else if (what === 0 && onNormal) this.handleEraseBelow();
    if (what === 3 && onNormal) {
      if (normal.baseY > 0) this.hot.retireAll();
      this.history.clear();
      this.sink.reset("clear_scrollback");
    }
    return false;
  }

  /** Acts only when the next row contains text: most programs erase below a cursor that has nothing below it. */
  private handleEraseBelow(): void {
    const { baseY, cursorX, cursorY } = this.terminal.buffer.normal;
    const next = this.terminal.buffer.normal.getLine(baseY + cursorY + 1);
    if (next === undefined || next.translateToString(true) === "") return;
    this.reportDisplacing();
    this.sink.erasedBelow?.(this.hot.position(cursorY, cursorX));
  }

  /** RIS, before xterm executes it: history is kept. */
  private handleHardReset(): boolean {
    this.hot.retireScreen();
    this.hot.retireAll();
    this.queries.reset();
    this.sink.reset("hard_reset");
    return false;
  }
}

/**
 * xterm parses a write at once if input precedes it: with an empty queue, `write` is synchronous. Otherwise
 * each write would wait 1 ms for a timer.
 */
function parseNow(terminal: Terminal, bytes: Uint8Array): void {
  terminal.input("", true);
  terminal.write(bytes);
}
