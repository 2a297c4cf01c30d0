/**
 * Asks the shell's line editor for its contents, and types into it only directly after an answer.
 *
 * The screen proves nothing: it may show text that is not in the line, and the line may hold text that is not
 * shown. A private key, bound by our shell integration, asks the editor itself, which answers with a mark
 * that has the pane's nonce. The key is sent only while all other input is held back and the shell waits for
 * input with nothing unread. So nothing can come between the answer and the text typed after it. Keys are
 * numbered, so that a late answer is not mistaken for the answer to a later question.
 */

import { pause, Wait } from "../../base/deadline.ts";
import type { TerminalReader } from "../../platform/foreground.ts";
import type { PtyFlags } from "../../pty/port.ts";
import type { InputHold } from "../input-gate.ts";
import type { ExecTarget, IntegratedShell, ShellMark } from "../ports.ts";
import type { CommandLog } from "./command-log.ts";

/** How long the editor may take to answer, in ms. */
const ANSWER_MS = 500;
/** Time before a second key follows an unanswered one, since something half typed may have swallowed it, in ms. */
const SECOND_KEY_MS = 200;
/** How long the shell may take to read again after its prompt, and a paste to reach its end, in ms. */
const REST_MS = 500;
/** How long it may take while it computes, in ms: prompts and editors of plugins take seconds on a crowded machine. */
const COMPUTING_MS = 5_000;
/** Interval between checks whether it computes, in ms: each reads the list of processes. */
const COMPUTING_CHECK_MS = 50;
/** How long the shell is checked for reading without a pause, in ms: a shell takes that long after its prompt. */
const BUSY_CHECK_MS = 3;
/** Interval between checks after that, in ms. */
const CHECK_INTERVAL_MS = 2;
/** Silence that counts as reading when the kernel does not report it, in ms. */
const QUIET_MS = 20;

/** How long a busy shell may take to answer, in ms: one that reads again without an answer will not answer. */
const BUSY_ANSWER_MS = 5_000;
/** Age at which an unanswered key counts as swallowed, when the shell has read everything, in ms. */
const LATE_MS = 1_000;
/** Pause in other input before the editor is asked, so that a key or count being typed is whole, in ms. */
const TYPING_MS = 100;
/** Pause after which an open paste is taken to be complete, in ms. */
const PASTE_MS = 1_000;

const encoder = new TextEncoder();
/** Indexes into `ask`. */
const keyNumbers = [0, 1];
/**
 * Keys that the scripts bind: `ask`, used alternately; `clear` empties the line; `hide` keeps the next line out of the
 * shell's own history.
 */
interface PrivateKeys {
  readonly ask: readonly [string, string];
  readonly clear: string;
  readonly hide: string;
}
const csiKeys: PrivateKeys = { ask: ["\x1b[9371z", "\x1b[9372z"], clear: "\x1b[9373z", hide: "\x1b[9374z" };
const privateKeys: Readonly<Record<IntegratedShell, PrivateKeys>> = {
  bash: csiKeys,
  zsh: csiKeys,
  fish: { ask: ["\x1b[20;8~", "\x1b[21;8~"], clear: "\x1b[23;8~", hide: "\x1b[24;8~" },
};
/** Switches bash's vi command mode back to inserting; the other shells' scripts do that themselves. */
const INSERT_KEY = "i";

/** `before` must be typed before a command. `oneLine`: the editor cannot run a line that contains a newline. */
export interface EmptyLine {
  readonly kind: "empty";
  readonly before: string;
  readonly oneLine: boolean;
}

/**
 * text: the line is not empty. open: a command continues, or a search or list is open. silent: no answer. busy: the
 * shell does not read. lines: it reads whole lines, without an editor. unechoed: it is empty, and whether a command
 * continues is not visible, since the terminal does not echo. left: the prompt is gone.
 */
export type LineState =
  | EmptyLine
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "open" | "silent" | "busy" | "lines" | "unechoed" | Unfinished }
  | { readonly kind: "left" };

/** Input in progress that the private key would alter. `paste` is at rest, `pasting` may continue. */
type Unfinished = "typing" | "half" | "paste" | "pasting";

export interface LineEditorPort {
  readonly target: ExecTarget;
  readonly log: CommandLog;
  flags(): PtyFlags | null;
  /** The kernel's report of the shell; null without one. */
  reader(): TerminalReader | null;
  /** Whether a process of the shell's group is on a processor, or waits for one. */
  isComputing(): boolean;
  /** Age of the last output or input in ms. */
  quietMs(): number;
  /** Output bytes parsed. */
  offset(): number;
}

export class LineEditor {
  /** Unanswered keys of each number, and when the last was pressed. */
  private readonly unansweredKeys = keyNumbers.map(() => ({ keys: 0, since: 0 }));
  private onAnswer: ((mark: ShellMark) => void) | null = null;

  constructor(private readonly port: LineEditorPort) {}

  /** The editor has answered. */
  handleAnswer(mark: ShellMark): void {
    const open = this.unansweredKeys[Number(mark.params?.q) - 1];
    if (open === undefined) return;
    if (open.keys > 0) open.keys--;
    this.onAnswer?.(mark);
  }

