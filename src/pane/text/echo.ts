/**
 * Distinguishes the echo of input from output, so that a wait for a text does not end with the text just typed.
 *
 * Input is remembered by line. Its echo is searched for at the cursor's position when it was sent, and if it
 * is not there (type-ahead, several lines at once), at the end of the lines that follow; a found echo is
 * masked by position while its text is there: a program may print over it. So output is hidden only if it
 * repeats the typed text at that very position. Passwords are not remembered: a terminal that takes lines
 * without echo shows none. Limited: remembered lines, their length and age, and the number of masks.
 */

import type { Clock } from "../../base/clock.ts";
import { PASTE_BEGIN, PASTE_END } from "../../protocol/pasted-text.ts";
import type { PtyFlags } from "../../pty/port.ts";
import type { Mask } from "./masks.ts";
import type { TerminalText, TextPosition } from "./text.ts";

/** Input lines that wait for their echo; a longer paste is remembered by its first lines. */
const MAX_LINES = 64;
/** Characters remembered of one input line. */
const MAX_LINE_LENGTH = 4_096;
/** How long an echo may take, in ms; type-ahead is searched for again at the next prompt. */
const ECHO_MS = 10_000;
/** Lines of output after the input that are searched for its echo. */
const MAX_DISTANCE = 500;
/** Lines with masks; no wait reads older ones, which have scrolled past. */
const MAX_MASKED = 1_024;

interface ExpectedEcho {
  readonly text: string;
  /** Where it must begin; null when it is searched for at the end of lines. */
  startsAt: TextPosition | null;
  /** First and last line that are searched. */
  from: number;
  to: number;
  readonly until: number;
}

/** Ctrl+C, Ctrl+Z, Ctrl+\: the terminal discards what was typed before, and no prompt shows the key again. */
const DISCARDS = /[\x03\x1a\x1c]([^\x03\x1a\x1c]*)$/;
const WORD = /[\p{L}\p{N}_]/u;

/** `text`: the echo, without blanks at its end. */
type EchoMask = Mask & { readonly text: string };

/** One line of typed input as a terminal shows it. */
export interface TypedLine {
  readonly text: string;
  /** Whether no key follows that shows as something else (Tab, an escape sequence). */
  readonly isWhole: boolean;
}

/**
 * The lines that a terminal shows for typed bytes: control characters as ^X, deleted ones gone, and each line only up to
 * the first key that shows as something else. A last line without Enter counts if it shows anything.
 */
export function typedLines(input: string): TypedLine[] {
  const lines: TypedLine[] = [];
  let line = "";
  let isWhole = true;
  const end = (): void => {
    if (lines.length < MAX_LINES) lines.push({ text: line.slice(0, MAX_LINE_LENGTH), isWhole });
    line = "";
    isWhole = true;
  };
  for (const char of input.replaceAll(PASTE_BEGIN, "").replaceAll(PASTE_END, "")) {
    if (char === "\r" || char === "\n") end();
    else if (!isWhole) continue;
    else if (char === "\x7f" || char === "\b") line = [...line].slice(0, -1).join("");
    else if (char === "\t" || char === "\x1b") isWhole = false;
    else if (char === "\x15") line = "";
    else if (char < " ") {
      line += `^${String.fromCharCode(char.charCodeAt(0) + 64)}`;
      if (char === "\x03") end();
    } else line += char;
  }
  if (line !== "" || !isWhole) end();
  return lines;
}

/** Lines with visible text. */
export function echoLines(input: string): string[] {
  return typedLines(input).flatMap(({ text }) => (text === "" ? [] : [text]));
}

export class EchoTracker {
  private expectedEchoes: ExpectedEcho[] = [];
  /** Lines typed while a command ran: the shell shows them again at its prompt. */
  private typedAhead: string[] = [];
  private readonly masksByLine = new Map<number, EchoMask[]>();
  /** How much of the first expected line has been echoed. */
  private partialEcho: { readonly line: number; readonly mask: Mask } | null = null;
  private readonly decoder = new TextDecoder();
  /** Whether the last input is displayed at all, if known. */
  private isShown = false;

  constructor(
    private readonly text: TerminalText,
    private readonly clock: Clock,
  ) {}

  /** Whether the last input still has no echo; null when none can be expected. */
  get isPending(): boolean | null {
    return this.isShown ? this.expectedEchoes.length > 0 : null;
  }

  /** Call before the bytes are written. `flags` are the current ones, null when unknown. */
  noteInput(bytes: Uint8Array, flags: PtyFlags | null, running: boolean): void {
    this.isShown = !this.text.alternate && (flags?.canonical !== true || flags.echo);
    if (!this.isShown) return;
    const input = this.decoder.decode(bytes);
    const lines = echoLines(input);
    this.isShown = lines.length > 0;
    if (running) {
      const kept = DISCARDS.exec(input)?.[1];
      this.typedAhead = (kept === undefined ? [...this.typedAhead, ...lines] : echoLines(kept)).slice(-MAX_LINES);
    }
    this.expectEcho(lines, this.text.position());
  }

  /** The shell reads input again: text typed ahead is shown once more. */
  notePrompt(): void {
    const { typedAhead } = this;
    this.typedAhead = [];
    if (typedAhead.length === 0) return;
    // The terminal's own echo may precede the prompt in the same chunk.
    this.update();
    this.expectedEchoes = [];
    this.expectEcho(typedAhead, this.text.position());
  }

