/**
 * Output after a run's input: everything new on the normal screen, without the echo of the input and the prompts around
 * it. For shell commands started by the input, it is their own output. The cursor's line of a program that waits for
 * input is its prompt, not output.
 */

import { hidesTypedText, type PtyFlags } from "../../pty/port.ts";
import type { ProgramState } from "../state/classify.ts";
import { Changes } from "../text/changes.ts";
import { type CutOutput, cutOutput } from "../text/cut-output.ts";
import { type TypedLine, typedLines } from "../text/echo.ts";
import { HeadTail, type RetainedLines } from "../text/retained-lines.ts";
import { screenNow } from "../text/screen-before.ts";
import type { RetiredLines, ScreenBefore, TerminalText, TextPosition } from "../text/text.ts";
import { withoutEcho } from "../text/typed-echo.ts";
import type { CommandLog } from "./command-log.ts";

export interface OutputRequest {
  readonly input: Uint8Array;
  /** An output cursor: everything after it counts, including this input's echo. Default: output after the input. */
  readonly since?: number | undefined;
  /** Input typed at that cursor whose echo is not output: the line that started a dialog. */
  readonly begunBy?: Uint8Array | undefined;
  /** UTF-8 bytes. */
  readonly outputLimit: number;
}

export interface OutputPort {
  readonly text: TerminalText;
  readonly log: CommandLog;
  /** The terminal's modes now. */
  flags(): PtyFlags | null;
}

interface RunText {
  readonly output: CutOutput;
  /** The prompt before the cursor while the program waits for input; null without one. */
  readonly prompt: string | null;
}

/** Created before the input is sent. */
export class RunOutput {
  /** The cursor at which the output begins. */
  readonly from: number;
  private readonly changes: Changes;
  private readonly typed: readonly TypedLine[];
  /** The text before them. */
  private readonly typedAt: string;
  private readonly kernelEchoes: boolean;
  private readonly start: TextPosition;
  /** The text before the cursor. */
  private readonly prompt: string;
  private readonly scrolledAway: number;
  private readonly isAll: boolean;

  constructor(
    private readonly port: OutputPort,
    private readonly request: OutputRequest,
  ) {
    const { text } = port;
    const { input, since, begunBy, outputLimit } = request;
    const now = screenNow(text);
    this.isAll = since !== undefined && since < now.offset;
    const before = this.isAll && since !== undefined ? screenAt(text, since) : now;
    this.from = before.offset;
    this.start = before.at;
    this.prompt = (now.lines.get(now.at.line) ?? "").slice(0, now.at.index);
    this.scrolledAway = text.scrolledAway;
    this.changes = new Changes(text, before, outputLimit);
    const flags = port.flags();
    const shows = !this.isAll && !text.alternate && !hidesTypedText(flags);
    const echoed = this.isAll ? begunBy : shows ? input : undefined;
    this.typed = echoed === undefined ? [] : typedLines(new TextDecoder().decode(echoed));
    this.typedAt = (before.lines.get(before.at.line) ?? "").slice(0, before.at.index);
    this.kernelEchoes = !this.isAll && flags?.canonical === true;
  }

  /** History drops lines. */
  retired(lines: RetiredLines): void {
    this.changes.retired(lines);
  }

  /** Lines from `top` on were erased and are printed again. */
  erasedBelow(top: number): void {
    this.changes.erasedBelow(top);
  }

  /** @param commands the started commands; empty unless they make up the whole output */
  collect(state: ProgramState, commands: readonly number[]): RunText {
    const { end, prompt } = this.end(state);
    const { outputLimit } = this.request;
    const lines = (this.isAll ? null : this.ofCommands(commands, end)) ?? this.changed(end);
    return { output: cutOutput(lines, outputLimit), prompt };
  }

