/**
 * Enter after a text, as a separate key. A program in raw mode treats an Enter together with a text, or soon after it,
 * as a line of a paste, and does not submit (Codex 120 ms after the last of a burst of keys, Gemini CLI 30 ms). So it
 * is pressed once the program has read the text and had time to process it. Two such inputs never mix.
 */
import type { Clock } from "../base/clock.ts";
import { Wait } from "../base/deadline.ts";
import type { PtyFlags } from "../pty/port.ts";

/** Time for a program to process a text that it has read, in ms: above programs' paste detection, with a margin. */
const PASTE_DETECTION_MS = 200;
/** Longest time until the program has read the text, in ms: a busy program reads later, and finds Enter after it. */
const MAX_READ_MS = 2_000;
const POLL_MS = 10;

/** Text typed first, and the Enter after it. */
export interface TypedInput {
  readonly text: Uint8Array;
  readonly enter: Uint8Array | null;
}

export function joinInput({ text, enter }: TypedInput): Uint8Array {
  return enter === null ? text : new Uint8Array(Buffer.concat([text, enter]));
}

interface SubmitPort {
  readonly clock: Clock;
  flags(): PtyFlags | null;
  /** Whether the shell's own editor is in the foreground: it accepts Enter at any time. */
  isAtPrompt(): boolean;
  /** Bytes of input that the program has not read; null when unknown. */
  unread(): number | null;
}

export class InputSubmitter {
  private lastInput: Promise<unknown> = Promise.resolve();

  constructor(private readonly port: SubmitPort) {}

  /** Rejects as `write` does. */
  async type(input: TypedInput, write: (bytes: Uint8Array) => Promise<void>): Promise<void> {
    const { text, enter } = input;
    // In one piece: an Enter that comes while a shell runs the first line of a text is echoed by the terminal.
    if (enter === null || text.length === 0 || this.port.isAtPrompt() || this.isLineByLine()) {
      return await write(joinInput(input));
    }
    const typed = this.lastInput.then(async () => {
      await write(text);
      await this.awaitTaken();
      await write(enter);
    });
    // Later input is not read together with this Enter.
    this.lastInput = typed.then(() => this.awaitTaken()).catch(() => {});
    return await typed;
  }

  /** Whether the terminal collects input into lines: the program receives a text with its Enter. */
  private isLineByLine(): boolean {
    return this.port.flags()?.canonical !== false;
  }

  private async awaitTaken(): Promise<void> {
    const { clock } = this.port;
    const until = clock.now() + MAX_READ_MS;
    while ((this.port.unread() ?? 0) > 0 && clock.now() < until) await this.pause(POLL_MS);
    await this.pause(PASTE_DETECTION_MS);
  }

  private pause(ms: number): Promise<void> {
    return new Wait<void>({ clock: this.port.clock, ms }, () => {}).promise;
  }
}
