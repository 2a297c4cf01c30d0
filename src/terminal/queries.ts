/**
 * Answers to what programs ask their terminal, each given once.
 *
 * xterm answers DA1, DA2, DSR and DECRQM itself; this adds the rest from the profile, and reports the cursor's place as
 * a program counts it: from the margin in origin mode, in the last column while a wrap is pending. An answer never
 * carries text that the program chose: titles, answerback and the clipboard stay unread (they would be typed). The kitty
 * keyboard query and unknown capabilities stay unanswered or are denied.
 */
import type { IDisposable, Terminal } from "@xterm/headless";
import type { Rgb } from "../protocol/palette.ts";
import type { ModeTracker } from "./modes.ts";
import { paletteColor, type TerminalProfile } from "./profile.ts";
import { sgrOf } from "./rows/styles.ts";
import { penOf } from "./rows/xterm-row.ts";

/** Capabilities told to XTGETTCAP: those that programs ask for to find 24-bit colour. */
const CAPABILITIES: Readonly<Record<string, string>> = { TN: "xterm-256color", Co: "256", colors: "256", RGB: "8/8/8" };
/** Names in one XTGETTCAP that are looked at. */
const MAX_NAMES = 32;

/** Conformance levels of DECSCL: 61 is a VT100, 65 a VT500. */
const LOWEST_LEVEL = 61;
const HIGHEST_LEVEL = 65;
const DECRQM_LEVEL = 63;
/** Private reports (DECDSR) that always are the same: no printer, keys not locked, no locator, no link errors, one session. */
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
/** The number of a macro whose checksum is asked for is repeated: more digits are no such number. */
const MAX_MACRO = 999;

type Special = "foreground" | "background" | "cursor";
const SPECIALS: readonly Special[] = ["foreground", "background", "cursor"];

export class QueryResponder {
  private readonly hooks: IDisposable[] = [];
  /** Colours that the program has set itself. */
  private readonly palette = new Map<number, Rgb>();
  private readonly special = new Map<Special, Rgb>();
  /** DECSCL: before level 3 there is no DECRQM. */
  private level = HIGHEST_LEVEL;

  constructor(
    private readonly terminal: Terminal,
    private readonly modes: ModeTracker,
    private readonly profile: () => TerminalProfile,
    private readonly reply: (text: string) => void,
  ) {
    this.hook();
  }

  dispose(): void {
    for (const hook of this.hooks) hook.dispose();
  }

  /** Sequences that set the colours which the program has set. */
  colorSequences(): string {
    let text = "";
    for (const [index, rgb] of this.palette) text += `\x1b]4;${index};${spec(rgb)}\x1b\\`;
    for (const [at, name] of SPECIALS.entries()) {
      const rgb = this.special.get(name);
      if (rgb !== undefined) text += `\x1b]${10 + at};${spec(rgb)}\x1b\\`;
    }
    return text;
  }

  /** RIS. */
  reset(): void {
    this.level = HIGHEST_LEVEL;
    this.palette.clear();
    this.special.clear();
  }

  private hook(): void {
    const { parser } = this.terminal;
    const say = (text: string): true => {
      this.reply(text);
      return true;
    };
    this.hooks.push(
      parser.registerCsiHandler({ prefix: "=", final: "c" }, () => say("\x1bP!|00000000\x1b\\")),
      parser.registerEscHandler({ final: "Z" }, () => say("\x1b[?1;2c")),
      parser.registerCsiHandler({ prefix: ">", final: "q" }, () => say(`\x1bP>|${this.profile().version}\x1b\\`)),
      parser.registerCsiHandler({ final: "n" }, (params) => params[0] === 6 && say(`\x1b[${this.place()}R`)),
      parser.registerCsiHandler({ prefix: "?", final: "n" }, (params) => {
        if (params[0] === 6) return say(`\x1b[?${this.place()}R`);
        if (params[0] === 996) return say(`\x1b[?997;${this.profile().scheme === "dark" ? 1 : 2}n`);
        return this.deviceStatus(params);
      }),
      parser.registerCsiHandler({ intermediates: '"', final: "p" }, ([level]) => {
        if (typeof level === "number" && level >= LOWEST_LEVEL && level <= HIGHEST_LEVEL) this.level = level;
        return true;
      }),
      parser.registerCsiHandler({ intermediates: "$", final: "p" }, () => this.level < DECRQM_LEVEL),
      parser.registerCsiHandler({ prefix: "?", intermediates: "$", final: "p" }, () => this.level < DECRQM_LEVEL),
      parser.registerCsiHandler({ final: "t" }, (params) => this.size(params[0])),
      parser.registerDcsHandler({ intermediates: "$", final: "q" }, (data) => this.status(data)),
      parser.registerDcsHandler({ intermediates: "+", final: "q" }, (data) => this.capabilities(data)),
      parser.registerOscHandler(4, (data) => this.indexed(data)),
      parser.registerOscHandler(104, (data) => this.forget(data)),
    );
    for (const at of SPECIALS.keys()) {
      this.hooks.push(
        parser.registerOscHandler(10 + at, (data) => this.dynamic(data, at)),
        parser.registerOscHandler(110 + at, () => {
          const name = SPECIALS[at];
          return name !== undefined && this.special.delete(name);
        }),
      );
    }
  }

