/**
 * State that the emulator's interface does not expose: margins, saved cursors, charsets, tab stops, mouse encoding, the
 * cursor's shape, keyboard protocols. Owns copies maintained by parser hooks, one per sequence; every hook returns
 * false, so the emulator does its own part after it. The copies follow xterm's behaviour, not a standard's: they exist
 * to put another terminal into the same state (`serialize.ts`) and to encode keys.
 */
import type { IDisposable, Terminal } from "@xterm/headless";
import type { CursorShape } from "../protocol/grid.ts";
import { type Pen, penOf } from "./rows/xterm-row.ts";
import { countClusters } from "./widths.ts";

export type MouseTracking = "none" | "x10" | "vt200" | "drag" | "any";
export type MouseEncoding = "default" | "utf8" | "sgr" | "urxvt" | "sgr-pixels";

export interface TerminalModes {
  readonly bracketedPaste: boolean;
  readonly applicationCursor: boolean;
  readonly applicationKeypad: boolean;
  readonly mouseTracking: MouseTracking;
  readonly mouseEncoding: MouseEncoding;
  readonly focusEvents: boolean;
  readonly cursorVisible: boolean;
  readonly cursorShape: CursorShape;
  readonly cursorBlink: boolean;
  /** Whether the program has chosen a shape (DECSCUSR); otherwise the person's own is used. */
  readonly cursorChosen: boolean;
  readonly kittyFlags: number;
  readonly modifyOtherKeys: 0 | 1 | 2;
  readonly wrap: boolean;
  readonly reverseWrap: boolean;
  readonly origin: boolean;
  readonly insert: boolean;
  /** LNM: a line feed returns the carriage too. */
  readonly newLine: boolean;
  readonly synchronizedOutput: boolean;
  /** DECSCNM. */
  readonly reverseVideo: boolean;
  /** Private mode 2031: the program wants to be notified of colour scheme changes. */
  readonly schemeUpdates: boolean;
}

interface SavedCursor {
  readonly x: number;
  /** Row of the buffer, not of the screen: xterm restores it relative to the rows scrolled since. */
  readonly y: number;
  readonly pen: Pen;
  readonly origin: boolean;
}

/** State of one of the two buffers. */
interface BufferState {
  top: number;
  bottom: number;
  savedCursor: SavedCursor | null;
  tabStops: Set<number>;
  kitty: number[];
}

/** Columns from one default tab stop to the next. */
export const TAB_WIDTH = 8;
/** Kitty keyboard: maximum levels of the stack, as in kitty. */
const KITTY_LEVELS = 16;
const KITTY_FLAGS = 0x1f;
/** Private modes that a client's terminal may support and the emulator does not: stored as set or reset. */
const EXTRA_MODES: ReadonlySet<number> = new Set([5, 1005, 1007, 1015, 1034, 1035, 1036, 1039, 2031, 2048]);
/** Extra modes that are off until set; each terminal decides how the others start. */
const EXTRA_OFF: ReadonlySet<number> = new Set([5, 1007]);
/** Modes without effect on a screen like this (DECSCLM, DECPFF, DECPEX): stored for programs that query them. */
const INERT_MODES: ReadonlySet<number> = new Set([4, 18, 19]);
/**
 * Mode in which the program counts graphemes. People's terminals count in their own way, and may count
 * graphemes without this mode.
 */
const CLUSTERS = 2027;
/** Colour scheme changes are reported while a terminal is attached that can report them. */
const SCHEME_UPDATES = 2031;
/** In-band reports of the size, which wsh sends itself: outer terminals are not asked for them. */
export const SIZE_REPORTS = 2048;
const CHARSET_FINALS = [..."0AB456789CEHKQRYZ=`f"];

type Param = number | number[];

function firstNumber(params: readonly Param[], index = 0): number {
  const param = params[index];
  return typeof param === "number" ? param : 0;
}

export class ModeTracker {
  private readonly normal: BufferState;
  private readonly alternate: BufferState;
  private readonly hooks: IDisposable[] = [];
  private isCursorVisible = true;
  private cursorStyleValue = 0;
  private mouseEncoding: MouseEncoding = "default";
  private modifyOtherKeys: 0 | 1 | 2 = 0;
  /** Extra modes by number, as last set. */
  readonly extraModes = new Map<number, boolean>();
  private readonly inertModes = new Set<number>();
  private isClusterMode = false;
  /** Final characters of the designations of G0–G3. */
  readonly charsets: string[] = ["B", "B", "B", "B"];
  /** The set in use. */
  activeCharset = 0;
  /** Levels of the normal screen's kitty stack when the shell's newest command began. */
  kittyLevelsAtCommand = 0;

