/**
 * Asks the shell's line editor what it holds, and types into it only what follows an answer.
 *
 * The screen is no evidence of a line: text stands in it that is not in the line, and the other way round. So the editor
 * itself is asked, by a private key that our shell integration has bound; it answers with a mark that carries the
 * pane's nonce. A key is sent only while all other input is held back and the shell is seen reading with nothing
 * unread: whatever was typed before has been taken by then, and nothing else can come between the answer and what
 * follows it. Keys are numbered, so that a late answer is not taken for one to a later question.
 */

import { pause, Wait } from "../../base/deadline.ts";
import type { TerminalReader } from "../../platform/foreground.ts";
import type { PtyFlags } from "../../pty/port.ts";
import type { InputHold } from "../input-gate.ts";
import type { ExecTarget, IntegratedShell, ShellMark } from "../ports.ts";
import type { CommandLog } from "./command-log.ts";

/** How long the editor may take to answer, in ms. */
const ANSWER_MS = 500;
/** How long before a second key follows one that was not answered, since something half typed may have swallowed it. */
const SECOND_KEY_MS = 200;
/** How long the shell may take to read again after its prompt, and a paste to come to its end, in ms. */
const REST_MS = 500;
/** How long it is looked for the shell's reading without a pause, in ms: a shell takes that long after its prompt. */
const BUSY_LOOK_MS = 3;
/** Time between two looks after that, in ms. */
const LOOK_MS = 2;
/** Silence that stands for reading where the kernel does not tell, in ms. */
const QUIET_MS = 20;

/** A key that was not answered for so long was swallowed, in ms. */
const LATE_MS = 10_000;

const encoder = new TextEncoder();
/** Places in `ask`. */
const keyNumbers = [0, 1];
/** Keys that ask, in turn, and the one that clears the line. As the scripts bind them. */
const keys: Readonly<Record<IntegratedShell, { readonly ask: readonly [string, string]; readonly clear: string }>> = {
  bash: { ask: ["\x1b[9371z", "\x1b[9372z"], clear: "\x1b[9373z" },
  zsh: { ask: ["\x1b[9371z", "\x1b[9372z"], clear: "\x1b[9373z" },
  fish: { ask: ["\x1b[20;8~", "\x1b[21;8~"], clear: "\x1b[23;8~" },
};
/** Takes vi's command mode of bash back to inserting; the other shells' scripts do that themselves. */
const INSERT = "i";

/**
 * text: the line holds something. open: a command is to go on, or a search or a list is open. silent: no answer. busy: the
 * shell does not read. lines: it reads whole lines, without an editor. left: there is no prompt any more.
 */
export type LineState =
  | { readonly kind: "empty"; readonly before: string }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "open" | "silent" | "busy" | "pasting" | "lines" }
  | { readonly kind: "left" };

export interface LineEditorPort {
  readonly target: ExecTarget;
  readonly log: CommandLog;
  flags(): PtyFlags | null;
  /** What the kernel says of the shell; null where it says nothing. */
  reader(): TerminalReader | null;
  /** Age of the last output or input in ms. */
  quietMs(): number;
}

export class LineEditor {
  /** Keys of each number that were not answered, and when the last was pressed. */
  private readonly open = keyNumbers.map(() => ({ keys: 0, since: 0 }));
  private answer: ((mark: ShellMark) => void) | null = null;

  constructor(private readonly port: LineEditorPort) {}

  /** The editor has answered. */
  answered(mark: ShellMark): void {
    const open = this.open[Number(mark.params?.q) - 1];
    if (open === undefined) return;
    if (open.keys > 0) open.keys--;
    this.answer?.(mark);
  }

  /** Waits until no paste is under way, before input is held back. @returns whether it is over */
  async pasted(): Promise<boolean> {
    const { target } = this.port;
    for (const until = performance.now() + REST_MS; target.isPasting; await pause(LOOK_MS)) {
      if (performance.now() >= until) return false;
    }
    return true;
  }

  /** What the line holds, all other input being held back by `hold`. */
  async ask(hold: InputHold, shell: IntegratedShell): Promise<LineState> {
    const rest = await this.untilReading();
    if (rest !== null) return rest;
    const began = performance.now();
    const until = began + ANSWER_MS;
    // A number whose answer may still come would be taken for this question's.
    const number = this.open.findIndex(({ keys, since }) => keys === 0 || began - since >= LATE_MS);
    const open = this.open[number];
    if (open === undefined) return { kind: "silent" };
    open.keys = 0;
    const first = await this.press(hold, shell, number, SECOND_KEY_MS);
    if (first.kind !== "silent" || !this.isReading()) return first;
    return await this.press(hold, shell, number, until - performance.now());
  }

  /** Empties the line. What it holds afterwards has to be asked. */
  clear(hold: InputHold, shell: IntegratedShell): Promise<void> {
    return hold.write(encoder.encode(keys[shell].clear));
  }

  private async press(hold: InputHold, shell: IntegratedShell, number: number, ms: number): Promise<LineState> {
    const { log } = this.port;
    let state: LineState | null = null;
    using wait = new Wait<LineState>({ ms: Math.max(1, ms) }, () => ({ kind: state === null ? "silent" : "open" }));
    this.answer = (mark) => {
      // That of an earlier question. Of two keys of this one either answer counts: between them nothing was typed.
      if (mark.params?.q !== String(number + 1)) return;
      const { redraws } = mark.params ?? {};
      state ??= stateOf(mark);
      if (redraws === undefined || state.kind !== "empty") wait.end(state);
    };
    const left = (): void => wait.end({ kind: "left" });
    const listener = log.on({
      // bash draws the last line of its prompt anew after an answer, and only that of a new command has the mark.
      prompt: () => {
        if (state !== null) wait.end(state);
      },
      started: left,
      exited: left,
    });
    wait.own(listener, () => {
      this.answer = null;
    });
    const key = keys[shell].ask[number] ?? keys[shell].ask[0];
    const open = this.open[number];
    if (open !== undefined) {
      open.keys++;
      open.since = performance.now();
    }
    await hold.write(encoder.encode(key));
    return await wait.promise;
  }

  /** Null as soon as the shell reads and has read everything; else what is there instead. */
  private async untilReading(): Promise<LineState | null> {
    const { log } = this.port;
    const began = performance.now();
    for (;;) {
      if (log.phase !== "prompt") return { kind: "left" };
      if (this.isReading()) return this.port.flags()?.canonical === true ? { kind: "lines" } : null;
      const spent = performance.now() - began;
      if (spent >= REST_MS) return { kind: "busy" };
      await (spent < BUSY_LOOK_MS ? nextTurn() : pause(LOOK_MS));
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

function stateOf({ commandLine, params = {} }: ShellMark): LineState {
  if (params.length !== "0") return { kind: "text", text: commandLine ?? "" };
  if (params.more === "1") return { kind: "open" };
  return { kind: "empty", before: params.map === "vi-command" ? INSERT : "" };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
