/**
 * Asks the person's terminal about itself: its colours, so that programs that ask get a true answer from the session
 * process; for rendering, its number of colours and its widths of disputed characters; and kitty's keyboard flags, to
 * be restored. The questions are sent once, at the start, and never awaited: the answers arrive among the keys, are
 * filtered out there, and are reported after the last one. Every terminal answers the last question (its device
 * attributes), in order, so that answer shows that the earlier ones are complete or will never come.
 */
import type { TerminalColors } from "../protocol/attach.ts";
import { present } from "../protocol/defined.ts";
import type { Size } from "../protocol/size.ts";
import type { ColorDepth } from "./render/color-depth.ts";
import { ignoresApplicationCommands, readsControlStrings } from "./render/modes.ts";
import { computeWidths, type OuterWidths, parseReportedColumn, widthQuestions } from "./width-probe.ts";

/** Foreground, background, cursor colour; kitty's keyboard flags; pixels of a cell. */
const QUESTIONS = "\x1b]10;?\x1b\\\x1b]11;?\x1b\\\x1b]12;?\x1b\\\x1b[?u\x1b[16t";
/**
 * DECRQM of paste events, which come with images; XTGETTCAP of RGB and Co; DECRQSS of a colour that needs true colour.
 */
const DEPTH_QUESTIONS = "\x1b[?5522$p\x1bP+q524742;436f\x1b\\\x1b[38;2;1;2;3m\x1bP$qm\x1b\\\x1b[m";
/** Kitty's graphics protocol: a pixel that is not stored. */
const GRAPHICS_QUESTION = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\";
/** Among the device attributes: it has sixel graphics. */
const SIXEL_ATTRIBUTE = "4";
const DEVICE_ATTRIBUTES = "\x1b[c";
/** Number of colours that a terminal with 24 bits per colour reports (Co). */
const TRUE_COLORS = 2 ** 24;
/**
 * Longest wait for an answer when wsh ends, in ms, counted from the question: a later answer would be typed into the
 * person's shell.
 */
const LAST_WAIT_MS = 150;
const RECENT_MS = 2_000;

const colorNames = new Map([
  ["10", "foreground"],
  ["11", "background"],
  ["12", "cursor"],
] as const);

type Rgb = NonNullable<TerminalColors["foreground"]>;

interface Questions {
  /** The terminal understands device control strings; some others print them. */
  readonly depth: boolean;
  /** It ignores application commands; multiplexers take one for a title. */
  readonly graphics: boolean;
  /** The screen is empty, the cursor at home, and there are enough rows. */
  readonly widths: boolean;
}

/** @param size its size, while its screen is empty */
export function questionsFor(env: Readonly<Record<string, string | undefined>>, { rows }: Size): Questions {
  return { depth: readsControlStrings(env), graphics: ignoresApplicationCommands(env), widths: rows > 1 };
}

/** The terminal's answers; unanswered properties are absent. */
export interface Answers {
  readonly colors?: TerminalColors;
  readonly depth?: ColorDepth;
  readonly widths?: OuterWidths;
  /** Kitty's keyboard flags as the person's own programs have set them. */
  readonly keyboardFlags?: number;
  /** It has kitty's graphics protocol; of use with 24-bit colour, by which pictures are numbered. */
  readonly graphics?: boolean;
  /** It hands over images of its clipboard. */
  readonly images?: boolean;
  /** It has sixel graphics. */
  readonly sixel?: boolean;
}

export class TerminalProbe {
  private received: Answers = {};
  private reportedColumns: number[] = [];
  private askedAt: number | null = null;
  private readonly completion = Promise.withResolvers<void>();

  /** @param onAnswers called once, when the last answer has arrived */
  constructor(private readonly onAnswers: (answers: Answers) => void) {}

  /** The bytes to write. */
  buildQuestions({ depth, graphics, widths }: Questions): Uint8Array {
    this.askedAt = performance.now();
    const questions = (widths ? widthQuestions() : "") + QUESTIONS + (depth ? DEPTH_QUESTIONS : "");
    return new TextEncoder().encode(questions + (graphics ? GRAPHICS_QUESTION : "") + DEVICE_ATTRIBUTES);
  }