  constructor(private readonly terminal: Terminal) {
    this.normal = initialState(terminal);
    this.alternate = initialState(terminal);
    this.installHooks();
  }

  get modes(): TerminalModes {
    const current = this.terminal.modes;
    return {
      bracketedPaste: current.bracketedPasteMode,
      applicationCursor: current.applicationCursorKeysMode,
      applicationKeypad: current.applicationKeypadMode,
      mouseTracking: current.mouseTrackingMode,
      mouseEncoding: this.mouseEncoding,
      focusEvents: current.sendFocusMode,
      cursorVisible: this.isCursorVisible,
      cursorChosen: this.cursorStyleValue !== 0,
      cursorShape:
        this.cursorStyleValue === 3 || this.cursorStyleValue === 4
          ? "underline"
          : this.cursorStyleValue >= 5
            ? "bar"
            : "block",
      cursorBlink:
        this.cursorStyleValue === 0 ? this.terminal.options.cursorBlink === true : this.cursorStyleValue % 2 === 1,
      kittyFlags: this.active.kitty.at(-1) ?? 0,
      modifyOtherKeys: this.modifyOtherKeys,
      wrap: current.wraparoundMode,
      reverseWrap: current.reverseWraparoundMode,
      origin: current.originMode,
      insert: current.insertMode,
      newLine: this.terminal.options.convertEol === true,
      synchronizedOutput: current.synchronizedOutputMode,
      reverseVideo: this.extraModes.get(5) ?? false,
      schemeUpdates: this.extraModes.get(2031) ?? false,
    };
  }

  /** Margins and tab stops of the displayed screen, and the cursor of the normal screen behind the alternate one. */
  get screenGeometry() {
    const { top, bottom, tabStops } = this.active;
    const { active, normal } = this.terminal.buffer;
    const behind = active.type === "normal" ? null : { row: normal.cursorY, col: normal.cursorX };
    return {
      top,
      bottom,
      tabs: [...tabStops].filter((x) => x > 0 && x < this.terminal.cols).toSorted((a, b) => a - b),
      behind,
    };
  }

  get cursorVisible(): boolean {
    return this.isCursorVisible;
  }

  /** Whether nothing is set that would change where or how plain text is printed. */
  get isPlain(): boolean {
    const { insertMode, wraparoundMode } = this.terminal.modes;
    const { top, bottom, tabStops } = this.active;
    const { rows, cols } = this.terminal;
    if (insertMode || !wraparoundMode || top !== 0 || bottom !== rows - 1) return false;
    if (this.charsets[this.activeCharset] !== "B") return false;
    for (let x = 0; x < cols; x++) if (tabStops.has(x) !== (x % TAB_WIDTH === 0)) return false;
    return true;
  }

  /** The same for DECRQM. Modes whose reports the user's terminal would send are not claimed: it may be detached. */
  reportedMode(mode: number): boolean | null {
    if (mode === CLUSTERS) return this.isClusterMode;
    if (mode === SCHEME_UPDATES) return this.modes.schemeUpdates;
    if (mode === SIZE_REPORTS) return this.wantsSizeReports;
    return EXTRA_OFF.has(mode) || INERT_MODES.has(mode) ? this.extraMode(mode) : null;
  }

  /** Whether the program wants a report of each new size. */
  get wantsSizeReports(): boolean {
    return this.extraModes.get(SIZE_REPORTS) ?? false;
  }

  /** Whether a mode that xterm does not have is set; null for an unknown one. */
  extraMode(mode: number): boolean | null {
    if (INERT_MODES.has(mode)) return this.inertModes.has(mode);
    return this.extraModes.get(mode) ?? (EXTRA_OFF.has(mode) ? false : null);
  }

  /** DECSCUSR as last set, 0 for the terminal's own. */
  get cursorStyle(): number {
    return this.cursorStyleValue;
  }

  /** State of the active or the other buffer. */
  bufferState(which: "normal" | "alternate"): Readonly<BufferState> {
    return which === "normal" ? this.normal : this.alternate;
  }

