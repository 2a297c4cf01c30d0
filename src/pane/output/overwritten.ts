/**
 * Text that a program printed and overwrote after a carriage return, such as the states of a progress line: no screen
 * or history shows it, but searches and waits find it. The newest texts are stored, within MOST_TEXTS and MOST_CHARS.
 *
 * Only for commands, and only while the terminal collects lines: line editors write over their own echo. Not while a
 * password is requested, and not on the alternate screen.
 */
import { hidesTypedText, type PtyFlags } from "../../pty/port.ts";
import type { ShellPhase } from "../state/shell-phase.ts";
import type { TerminalText } from "../text/text.ts";

const MAX_TEXTS = 2_048;
const MAX_CHARS = 262_144;
const DROP_BATCH = 64;
/** Characters of one text. */
const MAX_TEXT_LENGTH = 2_048;

interface OverwrittenText {
  /** Increases by one with each text. */
  readonly number: number;
  /** A lower bound of the output parsed when it was printed. */
  readonly offset: number;
  /** Offset at the start of the slice that printed it. */
  readonly sliceStart: number;
  /** Its logical line. */
  readonly line: number;
  readonly text: string;
  /** Whether it begins with text that was already at its positions in the line. */
  readonly startsWithStandingText: boolean;
}

const NONE: readonly OverwrittenText[] = [];

/** Our marks of a command's start (C) and end, line ends, and carriage returns that end no line. */
const TOKEN = /\x1b\]133;([A-D])[^\x07\x1b]*(?:\x07|\x1b\\)|\r?\n|\r/g;

interface OverwrittenPort {
  readonly text: Pick<TerminalText, "line" | "position">;
  flags(): PtyFlags | null;
  readonly log: { readonly phase: ShellPhase; shellHoldsTerminal(): boolean | null };
}

export class OverwrittenTexts {
  private texts: OverwrittenText[] = [];
  private chars = 0;
  private lastNumber = 0;
  private readonly decoder = new TextDecoder();

  constructor(private readonly port: OverwrittenPort) {}

  /** Number of the newest text. */
  get newestNumber(): number {
    return this.lastNumber;
  }

  /** A slice is about to be parsed. @param end offset at its end */
  noteSlice(slice: Uint8Array, end: number): void {
    const { text, flags, log } = this.port;
    const modes = flags();
    if (hidesTypedText(modes)) return;
    // By the time a quick command's output is read, the terminal is the shell's again.
    if (modes?.canonical === false && log.shellHoldsTerminal() === false) return;
    let isOutput = log.phase === "running" || (log.phase === "none" && modes?.canonical !== false);
    const { line: first, index } = text.position();
    let line = first;
    let standing = (text.line(first) ?? "").padEnd(index).slice(0, index);
    let part = "";
    let from = 0;
    const all = this.decoder.decode(slice);
    for (const { 0: token, 1: mark, index: at } of all.matchAll(TOKEN)) {
      part += all.slice(from, at);
      from = at + token.length;
      if (mark === undefined && token === "\r" && isOutput) {
        const sliceStart = end - slice.length;
        const startsWithStandingText = standing !== "";
        this.add({ offset: end, sliceStart, line, text: standing + plainText(part), startsWithStandingText });
      }
      if (mark !== undefined) isOutput = mark === "C";
      if (mark === undefined || isOutput) standing = part = "";
      if (token.endsWith("\n")) line++;
    }
  }

  /** Texts printed after an offset, oldest first. */
  textsSince(offset: number): readonly OverwrittenText[] {
    return this.texts.length === 0 ? NONE : this.texts.filter((each) => each.offset > offset);
  }

  /** Texts with a greater number. */
  textsAfter(number: number): readonly OverwrittenText[] {
    if (number >= this.lastNumber) return NONE;
    return this.texts.filter((each) => each.number > number);
  }

  private add(found: Omit<OverwrittenText, "number">): void {
    const text = found.text.trimEnd().slice(-MAX_TEXT_LENGTH);
    const before = this.texts.at(-1);
    if (text === "" || (before?.line === found.line && before.text === text)) return;
    this.texts.push({ ...found, text, number: ++this.lastNumber });
    this.chars += text.length;
    while (this.chars > MAX_CHARS || this.texts.length > MAX_TEXTS) {
      for (const gone of this.texts.splice(0, DROP_BATCH)) this.chars -= gone.text.length;
    }
  }
}

/** Strips escape sequences and control characters. */
function plainText(text: string): string {
  return text.replace(
    /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g,
    "",
  );
}

/** Overwritten texts by the number of their line in an output that begins at line `first`. */
export function groupByLine(texts: readonly OverwrittenText[], first: number): ReadonlyMap<number, readonly string[]> {
  const textsByLine = new Map<number, string[]>();
  for (const { line, text } of texts) {
    const number = line - first + 1;
    const ofLine = textsByLine.get(number);
    if (ofLine === undefined) textsByLine.set(number, [text]);
    else ofLine.push(text);
  }
  return textsByLine;
}
