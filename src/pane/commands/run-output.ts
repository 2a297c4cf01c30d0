/**
 * Output after a run's input: everything new on the normal screen, without the echo of the input and the
 * prompts around it. For shell commands started by the input, it is their own output. While a program waits
 * for input, the cursor's line is its prompt, not output.
 */

import { hidesTypedText, type PtyFlags } from "../../pty/port.ts";
import type { ProgramState } from "../state/classify.ts";
import { ScreenChanges } from "../text/changes.ts";
import { type CutOutput, cutOutput } from "../text/cut-output.ts";
import { type TypedLine, typedLines } from "../text/echo.ts";
import { HeadTail, type RetainedLines } from "../text/retained-lines.ts";
import { currentScreen } from "../text/screen-before.ts";
import type { RetiredLines, ScreenBefore, TerminalText, TextPosition } from "../text/text.ts";
import { withoutEcho } from "../text/typed-echo.ts";
import type { CommandLog } from "./command-log.ts";

export interface OutputRequest {
  readonly input: Uint8Array;
  /** An output cursor: everything after it counts, including this input's echo. Default: output after the input. */
  readonly since?: number | undefined;
  /** Input typed at that cursor whose echo is not output: the line that started a dialog. */
  readonly startingInput?: Uint8Array | undefined;
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
  readonly fromCursor: number;
  private readonly changes: ScreenChanges;
  private readonly typedLines: readonly TypedLine[];
  /** The text before them. */
  private readonly textBeforeInput: string;
  private readonly kernelEchoes: boolean;
  private readonly start: TextPosition;
  /** The text before the cursor. */
  private readonly textBeforeCursor: string;
  private readonly scrolledAway: number;
  private readonly isSinceCursor: boolean;

  constructor(
    private readonly port: OutputPort,
    private readonly request: OutputRequest,
  ) {
    const { text } = port;
    const { input, since, startingInput, outputLimit } = request;
    const now = currentScreen(text);
    this.isSinceCursor = since !== undefined && since < now.offset;
    const before = this.isSinceCursor && since !== undefined ? screenAt(text, since) : now;
    this.fromCursor = before.offset;
    this.start = before.cursor;
    this.textBeforeCursor = (now.lines.get(now.cursor.line) ?? "").slice(0, now.cursor.index);
    this.scrolledAway = text.scrolledAway;
    this.changes = new ScreenChanges(text, before, outputLimit);
    const flags = port.flags();
    const shows = !this.isSinceCursor && !text.alternate && !hidesTypedText(flags);
    const echoed = this.isSinceCursor ? startingInput : shows ? input : undefined;
    this.typedLines = echoed === undefined ? [] : typedLines(new TextDecoder().decode(echoed));
    this.textBeforeInput = (before.lines.get(before.cursor.line) ?? "").slice(0, before.cursor.index);
    this.kernelEchoes = !this.isSinceCursor && flags?.canonical === true;
  }

  /** History drops lines. */
  noteRetired(lines: RetiredLines): void {
    this.changes.noteRetired(lines);
  }

  /** Lines from `top` on were erased and are printed again. */
  noteErasedBelow(top: number): void {
    this.changes.noteErasedBelow(top);
  }

  /** @param commands the started commands; empty unless they make up the whole output */
  collect(state: ProgramState, commands: readonly number[]): RunText {
    const { end, prompt } = this.outputEnd(state);
    const { outputLimit } = this.request;
    const lines = (this.isSinceCursor ? null : this.outputOfCommands(commands, end)) ?? this.changedLines(end);
    return { output: cutOutput(lines, outputLimit), prompt };
  }

  /** Whether the input is before the cursor, like text typed without Enter. */
  get isAtCursor(): boolean {
    const { text } = this.port;
    const { line, index } = text.position();
    const typed = this.isSinceCursor ? "" : (this.typedLines.at(-1)?.text ?? "");
    return !text.alternate && typed !== "" && (text.line(line) ?? "").padEnd(index).slice(0, index).endsWith(typed);
  }

  /** Rows missing from every output: they left a scroll region. */
  get lostRows(): number {
    return this.port.text.scrolledAway - this.scrolledAway;
  }

  private outputOfCommands(commands: readonly number[], end: TextPosition): RetainedLines | null {
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

  private changedLines(end: TextPosition): RetainedLines {
    const { retained, cursor } = this.changes.collect(end);
    const { textBeforeInput: prompt, kernelEchoes } = this;
    const whole = retained.omitted === 0;
    const lines = whole ? [...retained.head, ...retained.tail] : retained.head;
    const shown = withoutEcho({ lines, cursor, prompt, kernelEchoes }, this.typedLines);
    return whole
      ? { head: withoutBlankEnd(shown), tail: [], omitted: 0 }
      : { head: shown, tail: withoutBlankEnd(retained.tail), omitted: retained.omitted };
  }

  /** The end of the output: before the prompt that follows it. */
  private outputEnd(state: ProgramState): { readonly end: TextPosition; readonly prompt: string | null } {
    const { text, log } = this.port;
    const { phase, lastStatus, promptStart } = log.shell;
    if (phase !== "running") {
      if (lastStatus !== null && lastStatus.offset > this.fromCursor) return { end: lastStatus.position, prompt: null };
      if (promptStart !== null && isAfter(promptStart, this.start)) return { end: promptStart, prompt: null };
    }
    const cursor = text.position();
    const last = text.lastLine();
    const line = (text.line(cursor.line) ?? "").padEnd(cursor.index);
    const isPrompt = last <= cursor.line && line.trim() !== "" && !text.alternate && this.isPrompt(line, state);
    if (!isPrompt) return { end: { line: Math.max(cursor.line, last), index: Number.POSITIVE_INFINITY }, prompt: null };
    if (phase === "prompt") return { end: { line: cursor.line, index: 0 }, prompt: null };
    // A program that printed text without a newline shows the prompt after it.
    const isSamePrompt = this.textBeforeCursor.trim() !== "" && line.endsWith(this.textBeforeCursor);
    const index = isSamePrompt ? line.length - this.textBeforeCursor.length : 0;
    return { end: { line: cursor.line, index }, prompt: line.slice(index) };
  }

  private isPrompt(line: string, { state, settled }: ProgramState): boolean {
    if (settled && (state === "waiting_for_input" || state === "password" || state === "prompt")) return true;
    return (
      state !== "exited" && this.textBeforeCursor.trim() !== "" && line.trimEnd() === this.textBeforeCursor.trimEnd()
    );
  }
}

/** The screen at an earlier cursor; if unknown, only the position of the cursor's line. */
function screenAt(text: TerminalText, since: number): ScreenBefore {
  const screen = text.screenAtCursor(since);
  if (screen !== null) return screen;
  const { line } = text.positionAt(since) ?? { line: text.screenTop() };
  return {
    offset: since,
    cursor: { line, index: 0 },
    lines: new Map(),
    standingLines: new Map(),
    last: line - 1,
    alternateRows: [],
  };
}

/** Blank lines at the end of a screen were not necessarily printed. */
function withoutBlankEnd(lines: readonly string[]): readonly string[] {
  return lines.slice(0, lines.findLastIndex((line) => line !== "") + 1);
}

function isAfter(place: TextPosition, other: TextPosition): boolean {
  return place.line > other.line || (place.line === other.line && place.index > other.index);
}