  /** Whether the input is before the cursor, like text typed without Enter. */
  get standsAtCursor(): boolean {
    const { text } = this.port;
    const { line, index } = text.position();
    const typed = this.isAll ? "" : (this.typed.at(-1)?.text ?? "");
    return !text.alternate && typed !== "" && (text.line(line) ?? "").padEnd(index).slice(0, index).endsWith(typed);
  }

  /** Rows missing from every output: they left a scroll region. */
  get lostRows(): number {
    return this.port.text.scrolledAway - this.scrolledAway;
  }

  private ofCommands(commands: readonly number[], end: TextPosition): RetainedLines | null {
    if (commands.length === 0) return null;
    const outputs = commands.map((id) => this.port.log.output(id, end));
    if (outputs.length === 1) return outputs[0] ?? null;
    const all = new HeadTail(this.request.outputLimit);
    for (const kept of outputs) {
      if (kept === null) return null;
      for (const line of kept.head) all.push(line);
      all.skip(kept.omitted);
      for (const line of kept.tail) all.push(line);
    }
    return all.retained();
  }

  private changed(end: TextPosition): RetainedLines {
    const { retained, cursor } = this.changes.collect(end);
    const { typedAt: prompt, kernelEchoes } = this;
    const whole = retained.omitted === 0;
    const lines = whole ? [...retained.head, ...retained.tail] : retained.head;
    const shown = withoutEcho({ lines, cursor, prompt, kernelEchoes }, this.typed);
    return whole
      ? { head: withoutBlankEnd(shown), tail: [], omitted: 0 }
      : { head: shown, tail: withoutBlankEnd(retained.tail), omitted: retained.omitted };
  }

  /** The end of the output: before the prompt that follows it. */
  private end(state: ProgramState): { readonly end: TextPosition; readonly prompt: string | null } {
    const { text, log } = this.port;
    const { phase, lastStatus, promptStart } = log;
    if (phase !== "running") {
      if (lastStatus !== null && lastStatus.offset > this.from) return { end: lastStatus.position, prompt: null };
      if (promptStart !== null && isAfter(promptStart, this.start)) return { end: promptStart, prompt: null };
    }
    const cursor = text.position();
    const last = text.lastLine();
    const line = (text.line(cursor.line) ?? "").padEnd(cursor.index);
    const isPrompt = last <= cursor.line && line.trim() !== "" && !text.alternate && this.isPrompt(line, state);
    if (!isPrompt) return { end: { line: Math.max(cursor.line, last), index: Number.POSITIVE_INFINITY }, prompt: null };
    if (phase === "prompt") return { end: { line: cursor.line, index: 0 }, prompt: null };
    // A program that printed text without a newline shows the prompt after it.
    const isSamePrompt = this.prompt.trim() !== "" && line.endsWith(this.prompt);
    const index = isSamePrompt ? line.length - this.prompt.length : 0;
    return { end: { line: cursor.line, index }, prompt: line.slice(index) };
  }

  private isPrompt(line: string, { state, settled }: ProgramState): boolean {
    if (settled && (state === "waiting_for_input" || state === "password" || state === "prompt")) return true;
    return state !== "exited" && this.prompt.trim() !== "" && line.trimEnd() === this.prompt.trimEnd();
  }
}

/** The screen at an earlier cursor; if unknown, only the position of the cursor's line. */
function screenAt(text: TerminalText, since: number): ScreenBefore {
  const screen = text.givenAt(since);
  if (screen !== null) return screen;
  const { line } = text.positionAt(since) ?? { line: text.screenTop() };
  return { offset: since, at: { line, index: 0 }, lines: new Map(), stood: new Map(), last: line - 1, rows: [] };
}

/** Blank lines at the end of a screen were not necessarily printed. */
function withoutBlankEnd(lines: readonly string[]): readonly string[] {
  return lines.slice(0, lines.findLastIndex((line) => line !== "") + 1);
}

function isAfter(place: TextPosition, other: TextPosition): boolean {
  return place.line > other.line || (place.line === other.line && place.index > other.index);
}