  private deviceStatus([what, id]: readonly (number | number[])[]): boolean {
    if (typeof what !== "number") return false;
    const report = STATUS_REPORTS[what];
    if (report !== undefined) this.reply(report);
    // No macro is ever defined.
    else if (what === 63 && typeof id === "number" && id <= MAX_MACRO) this.reply(`\x1bP${id}!~0000\x1b\\`);
    else return false;
    return true;
  }

  private place(): string {
    const { cols, buffer, modes } = this.terminal;
    const { cursorX, cursorY, type } = buffer.active;
    const first = modes.originMode ? this.modes.of(type).top : 0;
    return `${cursorY - first + 1};${Math.min(cursorX, cols - 1) + 1}`;
  }

  private size(operation: number | number[] | undefined): boolean {
    const { rows, cols } = this.terminal;
    const { cell } = this.profile();
    // Not minimized, in the corner of a screen that it fills: nothing of the person's own window.
    if (operation === 11) this.reply("\x1b[1t");
    else if (operation === 13) this.reply("\x1b[3;0;0t");
    else if (operation === 19) this.reply(`\x1b[9;${rows};${cols}t`);
    else if (operation === 15 && cell !== undefined) this.reply(`\x1b[5;${rows * cell.height};${cols * cell.width}t`);
    else if (operation === 18) this.reply(`\x1b[8;${rows};${cols}t`);
    else if (operation === 14 && cell !== undefined) this.reply(`\x1b[4;${rows * cell.height};${cols * cell.width}t`);
    else if (operation === 16 && cell !== undefined) this.reply(`\x1b[6;${cell.height};${cell.width}t`);
    // The title's stack (22, 23) is the emulator's.
    return operation !== 22 && operation !== 23;
  }

  private status(data: string): boolean {
    if (data === "m") {
      const { fg, bg } = penOf(this.terminal);
      this.reply(`\x1bP1$r${sgrOf(fg, bg, null).slice(2)}\x1b\\`);
      return true;
    }
    if (data === " q") {
      this.reply(`\x1bP1$r${this.modes.cursorStyle || 1} q\x1b\\`);
      return true;
    }
    return false;
  }

  private capabilities(data: string): boolean {
    for (const hex of data.split(";", MAX_NAMES)) {
      const known = /^(?:[0-9a-fA-F]{2})+$/.test(hex)
        ? CAPABILITIES[Buffer.from(hex, "hex").toString("latin1")]
        : undefined;
      // A denial does not repeat the name: it is the program's text.
      this.reply(known === undefined ? "\x1bP0+r\x1b\\" : `\x1bP1+r${hex}=${Buffer.from(known).toString("hex")}\x1b\\`);
    }
    return true;
  }

  private indexed(data: string): boolean {
    const parts = data.split(";");
    for (let i = 0; i + 1 < parts.length; i += 2) {
      const index = Number(parts[i]);
      if (!Number.isInteger(index) || index < 0 || index > 255) continue;
      const value = parts[i + 1] ?? "";
      if (value === "?") {
        const rgb = this.palette.get(index) ?? paletteColor(this.profile(), index);
        this.reply(`\x1b]4;${index};${spec(rgb)}\x1b\\`);
      } else {
        const rgb = parseColor(value);
        if (rgb !== null) this.palette.set(index, rgb);
      }
    }
    return true;
  }

  private forget(data: string): boolean {
    if (data === "") this.palette.clear();
    for (const part of data.split(";")) this.palette.delete(Number(part));
    return true;
  }

  /** OSC 10, 11, 12: further parameters go to the following colours. */
  private dynamic(data: string, from: number): boolean {
    for (const [i, value] of data.split(";").entries()) {
      const name = SPECIALS[from + i];
      if (name === undefined) break;
      if (value === "?") {
        const rgb = this.special.get(name) ?? this.profile()[name];
        this.reply(`\x1b]${10 + from + i};${spec(rgb)}\x1b\\`);
      } else {
        const rgb = parseColor(value);
        if (rgb !== null) this.special.set(name, rgb);
      }
    }
    return true;
  }
}

/** XParseColor's form with 16 bits a channel, which every program reads. */
function spec({ r, g, b }: Rgb): string {
  const channel = (value: number): string => value.toString(16).padStart(2, "0").repeat(2);
  return `rgb:${channel(r)}/${channel(g)}/${channel(b)}`;
}

function parseColor(text: string): Rgb | null {
  const hash = /^#([0-9a-fA-F]+)$/.exec(text)?.[1];
  if (hash !== undefined) {
    const digits = hash.length / 3;
    if (![1, 2, 3, 4].includes(digits)) return null;
    // XParseColor: these are the highest bits of a channel, and "#fff" is a light grey.
    const channel = (at: number): number =>
      parseInt(
        hash
          .slice(at * digits, (at + 1) * digits)
          .padEnd(2, "0")
          .slice(0, 2),
        16,
      );
    return { r: channel(0), g: channel(1), b: channel(2) };
  }
  const channels = /^rgb:([0-9a-fA-F]{1,4})\/([0-9a-fA-F]{1,4})\/([0-9a-fA-F]{1,4})$/.exec(text)?.slice(1);
  if (channels === undefined) return null;
  const [r = 0, g = 0, b = 0] = channels.map((hex) => Math.round((parseInt(hex, 16) / (16 ** hex.length - 1)) * 255));
  return { r, g, b };
}
