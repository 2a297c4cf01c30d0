/**
 * Answers programs' queries to their terminal, each once.
 *
 * xterm answers DA1, DA2, DSR and DECRQM itself; this adds the rest from the profile, and reports the cursor's position
 * as a program counts it: from the margin in origin mode, in the last column while a wrap is pending. An answer never
 * contains text that the program chose: titles, answerback and the clipboard are not readable (they would be typed).
 * The kitty keyboard query is answered if the person's terminal has that protocol; unknown capabilities are denied.
 */
import type { IDisposable, Terminal } from "@xterm/headless";
import { type ModeTracker, SIZE_REPORTS } from "./modes.ts";
import { pictureTerminals } from "./pictures/picture.ts";
import type { TerminalProfile } from "./profile.ts";
import { ProgramColors } from "./program-colors.ts";
import { sgrOf } from "./rows/styles.ts";
import { penOf } from "./rows/xterm-row.ts";

/** Capabilities reported to XTGETTCAP: those that programs query to find 24-bit colour. */
const CAPABILITIES: Readonly<Record<string, string>> = { TN: "xterm-256color", Co: "256", colors: "256", RGB: "8/8/8" };
/** Names of one XTGETTCAP that are answered. */
const MAX_NAMES = 32;

/** Conformance levels of DECSCL: 61 is a VT100, 65 a VT500. */
const LOWEST_LEVEL = 61;
const HIGHEST_LEVEL = 65;
const DECRQM_LEVEL = 63;
/** Constant private reports (DECDSR): no printer, keys not locked, no locator, no link errors, one session. */
const STATUS_REPORTS: Readonly<Record<number, string>> = {
  15: "\x1b[?13n",
  25: "\x1b[?20n",
  26: "\x1b[?27;1n",
  53: "\x1b[?50n",
  55: "\x1b[?50n",
  56: "\x1b[?57;0n",
  62: "\x1b[0*{",
  75: "\x1b[?70n",
  85: "\x1b[?83n",
};
/** ANSI modes of ISO 6429 that no terminal like ours has, and DECHCCM: permanently off. */
const NEVER_ANSI: ReadonlySet<number> = new Set([1, 3, 5, 7, 10, 11, 13, 14, 15, 16, 17, 18, 19]);
const NEVER_PRIVATE: ReadonlySet<number> = new Set([60]);
/** DECRQM answers. */
const SET = 1;
const RESET = 2;
const PERMANENTLY_RESET = 4;
/** XTSMGRAPHICS: reading, and the number of colours that programs should use. */
const READ = 1;
const READ_MAX = 4;
const SIXEL_COLORS = 256;
/** The number of a macro whose checksum is requested is repeated in the answer: longer numbers are invalid. */
const MAX_MACRO = 999;

/** DSR 997: the colour scheme. */
export function schemeReport({ scheme }: TerminalProfile): string {
  return `\x1b[?997;${scheme === "dark" ? 1 : 2}n`;
}

export class QueryResponder {
  private readonly hooks: IDisposable[] = [];
  private readonly colors: ProgramColors;
  /** DECSCL: DECRQM needs level 3. */
  private conformanceLevel = HIGHEST_LEVEL;

  constructor(
    private readonly terminal: Terminal,
    private readonly modes: ModeTracker,
    private readonly profile: () => TerminalProfile,
    private readonly reply: (text: string) => void,
  ) {
    this.colors = new ProgramColors(terminal, profile, reply);
    this.installHooks();
  }

  dispose(): void {
    this.colors.dispose();
    for (const hook of this.hooks) hook.dispose();
  }

  /** Sequences that restore the colours set by programs. */
  colorSequences(): string {
    return this.colors.sequences;
  }

  /** The size has changed, for a program that requested in-band reports (mode 2048). */
  handleResize(): void {
    if (this.modes.wantsSizeReports) this.reportSize();
  }

  private reportSize(): void {
    const { rows, cols } = this.terminal;
    const { width, height } = this.profile().cell ?? { width: 0, height: 0 };
    this.reply(`\x1b[48;${rows};${cols};${rows * height};${cols * width}t`);
  }

  /** RIS. */
  reset(): void {
    this.conformanceLevel = HIGHEST_LEVEL;
    this.colors.reset();
  }

