/**
 * Detects that a command left bash's terminal without echo, so that its line editor draws nothing: readline
 * keeps the terminal's flags as commands left them, and obeys the echo flag. The editors of zsh and fish
 * always draw, and restore the echo for commands.
 *
 * At the prompt the flags are the editor's own, so they are read while a command runs. If those show no echo, a private
 * key is pressed at the next prompt: an editor with echo redraws its prompt.
 */
import { pause, Wait } from "../../base/deadline.ts";
import { hidesTypedText, type PtyFlags } from "../../pty/port.ts";
import type { ExecTarget } from "../ports.ts";
import { clearKey, hideKey, type LineEditorPort } from "./line-editor.ts";

/** How long bash may take to redraw its prompt, once it reads and has read the key, in ms. */
const MAX_REDRAW_MS = 50;
/** Most bytes with which bash clears the invisible line; other editors (ble.sh) draw more, or nothing. */
const MAX_CLEAR_BYTES = 8;
/** How long it may take to read the key, and to show the prompt after the repair, in ms. */
const READ_MS = 2_000;
/** Interval between checks, in ms. */
const CHECK_INTERVAL_MS = 10;
const ECHO_COMMAND = new TextEncoder().encode("stty echo\r");

interface LostEchoPort extends Omit<LineEditorPort, "target" | "isComputing"> {
  readonly target: Pick<ExecTarget, "shell" | "typed" | "isWriting" | "hold">;
}

export class LostEcho {
  /** Whether echo is known to be lost at this prompt. */
  isLost = false;
  /** Whether the terminal did not echo while the newest command ran, which may be the command's intention. */
  private wasSilent = false;
  private pendingCheck: Promise<void> | null = null;

  constructor(private readonly port: LostEchoPort) {
    port.log.on({
      started: () => {
        const flags = port.flags();
        this.wasSilent = hidesTypedText(flags);
        if (flags?.canonical === true && flags.echo) this.isLost = false;
      },
      prompt: () => {
        // Not in this event, which is not yet the answer.
        if (this.wasSilent) void Promise.resolve().then(() => this.check());
      },
    });
  }

  /** The terminal's flags were read. Runs per chunk. */
  noteFlags(flags: PtyFlags | null): PtyFlags | null {
    if (!this.wasSilent && hidesTypedText(flags) && this.port.log.phase === "running") this.wasSilent = true;
    return flags;
  }

  /** Makes bash echo again, if it does not. @returns whether it was repaired */
  async restoreEcho(): Promise<boolean> {
    await this.check();
    if (!this.isLost || !this.isAtEmptyPrompt) return false;
    await this.pressKeys([hideKey("bash"), ECHO_COMMAND], true);
    await this.check();
    return !this.isLost;
  }

  private get isAtEmptyPrompt(): boolean {
    const { target, log } = this.port;
    return target.shell === "bash" && log.phase === "prompt" && target.typed.isUntouched;
  }

  /** Queries the editor, if its line is certainly empty. */
  private check(): Promise<void> {
    if (!this.isAtEmptyPrompt) return Promise.resolve();
    this.wasSilent = false;
    this.pendingCheck ??= this.pressKeys([clearKey("bash")], false).then((isDrawn) => {
      this.pendingCheck = null;
      if (isDrawn !== null) this.isLost = !isDrawn;
    });
    return this.pendingCheck;
  }

  /** @returns whether a prompt is drawn once bash has read these keys; null if that is not visible */
  private async pressKeys(keys: readonly Uint8Array[], isCommand: boolean): Promise<boolean | null> {
    const { log, target, reader, quietMs, offset } = this.port;
    const before = offset();
    using wait = new Wait<boolean | null>({ ms: READ_MS }, () => null);
    const left = (): void => wait.end(null);
    wait.own(log.on({ prompt: () => wait.end(true), exited: left, ...(isCommand ? {} : { started: left }) }));
    try {
      const hold = target.hold();
      const written = keys.map((key) => hold.write(key));
      // A caller that types next finds no input held.
      hold[Symbol.dispose]();
      await Promise.all(written);
    } catch {
      // Another caller types there, or the program has ended.
      return null;
    }
    while (!wait.isOver) {
      await pause(CHECK_INTERVAL_MS);
      const read = reader();
      const isOver = read?.reading === true && read.unread === 0 && !target.isWriting && quietMs() >= MAX_REDRAW_MS;
      const isCleared = offset() > before && offset() - before <= MAX_CLEAR_BYTES;
      if (read === null || isOver) wait.end(isOver && isCleared ? false : null);
    }
    return await wait.promise;
  }
}