  /** The emulator was resized: margins are gone, new columns get default stops. */
  handleResize(): void {
    for (const state of [this.normal, this.alternate]) {
      state.top = 0;
      state.bottom = this.terminal.rows - 1;
      let stop = this.terminal.cols;
      if (!state.tabStops.has(stop)) {
        stop--;
        while (stop > 0 && !state.tabStops.has(stop)) stop--;
      }
      for (; stop < this.terminal.cols; stop += TAB_WIDTH) state.tabStops.add(stop);
    }
  }

  /** The shell runs a command: flags already on the stack do not belong to it. */
  noteCommandStart(): void {
    this.kittyLevelsAtCommand = this.normal.kitty.length;
  }

  /** The alternate buffer was left and forgotten. */
  handleAlternateExit(): void {
    this.alternate.top = 0;
    this.alternate.bottom = this.terminal.rows - 1;
    this.alternate.tabStops = defaultTabs(this.terminal.cols);
    this.alternate.kitty = [];
  }

  dispose(): void {
    for (const hook of this.hooks) hook.dispose();
  }

  private get active(): BufferState {
    return this.terminal.buffer.active.type === "normal" ? this.normal : this.alternate;
  }

  private hookCsi(
    id: { prefix?: string; intermediates?: string; final: string },
    run: (params: Param[]) => void,
  ): void {
    this.hooks.push(
      this.terminal.parser.registerCsiHandler(id, (params) => {
        run(params);
        return false;
      }),
    );
  }

  private hookEsc(id: { intermediates?: string; final: string }, run: () => void): void {
    this.hooks.push(
      this.terminal.parser.registerEscHandler(id, () => {
        run();
        return false;
      }),
    );
  }

  private installHooks(): void {
    this.hookCsi({ prefix: "?", final: "h" }, (params) => this.setPrivateModes(params, true));
    this.hookCsi({ prefix: "?", final: "l" }, (params) => this.setPrivateModes(params, false));
    this.hookCsi({ final: "r" }, (params) => this.setMargins(params));
    this.hookCsi({ intermediates: " ", final: "q" }, (params) => {
      const style = firstNumber(params);
      if (style <= 6) this.cursorStyleValue = style;
    });
    this.hookCsi({ intermediates: "!", final: "p" }, () => this.softReset());
    // With parameters it sets left and right margins, which this class does not keep.
    this.hooks.push(
      this.terminal.parser.registerCsiHandler({ final: "s" }, (params) => {
        if (params.length > 1 || firstNumber(params) !== 0) return true;
        this.saveCursor();
        return false;
      }),
    );
    this.hookEsc({ final: "7" }, () => this.saveCursor());
    this.hookCsi({ final: "g" }, (params) => {
      if (firstNumber(params) === 0) this.active.tabStops.delete(this.terminal.buffer.active.cursorX);
      else if (firstNumber(params) === 3) this.active.tabStops.clear();
    });
    this.hookEsc({ final: "H" }, () => this.active.tabStops.add(this.terminal.buffer.active.cursorX));
    this.hookEsc({ final: "c" }, () => this.hardReset());
    this.hookEsc({ final: "n" }, () => this.selectCharset(2));
    this.hookEsc({ final: "o" }, () => this.selectCharset(3));
    // Shifts of the right half of an eight-bit code: UTF-8 has no right half, and xterm would shift the left one.
    for (const final of "|}~") this.hooks.push(this.terminal.parser.registerEscHandler({ final }, () => true));
    this.hookCharsets();
    this.hookKeyboard();
  }

  private hookCharsets(): void {
    for (const [intermediates, set] of [
      ["(", 0],
      [")", 1],
      ["*", 2],
      ["+", 3],
      ["-", 1],
      [".", 2],
    ] as const) {
      for (const final of CHARSET_FINALS) {
        this.hookEsc({ intermediates, final }, () => {
          this.charsets[set] = final;
        });
      }
    }
    for (const final of ["@", "G"]) {
      this.hookEsc({ intermediates: "%", final }, () => {
        this.activeCharset = 0;
        this.charsets[0] = "B";
      });
    }
  }

