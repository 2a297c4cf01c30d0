/**
 * What the person's terminal says of its colours, so that programs which ask get a true answer from the host. Asked once
 * at the start and never waited for: the answers come among the keys, are taken out there, and are sent on when the last
 * one is here. Every terminal answers the last question (its device attributes), in order, so that tells that those
 * before it were answered or never will be.
 */
import type { TerminalColors } from "../protocol/attach.ts";

/** Foreground, background, cursor colour; kitty's keyboard flags; device attributes. */
const QUESTIONS = "\x1b]10;?\x1b\\\x1b]11;?\x1b\\\x1b]12;?\x1b\\\x1b[?u\x1b[c";
/**
 * How long an answer may be on its way when wsh ends, in ms, and how long after the question that is waited for: what
 * comes later would be typed into the person's shell.
 */
const LAST_WAIT_MS = 150;
const RECENT_MS = 2_000;

const names = new Map([
  ["10", "foreground"],
  ["11", "background"],
  ["12", "cursor"],
] as const);

/** What the terminal told of itself. */
export interface Answers extends TerminalColors {
  /** Kitty's keyboard flags as the person's own programs have set them. */
  readonly keyboardFlags?: number;
}

type Rgb = NonNullable<TerminalColors["foreground"]>;

export class Probe {
  private known: Answers = {};
  private askedAt: number | null = null;
  private readonly answered = Promise.withResolvers<void>();

  /** @param learned called once, if the terminal told anything */
  constructor(private readonly learned: (answers: Answers) => void) {}

  /** The bytes to write. */
  ask(): Uint8Array {
    this.askedAt = performance.now();
    return new TextEncoder().encode(QUESTIONS);
  }

  /** One answer of the terminal. */
  reply(bytes: Uint8Array): void {
    const text = new TextDecoder().decode(bytes);
    if (/^\x1b\[\?[\d;]*c$/.test(text)) {
      if (Object.keys(this.known).length > 0) this.learned(this.known);
      this.answered.resolve();
      return;
    }
    const flags = /^\x1b\[\?(\d+)u$/.exec(text)?.[1];
    if (flags !== undefined) this.known = { ...this.known, keyboardFlags: Number(flags) & 0x1f };
    const color = parseColor(text);
    if (color !== null) this.known = { ...this.known, [color.name]: color.rgb };
  }

  /** Resolves when the answers are here, or will hardly come any more. */
  async answers(): Promise<void> {
    if (this.askedAt !== null) await Promise.race([this.answered.promise, Bun.sleep(RECENT_MS)]);
  }

  /** Call before the terminal is given back. */
  async settled(): Promise<void> {
    if (this.askedAt === null || performance.now() - this.askedAt > RECENT_MS) return;
    await Promise.race([this.answered.promise, Bun.sleep(LAST_WAIT_MS)]);
  }
}

/** `OSC 11 ; rgb:RRRR/GGGG/BBBB`, with one to four digits each (XParseColor), ended by ST or BEL. */
export function parseColor(text: string): { readonly name: keyof TerminalColors; readonly rgb: Rgb } | null {
  const match = /^\x1b\](10|11|12);rgba?:([\da-f]{1,4})\/([\da-f]{1,4})\/([\da-f]{1,4})/i.exec(text);
  const [, code, r, g, b] = match ?? [];
  const name = code === "10" || code === "11" || code === "12" ? names.get(code) : undefined;
  if (name === undefined || r === undefined || g === undefined || b === undefined) return null;
  return { name, rgb: { r: level(r), g: level(g), b: level(b) } };
}

/** Hexadecimal of any length as 0–255. */
function level(digits: string): number {
  return Math.round((Number.parseInt(digits, 16) * 255) / (16 ** digits.length - 1));
}
