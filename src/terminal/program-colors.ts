/**
 * Colours of the terminal that programs set, query and reset: the palette (OSC 4), those of bold and the like (OSC 5),
 * foreground, background and cursor (OSC 10 to 12).
 *
 * Owns the colours that programs have set; the others are the profile's. A query is answered once, in the form of the
 * query. RIS clears everything.
 */
import type { IDisposable, Terminal } from "@xterm/headless";
import type { Rgb } from "../protocol/palette.ts";
import { colorSpec, parseColorSpec } from "./color-spec.ts";
import { paletteColor, type TerminalProfile } from "./profile.ts";

const PALETTE_SIZE = 256;
/** Bold, underlined, blinking, reversed, italic text; in OSC 4 they follow the palette. */
const ATTRIBUTE_COLORS = 5;

type Dynamic = "foreground" | "background" | "cursor";
const DYNAMICS: readonly Dynamic[] = ["foreground", "background", "cursor"];

export class ProgramColors {
  private readonly hooks: IDisposable[] = [];
  /** By number in OSC 4. */
  private readonly indexedColors = new Map<number, Rgb>();
  private readonly dynamicColors = new Map<Dynamic, Rgb>();

  constructor(
    terminal: Terminal,
    private readonly profile: () => TerminalProfile,
    private readonly reply: (text: string) => void,
  ) {
    const { parser } = terminal;
    this.hooks.push(
      parser.registerOscHandler(4, (data) => this.setIndexed("4", data, 0, PALETTE_SIZE + ATTRIBUTE_COLORS)),
      parser.registerOscHandler(5, (data) => this.setIndexed("5", data, PALETTE_SIZE, ATTRIBUTE_COLORS)),
      parser.registerOscHandler(104, (data) => this.resetColors(data, 0, PALETTE_SIZE)),
      parser.registerOscHandler(105, (data) => this.resetColors(data, PALETTE_SIZE, ATTRIBUTE_COLORS)),
    );
    for (const [at, name] of DYNAMICS.entries()) {
      this.hooks.push(
        parser.registerOscHandler(10 + at, (data) => this.setDynamic(data, at)),
        parser.registerOscHandler(110 + at, () => {
          this.dynamicColors.delete(name);
          return true;
        }),
      );
    }
  }

  dispose(): void {
    for (const hook of this.hooks) hook.dispose();
  }

  /** Sequences that restore the colours set by programs. */
  get sequences(): string {
    let text = "";
    for (const [index, rgb] of this.indexedColors) {
      const form = index < PALETTE_SIZE ? `4;${index}` : `5;${index - PALETTE_SIZE}`;
      text += `\x1b]${form};${colorSpec(rgb)}\x1b\\`;
    }
    for (const [at, name] of DYNAMICS.entries()) {
      const rgb = this.dynamicColors.get(name);
      if (rgb !== undefined) text += `\x1b]${10 + at};${colorSpec(rgb)}\x1b\\`;
    }
    return text;
  }

  reset(): void {
    this.indexedColors.clear();
    this.dynamicColors.clear();
  }

  /** Pairs of number and colour; numbers start at `first`, `count` of them. */
  private setIndexed(osc: string, data: string, first: number, count: number): boolean {
    const parts = data.split(";");
    for (let i = 0; i + 1 < parts.length; i += 2) {
      const number = Number(parts[i] === "" ? Number.NaN : parts[i]);
      if (!Number.isInteger(number) || number < 0 || number >= count) continue;
      const value = parts[i + 1] ?? "";
      if (value === "?") this.reply(`\x1b]${osc};${number};${colorSpec(this.color(first + number))}\x1b\\`);
      else {
        const rgb = parseColorSpec(value);
        if (rgb !== null) this.indexedColors.set(first + number, rgb);
      }
    }
    return true;
  }

  private color(index: number): Rgb {
    const set = this.indexedColors.get(index);
    if (set !== undefined) return set;
    // Bold and the like use the foreground until a colour is set.
    return index < PALETTE_SIZE ? paletteColor(this.profile(), index) : this.dynamicColor("foreground");
  }

  private dynamicColor(name: Dynamic): Rgb {
    return this.dynamicColors.get(name) ?? this.profile()[name];
  }

  /** Clears the listed colours, or all if none is listed. */
  private resetColors(data: string, first: number, count: number): boolean {
    for (const index of [...this.indexedColors.keys()]) {
      const isListed = data === "" || data.split(";").includes(String(index - first));
      if (index >= first && index < first + count && isListed) this.indexedColors.delete(index);
    }
    return true;
  }

  /** Further parameters apply to the following colours. */
  private setDynamic(data: string, from: number): boolean {
    for (const [i, value] of data.split(";").entries()) {
      const name = DYNAMICS[from + i];
      if (name === undefined) break;
      if (value === "?") this.reply(`\x1b]${10 + from + i};${colorSpec(this.dynamicColor(name))}\x1b\\`);
      else {
        const rgb = parseColorSpec(value);
        if (rgb !== null) this.dynamicColors.set(name, rgb);
      }
    }
    return true;
  }
}