  /** Everything between the prompt and the command's first output is the typed line. */
  maskCommandLine(from: TextPosition, to: TextPosition): void {
    this.expectedEchoes = [];
    this.partialEcho = null;
    this.typedAhead = [];
    for (let line = Math.max(from.line, to.line - MAX_LINES); line <= to.line; line++) {
      const start = line === from.line ? from.index : 0;
      const end = line === to.line ? to.index : Number.POSITIVE_INFINITY;
      const text = end > start ? (this.text.line(line) ?? "").slice(start, end) : "";
      if (text.trim() !== "") this.addMask(line, { start, end, text });
    }
  }

  /** Output was parsed: finds echo in it. Costs nothing without an expected echo. */
  update(): void {
    this.partialEcho = null;
    if (this.expectedEchoes.length === 0) return;
    const now = this.clock.now();
    const cursor = this.text.position();
    for (let first = this.expectedEchoes[0]; first !== undefined; first = this.expectedEchoes[0]) {
      const expired = now > first.until || cursor.line > first.to;
      if (!expired && !this.findEcho(first, cursor)) return;
      this.expectedEchoes.shift();
      const next = this.expectedEchoes[0];
      if (next === undefined) return;
      next.from = Math.max(next.from, first.from);
      next.to = next.from + MAX_DISTANCE;
    }
  }

  /** The parts of a line that are echo, in order. @param shown its text now */
  masks(line: number, shown: string): readonly Mask[] {
    const lineMasks = (this.masksByLine.get(line) ?? []).filter(({ text, start }) => shown.startsWith(text, start));
    return this.partialEcho?.line === line
      ? [...lineMasks, this.partialEcho.mask].sort((a, b) => a.start - b.start)
      : lineMasks;
  }

  private expectEcho(lines: readonly string[], position: TextPosition): void {
    const until = this.clock.now() + ECHO_MS;
    for (const text of lines) {
      if (this.expectedEchoes.length >= MAX_LINES) return;
      const first = this.expectedEchoes.length === 0;
      this.expectedEchoes.push({
        text,
        startsAt: first ? position : null,
        from: position.line,
        to: position.line + MAX_DISTANCE,
        until,
      });
    }
  }

  private findEcho(expected: ExpectedEcho, cursor: TextPosition): boolean {
    if (expected.startsAt !== null) {
      const { line, index } = expected.startsAt;
      const shown = (this.text.line(line) ?? "").slice(index);
      const length = commonLength(shown, expected.text);
      if (length === expected.text.trimEnd().length) {
        this.addMask(line, { start: index, end: index + expected.text.length, text: expected.text });
        expected.from = line + 1;
        return true;
      }
      if (cursor.line === line && cursor.index <= index + length) {
        if (length > 0) this.partialEcho = { line, mask: { start: index, end: index + length } };
        return false;
      }
      expected.startsAt = null;
    }
    const expectedText = expected.text.trimEnd();
    const lines = this.text.lines(expected.from, cursor.line);
    for (const { id, text: shown } of lines) {
      if (id === cursor.line) break;
      expected.from = id + 1;
      const start = shown.length - expectedText.length;
      if (!shown.endsWith(expectedText) || !canBegin(shown, start)) continue;
      this.addMask(id, { start, end: shown.length, text: expectedText });
      return true;
    }
    const last = lines.at(-1);
    const shown = (last?.id === cursor.line ? last.text : "").padEnd(cursor.index).slice(0, cursor.index);
    const length = suffixLength(shown, expected.text);
    if (length === 0) return false;
    const mask = { start: shown.length - length, end: shown.length };
    if (length < expected.text.length) {
      this.partialEcho = { line: cursor.line, mask };
      return false;
    }
    this.addMask(cursor.line, { ...mask, text: expected.text });
    expected.from = cursor.line + 1;
    return true;
  }

  private addMask(line: number, { start, end, text }: EchoMask): void {
    const lineMasks = this.masksByLine.get(line) ?? [];
    const last = lineMasks.at(-1);
    // Typed key by key: one mask that grows.
    const grows = last !== undefined && last.end === start;
    const whole = (grows ? last.text.padEnd(start - last.start) + text : text).trimEnd();
    const masks = grows
      ? [...lineMasks.slice(0, -1), { start: last.start, end, text: whole }]
      : [...lineMasks, { start, end, text: whole }].sort((a, b) => a.start - b.start);
    this.masksByLine.delete(line);
    this.masksByLine.set(line, masks);
    for (const oldest of this.masksByLine.keys()) {
      if (this.masksByLine.size <= MAX_MASKED) break;
      this.masksByLine.delete(oldest);
    }
  }
}

function commonLength(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  let n = 0;
  while (n < most && a.charCodeAt(n) === b.charCodeAt(n)) n++;
  return n;
}

/** Whether an echo can begin here: not in the middle of a word. */
function canBegin(shown: string, start: number): boolean {
  return start === 0 || !(WORD.test(shown[start - 1] ?? "") && WORD.test(shown[start] ?? ""));
}

/** Length of the longest end of `shown` that is a prefix of `expected`. */
function suffixLength(shown: string, expected: string): number {
  for (let n = Math.min(shown.length, expected.length); n > 0; n--) {
    if (shown.endsWith(expected.slice(0, n)) && canBegin(shown, shown.length - n)) return n;
  }
  return 0;
}
