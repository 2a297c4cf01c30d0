/**
 * Tracks input at a shell's prompt that may have left its line editor in an unfinished state: an open bracketed paste,
 * or a partial key. It receives all input except a holder's, and the shell's reports.
 *
 * An editor that has read the start of a paste accepts no line and no question until the paste ends. bash and zsh drop
 * it with the line (Ctrl+C), so it does not affect the next prompt; fish keeps it. A paste that started while a
 * program ran may be that program's, or the editor may read it after the next prompt: it counts for that prompt.
 */

import { PASTE_BEGIN, PASTE_END } from "../protocol/pasted-text.ts";

/** Enter, Ctrl+C, Ctrl+D, Ctrl+U. */
const LINE_ENDS = ["\r", "\n", "\x03", "\x04", "\x15"] as const;
/** Terminals' answers to queries, and marks of pastes. */
const ANSWERS = /\x1b(?:\[[\x20-\x3f]*[cnRtyIO~]|[P\]_][^\x07\x1b]*(?:\x07|\x1b\\))/g;
/** Trailing characters of the input that are examined: one fewer than a paste marker. */
const TAIL_CHARS = PASTE_BEGIN.length - 1;

/** Ends of input after which an editor reads the next key as a part of this one; bash and zsh wait indefinitely. */
const halfKeys = {
  /** A sequence, Ctrl+V and Ctrl+Q (quote the next key), Ctrl+] (search for it), Ctrl+X (prefix of two keys). */
  bash: /(?:\x1b\[[\x20-\x3f]*|\x1bO|(?<!\x16)\x16|(?<!\x11)\x11|\x1d|(?<!\x18)\x18)$/,
  zsh: /(?:\x1b\[[\x20-\x3f]*|\x1bO|(?<!\x16)\x16|(?<!\x18)\x18)$/,
  /** fish waits for the rest of a sequence for a moment only. */
  fish: null,
} as const;

export class EditorInput {
  private promptCount = 0;
  private isAtPrompt = false;
  /** The prompt whose editor an open paste belongs to; null when none is open. */
  private pastePrompt: number | null = null;
  private tail = "";
  private wasUntouched = true;
  private hasOpenLine = false;
  private wasEntered = false;
  private lastInputAt = Number.NEGATIVE_INFINITY;

  /** Whether a paste has started, its end was not written, and the editor has not dropped it. */
  get isPasting(): boolean {
    return this.pastePrompt !== null;
  }

  /** Whether nothing was typed since the last command started: an empty line is then not a command's second line. */
  get isUntouched(): boolean {
    return this.wasUntouched;
  }

  /** Whether Enter was pressed, and since then no command has begun and no prompt was shown. */
  get isEntered(): boolean {
    return this.wasEntered;
  }

  /** Whether anything was typed since the last key that ends or recalls a line. For shells that report no prompts. */
  get isLineOpen(): boolean {
    return this.hasOpenLine;
  }

  /** Time since the last input in ms. */
  get quietMs(): number {
    return performance.now() - this.lastInputAt;
  }

  isHalfKey(shell: keyof typeof halfKeys): boolean {
    return halfKeys[shell]?.test(this.tail) === true;
  }

  /** Runs per input. */
  noteInput(bytes: Uint8Array): void {
    this.wasUntouched = false;
    this.lastInputAt = performance.now();
    const text = this.tail + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
    this.tail = text.slice(-TAIL_CHARS);
    this.noteLine(text.slice(-bytes.length));
    const begin = text.lastIndexOf(PASTE_BEGIN);
    const end = text.lastIndexOf(PASTE_END);
    if (begin > end) this.pastePrompt = this.isAtPrompt ? this.promptCount : this.promptCount + 1;
    else if (end > begin) this.pastePrompt = null;
  }

  /** The shell shows a new prompt. @param dropsPaste whether its editor dropped a paste with the previous line */
  notePrompt(dropsPaste: boolean): void {
    this.promptCount++;
    this.isAtPrompt = true;
    this.wasEntered = false;
    if (dropsPaste && this.pastePrompt !== null && this.pastePrompt < this.promptCount) this.pastePrompt = null;
  }

  /** The editor has accepted a line, which it cannot within a paste; or another program reads from now on. */
  reset(): void {
    this.isAtPrompt = false;
    this.pastePrompt = null;
    this.restart();
  }

  /** The line was discarded, with nothing after it. */
  noteDiscarded(): void {
    this.restart();
  }

  notePasteEnd(): void {
    this.pastePrompt = null;
    this.tail = "";
  }

  /** Answers to queries are not keys; a key of the history leaves text. */
  private noteLine(typed: string): void {
    const last = Math.max(...LINE_ENDS.map((key) => typed.lastIndexOf(key)));
    if (last >= 0) this.hasOpenLine = false;
    if (/[\r\n]/.test(typed)) this.wasEntered = true;
    const rest = typed.slice(last + 1).replace(ANSWERS, "");
    if (/[^\x00-\x1f\x7f]|[\x10\x0e\x12\x19]/.test(rest)) this.hasOpenLine = true;
  }

  private restart(): void {
    this.hasOpenLine = false;
    this.wasEntered = false;
    this.wasUntouched = true;
    this.tail = "";
  }
}
