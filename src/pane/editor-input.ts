/**
 * Tracks input at a shell's prompt that may have left its line editor in an unfinished state: an open bracketed paste,
 * or a partial key. It receives all input except a holder's, and the shell's reports.
 *
 * An editor that has read the start of a paste accepts no line and no question until the paste ends. bash and zsh drop
 * it with the line (Ctrl+C), so it does not affect the next prompt; fish keeps it. A paste that started while a program
 * ran may be that program's, or be read by the editor after the next prompt: it counts for that prompt.
 */

const PASTE_BEGIN = "\x1b[200~";
const PASTE_END = "\x1b[201~";
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
  private prompts = 0;
  private atPrompt = false;
  /** The prompt whose editor an open paste belongs to; null when none is open. */
  private pasteOf: number | null = null;
  private tail = "";
  private untouched = true;
  private lineOpen = false;
  private entered = false;
  private lastInputAt = Number.NEGATIVE_INFINITY;

  /** Whether a paste has started, its end was not written, and the editor has not dropped it. */
  get isPasting(): boolean {
    return this.pasteOf !== null;
  }

  /** Whether nothing was typed since the last command started: an empty line is then not a command's second line. */
  get isUntouched(): boolean {
    return this.untouched;
  }

  /** Whether Enter was pressed, and since then no command has begun and no prompt was shown. */
  get isEntered(): boolean {
    return this.entered;
  }

  /** Whether anything was typed since the last key that ends or recalls a line. For shells that report no prompts. */
  get isLineOpen(): boolean {
    return this.lineOpen;
  }

  /** Time since the last input in ms. */
  get quietMs(): number {
    return performance.now() - this.lastInputAt;
  }

  isHalfKey(shell: keyof typeof halfKeys): boolean {
    return halfKeys[shell]?.test(this.tail) === true;
  }

  /** Runs per input. */
  typed(bytes: Uint8Array): void {
    this.untouched = false;
    this.lastInputAt = performance.now();
    const text = this.tail + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
    this.tail = text.slice(-TAIL_CHARS);
    this.noteLine(text.slice(-bytes.length));
    const begin = text.lastIndexOf(PASTE_BEGIN);
    const end = text.lastIndexOf(PASTE_END);
    if (begin > end) this.pasteOf = this.atPrompt ? this.prompts : this.prompts + 1;
    else if (end > begin) this.pasteOf = null;
  }

  /** The shell shows a new prompt. @param dropsPaste whether its editor dropped a paste with the previous line */
  prompt(dropsPaste: boolean): void {
    this.prompts++;
    this.atPrompt = true;
    this.entered = false;
    if (dropsPaste && this.pasteOf !== null && this.pasteOf < this.prompts) this.pasteOf = null;
  }

  /** The editor has accepted a line, which it cannot within a paste. */
  accepted(): void {
    this.atPrompt = false;
    this.pasteOf = null;
    this.restart();
  }

  /** The line was discarded, with nothing after it. */
  givenUp(): void {
    this.restart();
  }

  pasteEnded(): void {
    this.pasteOf = null;
    this.tail = "";
  }

  /** Another program reads from now on. */
  reset(): void {
    this.atPrompt = false;
    this.pasteOf = null;
    this.restart();
  }

  /** Answers to queries are not keys; a key of the history leaves text. */
  private noteLine(typed: string): void {
    const last = Math.max(...LINE_ENDS.map((key) => typed.lastIndexOf(key)));
    if (last >= 0) this.lineOpen = false;
    if (/[\r\n]/.test(typed)) this.entered = true;
    const rest = typed.slice(last + 1).replace(ANSWERS, "");
    if (/[^\x00-\x1f\x7f]|[\x10\x0e\x12\x19]/.test(rest)) this.lineOpen = true;
  }

  private restart(): void {
    this.lineOpen = false;
    this.entered = false;
    this.untouched = true;
    this.tail = "";
  }
}