  private hookKeyboard(): void {
    this.hookCsi({ prefix: ">", final: "u" }, (params) => {
      const { kitty } = this.active;
      kitty.push(firstNumber(params) & KITTY_FLAGS);
      if (kitty.length > KITTY_LEVELS) kitty.shift();
    });
    this.hookCsi({ prefix: "<", final: "u" }, (params) => {
      this.active.kitty.splice(-Math.max(firstNumber(params), 1));
    });
    this.hookCsi({ prefix: "=", final: "u" }, (params) => {
      const { kitty } = this.active;
      const flags = firstNumber(params) & KITTY_FLAGS;
      const now = kitty.pop() ?? 0;
      const how = firstNumber(params, 1);
      kitty.push(how === 2 ? now | flags : how === 3 ? now & ~flags : flags);
    });
    this.hookCsi({ prefix: ">", final: "m" }, (params) => {
      if (params.length > 0 && firstNumber(params) !== 4 && firstNumber(params) !== 0) return;
      const level = params.length > 1 ? firstNumber(params, 1) : 0;
      this.modifyOtherKeys = level === 1 || level === 2 ? level : 0;
    });
    this.hookCsi({ prefix: ">", final: "n" }, (params) => {
      if (firstNumber(params) === 4) this.modifyOtherKeys = 0;
    });
  }

  /** SO, SI and the locking shifts. */
  selectCharset(set: number): void {
    this.activeCharset = set;
  }

  private setPrivateModes(params: readonly Param[], on: boolean): void {
    for (const mode of params) {
      if (typeof mode !== "number") continue;
      if (mode === 25) this.isCursorVisible = on;
      else if (mode === CLUSTERS) this.setClusters(on);
      else if (mode === 1006) this.mouseEncoding = on ? "sgr" : "default";
      else if (mode === 1016) this.mouseEncoding = on ? "sgr-pixels" : "default";
      else if (mode === 2 && on) this.charsets.fill("B");
      else if ((mode === 1048 || mode === 1049) && on) this.saveCursor();
      else if (INERT_MODES.has(mode)) {
        if (on) this.inertModes.add(mode);
        else this.inertModes.delete(mode);
      } else if (EXTRA_MODES.has(mode)) {
        this.extraModes.set(mode, on);
        if (mode === 1005 || mode === 1015) this.mouseEncoding = on ? (mode === 1005 ? "utf8" : "urxvt") : "default";
      }
    }
  }

  private setMargins(params: readonly Param[]): void {
    const { rows } = this.terminal;
    const top = firstNumber(params) || 1;
    const second = firstNumber(params, 1);
    const bottom = params.length < 2 || second > rows || second === 0 ? rows : second;
    if (bottom <= top) return;
    this.active.top = top - 1;
    this.active.bottom = bottom - 1;
  }

  private saveCursor(): void {
    const { active } = this.terminal.buffer;
    this.active.savedCursor = {
      x: active.cursorX,
      y: active.baseY + active.cursorY,
      pen: penOf(this.terminal),
      origin: this.terminal.modes.originMode,
    };
  }

  private setClusters(on: boolean): void {
    this.isClusterMode = on;
    countClusters(this.terminal, on);
  }

  private softReset(): void {
    this.isCursorVisible = true;
    this.cursorStyleValue = 0;
    this.charsets.fill("B");
    this.activeCharset = 0;
    this.active.top = 0;
    this.active.bottom = this.terminal.rows - 1;
    this.active.savedCursor = null;
    this.modifyOtherKeys = 0;
    this.active.kitty = [];
  }

  private hardReset(): void {
    this.isCursorVisible = true;
    this.cursorStyleValue = 0;
    this.mouseEncoding = "default";
    this.modifyOtherKeys = 0;
    this.extraModes.clear();
    this.setClusters(false);
    this.inertModes.clear();
    this.charsets.fill("B");
    this.activeCharset = 0;
    Object.assign(this.normal, initialState(this.terminal));
    Object.assign(this.alternate, initialState(this.terminal));
    // Options outlive the emulator's own reset.
    this.terminal.options.convertEol = false;
    this.terminal.options.cursorBlink = false;
  }
}

function initialState(terminal: Terminal): BufferState {
  return { top: 0, bottom: terminal.rows - 1, savedCursor: null, tabStops: defaultTabs(terminal.cols), kitty: [] };
}

export function defaultTabs(cols: number): Set<number> {
  const tabs = new Set<number>();
  for (let x = 0; x < cols; x += TAB_WIDTH) tabs.add(x);
  return tabs;
}
