/**
 * How an attached terminal shows its session. The host decides which frames it sends: bytes of the program to a relay,
 * pictures to a painter. A view turns them into bytes for the terminal, and says what is not in them.
 */
import type { Size } from "../session/viewers.ts";
import type { Prefix } from "../terminal/keys-prefix.ts";
import type { TerminalOutput } from "./terminal-output.ts";

export interface View {
  /** The program's own bytes. */
  output(bytes: Uint8Array): void;
  /** A composed picture, as the frame carries it. */
  picture(payload: Uint8Array): void;
  /** The session's size, beside the terminal's. */
  sized(session: Size, own: Size): void;
  /** What the prefix key can do. @returns whether the session's screen must be shown anew */
  help(shown: boolean): boolean;
}

/** A line of ours over the last row, the program's cursor back where it was. */
function notice(text: string, { rows, cols }: Size): Uint8Array {
  const shown = ` ${text} `.slice(0, cols);
  return new TextEncoder().encode(`\x1b7\x1b[${rows};1H\x1b[0;7m${shown}\x1b[0m\x1b8`);
}

/** Passes the program's bytes on as they are. */
export class RelayView implements View {
  private told: Size | null = null;

  constructor(
    private readonly terminal: { readonly output: TerminalOutput; readonly size: Size },
    private readonly prefix: Prefix | null,
  ) {}

  output(bytes: Uint8Array): void {
    this.terminal.output.write(bytes);
  }

  picture(): void {}

  sized(session: Size, own: Size): void {
    const fits = session.rows === own.rows && session.cols === own.cols;
    const known = this.told?.rows === session.rows && this.told.cols === session.cols;
    this.told = fits ? null : session;
    if (fits || known) return;
    const text = `session ${session.cols}x${session.rows}, here ${own.cols}x${own.rows}`;
    this.terminal.output.write(notice(text, own));
  }

  help(shown: boolean): boolean {
    const label = this.prefix?.label ?? "";
    const text = `${label}: detach | ?: this help | l: send ${label} | other keys: send both`;
    if (shown) this.terminal.output.write(notice(text, this.terminal.size));
    return !shown;
  }
}