  private installHooks(): void {
    const { parser } = this.terminal;
    const say = (text: string): true => {
      this.reply(text);
      return true;
    };
    this.hooks.push(
      // xterm's answer, extended by sixel graphics.
      parser.registerCsiHandler({ final: "c" }, ([which]) => {
        return (which ?? 0) === 0 && pictureTerminals.size > 0 && say("\x1b[?1;2;4c");
      }),
      parser.registerCsiHandler({ prefix: "?", final: "S" }, ([item, action]) => this.answerGraphics(item, action)),
      parser.registerCsiHandler({ prefix: "=", final: "c" }, () => say("\x1bP!|00000000\x1b\\")),
      parser.registerEscHandler({ final: "Z" }, () => say("\x1b[?1;2c")),
      parser.registerCsiHandler({ prefix: ">", final: "q" }, () => say(`\x1bP>|${this.profile().version}\x1b\\`)),
      parser.registerCsiHandler({ final: "n" }, (params) => params[0] === 6 && say(`\x1b[${this.cursorPosition()}R`)),
      parser.registerCsiHandler({ prefix: "?", final: "n" }, (params) => {
        if (params[0] === 6) return say(`\x1b[?${this.cursorPosition()}R`);
        if (params[0] === 996) return say(schemeReport(this.profile()));
        return this.answerDeviceStatus(params);
      }),
      parser.registerCsiHandler(
        { prefix: "?", final: "u" },
        () => this.profile().kitty === true && say(`\x1b[?${this.modes.modes.kittyFlags}u`),
      ),
      parser.registerCsiHandler({ intermediates: '"', final: "p" }, ([level]) => {
        if (typeof level === "number" && level >= LOWEST_LEVEL && level <= HIGHEST_LEVEL) this.conformanceLevel = level;
        return true;
      }),
      parser.registerCsiHandler({ intermediates: "$", final: "p" }, ([mode]) => {
        if (this.conformanceLevel < DECRQM_LEVEL) return true;
        return typeof mode === "number" && NEVER_ANSI.has(mode) && say(`\x1b[${mode};${PERMANENTLY_RESET}$y`);
      }),
      parser.registerCsiHandler({ prefix: "?", intermediates: "$", final: "p" }, ([mode]) => {
        if (this.conformanceLevel < DECRQM_LEVEL) return true;
        if (typeof mode !== "number") return false;
        if (NEVER_PRIVATE.has(mode)) return say(`\x1b[?${mode};${PERMANENTLY_RESET}$y`);
        const value = this.modes.reportedMode(mode);
        return value !== null && say(`\x1b[?${mode};${value ? SET : RESET}$y`);
      }),
      parser.registerCsiHandler({ prefix: "?", final: "h" }, (params) => {
        // Reported at once, so that the program knows the current size; the next handler sets the mode.
        if (params.includes(SIZE_REPORTS)) this.reportSize();
        return false;
      }),
      parser.registerCsiHandler({ final: "t" }, (params) => this.answerSize(params[0])),
      parser.registerDcsHandler({ intermediates: "$", final: "q" }, (data) => this.answerSetting(data)),
      parser.registerDcsHandler({ intermediates: "+", final: "q" }, (data) => this.answerCapabilities(data)),
    );
  }

  private answerDeviceStatus([what, id]: readonly (number | number[])[]): boolean {
    if (typeof what !== "number") return false;
    const report = STATUS_REPORTS[what];
    if (report !== undefined) this.reply(report);
    // No macro is ever defined.
    else if (what === 63 && typeof id === "number" && id <= MAX_MACRO) this.reply(`\x1bP${id}!~0000\x1b\\`);
    else return false;
    return true;
  }

  private cursorPosition(): string {
    const { cols, buffer, modes } = this.terminal;
    const { cursorX, cursorY, type } = buffer.active;
    const first = modes.originMode ? this.modes.bufferState(type).top : 0;
    return `${cursorY - first + 1};${Math.min(cursorX, cols - 1) + 1}`;
  }

  private answerSize(operation: number | number[] | undefined): boolean {
    const { rows, cols } = this.terminal;
    const { cell } = this.profile();
    // Not minimized, in the corner of a screen that it fills: reveals nothing about the person's own window.
    if (operation === 11) this.reply("\x1b[1t");
    else if (operation === 13) this.reply("\x1b[3;0;0t");
    else if (operation === 19) this.reply(`\x1b[9;${rows};${cols}t`);
    else if (operation === 15 && cell !== undefined) this.reply(`\x1b[5;${rows * cell.height};${cols * cell.width}t`);
    else if (operation === 18) this.reply(`\x1b[8;${rows};${cols}t`);
    else if (operation === 14 && cell !== undefined) this.reply(`\x1b[4;${rows * cell.height};${cols * cell.width}t`);
    else if (operation === 16 && cell !== undefined) this.reply(`\x1b[6;${cell.height};${cell.width}t`);
    // The emulator keeps the title stack (22, 23).
    return operation !== 22 && operation !== 23;
  }

  /** XTSMGRAPHICS: the registers and the size of sixel graphics, which are fixed. */
  private answerGraphics(item: number | number[] | undefined, action: number | number[] | undefined): boolean {
    const { rows, cols } = this.terminal;
    const { cell } = this.profile();
    if (pictureTerminals.size === 0 || (action !== READ && action !== READ_MAX)) return false;
    if (item === 1) this.reply(`\x1b[?1;0;${SIXEL_COLORS}S`);
    else if (item === 2 && cell !== undefined) this.reply(`\x1b[?2;0;${cols * cell.width};${rows * cell.height}S`);
    return true;
  }

  private answerSetting(data: string): boolean {
    const setting = this.setting(data);
    if (setting !== null) this.reply(`\x1bP1$r${setting}${data}\x1b\\`);
    return setting !== null;
  }

  /** Parameters of the setting that DECRQSS requests, by its final characters; null when xterm answers. */
  private setting(end: string): string | null {
    const { rows, cols } = this.terminal;
    const { fg, bg } = penOf(this.terminal);
    switch (end) {
      case "m":
        return sgrOf(fg, bg, null).slice(2, -1);
      case " q":
        return String(this.modes.cursorStyle || 1);
      case '"p':
        return `${this.conformanceLevel};1`;
      // The page is as high as the screen, without side margins or a status line.
      case "t":
      case "*|":
        return String(rows);
      case "s":
        return `1;${cols}`;
      case "$}":
      case "$~":
        return "0";
      default:
        return null;
    }
  }

  private answerCapabilities(data: string): boolean {
    for (const hex of data.split(";", MAX_NAMES)) {
      const capability = /^(?:[0-9a-fA-F]{2})+$/.test(hex)
        ? CAPABILITIES[Buffer.from(hex, "hex").toString("latin1")]
        : undefined;
      // A denial does not repeat the name: it is the program's text.
      this.reply(
        capability === undefined ? "\x1bP0+r\x1b\\" : `\x1bP1+r${hex}=${Buffer.from(capability).toString("hex")}\x1b\\`,
      );
    }
    return true;
  }
}