  /** Waits briefly until input being typed is whole, before input is held back. Returns null when it is. */
  async awaitWholeInput(shell: IntegratedShell): Promise<Unfinished | null> {
    const { typed } = this.port.target;
    for (const began = performance.now(); ; await pause(CHECK_INTERVAL_MS)) {
      const isLate = performance.now() - began >= (typed.isPasting ? PASTE_MS : REST_MS);
      if (typed.isPasting) {
        if (typed.quietMs >= PASTE_MS) return "paste";
        if (isLate) return "pasting";
      } else if (typed.isUntouched) return null;
      else if (typed.quietMs < TYPING_MS) {
        if (isLate) return "typing";
      } else return typed.isHalfKey(shell) ? "half" : null;
    }
  }

  /** Returns the line's contents; `hold` keeps all other input back. */
  async ask(hold: InputHold, shell: IntegratedShell): Promise<LineState> {
    const rest = await this.awaitReading();
    if (rest !== null) return rest;
    const line = await this.requestState(hold, shell);
    // While a shell still runs the key's function, a typed Ctrl+C would end that function, not the line.
    if (line.kind !== "empty" && line.kind !== "left") await this.awaitReading();
    return line;
  }

  private async requestState(hold: InputHold, shell: IntegratedShell): Promise<LineState> {
    const began = performance.now();
    const until = began + ANSWER_MS;
    // A late answer with this number would be mistaken for the answer to this question.
    const number = this.unansweredKeys.findIndex(({ keys, since }) => keys === 0 || began - since >= LATE_MS);
    const open = this.unansweredKeys[number];
    if (open === undefined) return { kind: "silent" };
    open.keys = 0;
    const first = await this.pressKey(hold, shell, number, SECOND_KEY_MS);
    if (first.kind !== "silent" || !this.isReading()) return first;
    return await this.pressKey(hold, shell, number, until - performance.now());
  }

  /** Empties the line. Ask again for its contents afterwards. */
  clear(hold: InputHold, shell: IntegratedShell): Promise<void> {
    return hold.write(clearKey(shell));
  }

  private async pressKey(hold: InputHold, shell: IntegratedShell, number: number, ms: number): Promise<LineState> {
    const { log } = this.port;
    let state: LineState | null = null;
    let answeredAt = 0;
    const verdict = (): LineState => {
      if (state === null) return { kind: "silent" };
      if (this.port.offset() > answeredAt) return { kind: "open" };
      // The editor has drawn nothing: the terminal does not echo. Only typed input can have started a second line.
      return this.port.target.typed.isUntouched ? state : { kind: "unechoed" };
    };
    using wait = new Wait<LineState>({ ms: BUSY_ANSWER_MS }, verdict);
    const check = (): void => {
      if (this.isReading() && this.port.quietMs() >= QUIET_MS) wait.end(verdict());
      else timer = setTimeout(check, QUIET_MS);
    };
    let timer = setTimeout(check, Math.max(1, ms));
    this.onAnswer = (mark) => {
      // An answer to an earlier question. Of two keys of this one either answer counts: nothing was typed between them.
      if (mark.params?.q !== String(number + 1)) return;
      const { redraws } = mark.params ?? {};
      state ??= lineStateOf(mark);
      answeredAt = mark.offset;
      if (redraws === undefined || state.kind !== "empty") wait.end(state);
    };
    const left = (): void => wait.end({ kind: "left" });
    const listener = log.on({
      // bash redraws the last line of its prompt after an answer, and only a new command's prompt has the mark.
      prompt: () => {
        if (state !== null) wait.end(state);
      },
      started: left,
      exited: left,
    });
    wait.own(listener, () => {
      clearTimeout(timer);
      this.onAnswer = null;
    });
    const key = privateKeys[shell].ask[number] ?? privateKeys[shell].ask[0];
    const open = this.unansweredKeys[number];
    if (open !== undefined) {
      open.keys++;
      open.since = performance.now();
    }
    await hold.write(encoder.encode(key));
    return await wait.promise;
  }

  /** Returns null as soon as the shell reads and has read everything; else its state. */
  private async awaitReading(): Promise<LineState | null> {
    const { log } = this.port;
    const began = performance.now();
    let computedAt = began;
    let lookedAt = began;
    for (;;) {
      if (log.phase !== "prompt") return { kind: "left" };
      if (this.isReading()) return this.port.flags()?.canonical === true ? { kind: "lines" } : null;
      const now = performance.now();
      if (now - lookedAt >= COMPUTING_CHECK_MS && now - began < COMPUTING_MS) {
        lookedAt = now;
        if (this.port.isComputing()) computedAt = now;
      }
      if (now - computedAt >= REST_MS) return { kind: "busy" };
      await (now - began < BUSY_CHECK_MS ? nextTurn() : pause(CHECK_INTERVAL_MS));
    }
  }

  private isReading(): boolean {
    const { target } = this.port;
    if (target.isWriting) return false;
    const reader = this.port.reader();
    if ((reader?.unread ?? 0) > 0) return false;
    return reader?.reading ?? this.port.quietMs() >= QUIET_MS;
  }
}

/** The key before a line for a shell with our integration: it keeps the line out of that shell's history. */
export function hideKey(shell: IntegratedShell): Uint8Array {
  return encoder.encode(privateKeys[shell].hide);
}

/** Empties the line. */
export function clearKey(shell: IntegratedShell): Uint8Array {
  return encoder.encode(privateKeys[shell].clear);
}

function lineStateOf({ commandLine, params = {} }: ShellMark): LineState {
  if (params.length !== "0") return { kind: "text", text: commandLine ?? "" };
  if (params.more === "1") return { kind: "open" };
  return { kind: "empty", before: params.map === "vi-command" ? INSERT_KEY : "", oneLine: params.ble === "1" };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