  /** Handles one answer of the terminal. */
  handleReply(bytes: Uint8Array): void {
    const text = new TextDecoder().decode(bytes);
    const attributes = /^\x1b\[\?([\d;]*)c$/.exec(text)?.[1];
    if (attributes !== undefined) {
      // The first is the terminal's level.
      if (attributes.split(";").slice(1).includes(SIXEL_ATTRIBUTE)) this.received = { ...this.received, sixel: true };
      this.onAnswers(this.received);
      this.completion.resolve();
      return;
    }
    this.received = { ...this.received, ...this.parseReply(text) };
  }

  private parseReply(text: string): Answers {
    const column = parseReportedColumn(text);
    if (column !== null) {
      this.reportedColumns.push(column);
      const widths = computeWidths(this.reportedColumns);
      return present({ widths });
    }
    const flags = /^\x1b\[\?(\d+)u$/.exec(text)?.[1];
    if (flags !== undefined) return { keyboardFlags: Number(flags) & 0x1f };
    // 0 and 4: the mode is unknown, or cannot be set.
    if (/^\x1b\[\?5522;[123]\$y$/.test(text)) return { images: true };
    if (/^\x1b_Gi=31;OK/.test(text)) return { graphics: true };
    const cell = parseCell(text);
    if (cell !== null) return { colors: { ...this.received.colors, cell } };
    const depth = parseDepth(text);
    // A terminal that reports true colour has it, whatever else it reports.
    if (depth !== null) return this.received.depth === "truecolor" ? {} : { depth };
    const color = parseColor(text);
    return color === null ? {} : { colors: { ...this.received.colors, [color.name]: color.rgb } };
  }

  /** Resolves when the answers are here, or are unlikely to come. */
  async waitForAnswers(): Promise<void> {
    if (this.askedAt !== null) await Promise.race([this.completion.promise, Bun.sleep(RECENT_MS)]);
  }

  /** Call before the terminal is restored. */
  async waitForLastAnswer(): Promise<void> {
    if (this.askedAt === null || performance.now() - this.askedAt > RECENT_MS) return;
    await Promise.race([this.completion.promise, Bun.sleep(LAST_WAIT_MS)]);
  }
}

/** Pixels of a cell (XTWINOPS 16), of a terminal that has them; null: no such answer, or none that can be. */
function parseCell(text: string): TerminalColors["cell"] | null {
  const [, height, width] = /^\x1b\[6;(\d{1,3});(\d{1,3})t$/.exec(text) ?? [];
  const cell = { width: Number(width), height: Number(height) };
  return cell.width > 0 && cell.height > 0 ? cell : null;
}

/** Number of colours that an answer to XTGETTCAP or DECRQSS reports; null when it reports none. */
export function parseDepth(text: string): ColorDepth | null {
  const style = /^\x1bP1\$r([\d;:]*)m/.exec(text)?.[1];
  if (style !== undefined) return /38[:;]2[:;](?:\d*:)?1[:;]2[:;]3(?!\d)/.test(style) ? "truecolor" : null;
  const capabilities = /^\x1bP1\+r([\da-fA-F=;]*)/.exec(text)?.[1];
  if (capabilities === undefined) return null;
  for (const capability of capabilities.split(";")) {
    const [name = "", value = ""] = capability.split("=").map((hex) => Buffer.from(hex, "hex").toString("latin1"));
    if (name === "RGB") return "truecolor";
    if (name === "Co" && Number(value) >= TRUE_COLORS) return "truecolor";
    if (name === "Co" && Number(value) >= 256) return 256;
  }
  return null;
}

/** `OSC 11 ; rgb:RRRR/GGGG/BBBB`, with one to four digits each (XParseColor), ended by ST or BEL. */
export function parseColor(
  text: string,
): { readonly name: "foreground" | "background" | "cursor"; readonly rgb: Rgb } | null {
  const match = /^\x1b\](10|11|12);rgba?:([\da-f]{1,4})\/([\da-f]{1,4})\/([\da-f]{1,4})/i.exec(text);
  const [, code, r, g, b] = match ?? [];
  const name = code === "10" || code === "11" || code === "12" ? colorNames.get(code) : undefined;
  if (name === undefined || r === undefined || g === undefined || b === undefined) return null;
  return { name, rgb: { r: scaleComponent(r), g: scaleComponent(g), b: scaleComponent(b) } };
}

/** Converts hexadecimal of any length to 0–255. */
function scaleComponent(digits: string): number {
  return Math.round((Number.parseInt(digits, 16) * 255) / (16 ** digits.length - 1));
}
