/**
 * Whether the shell's input line is empty: exec types only into an empty one, or it would run what somebody else began.
 *
 * Anything typed since the prompt counts, erased or not, for the line editor alone knows what is left of it. What was
 * typed before the prompt, while a command ran, counts when the prompt shows it.
 */
import type { TerminalText, TextPosition } from "./exec-port.ts";

/** Reports of the terminal (focus, cursor place, mouse, colours) that are no typing. */
const REPORTS =
  /\x1b\[(?:[IO]|\??[\d;]*[Rcny]|<[\d;]*[Mm]|M[\s\S]{3})|\x1b\][\s\S]*?(?:\x07|\x1b\\)|\x1bP[\s\S]*?\x1b\\/g;

export class PromptInput {
  private since = false;
  private ahead = false;

  /** Somebody typed; `atPrompt` as the shell is now. */
  typed(bytes: Uint8Array, atPrompt: boolean): void {
    const text = Buffer.from(bytes).toString("latin1");
    if (text.includes("\x1b") && text.replace(REPORTS, "") === "") return;
    if (atPrompt) this.since = true;
    else this.ahead = true;
  }

  /** The shell shows a new prompt. */
  prompt(): void {
    this.since = false;
  }

  /** A command began: it took the line. */
  started(): void {
    this.since = false;
    this.ahead = false;
  }

  /** @param inputStart where the prompt ended */
  isEmpty(text: TerminalText, inputStart: TextPosition): boolean {
    if (this.since) return false;
    if (!this.ahead) return true;
    const cursor = text.position();
    if (cursor.line !== inputStart.line) return false;
    return (text.line(cursor.line) ?? "").slice(inputStart.index, cursor.index).trim() === "";
  }
}
