/**
 * Determines how the running command of a shell ends. The mark D reports an end, and is valid once the shell's line
 * editor shows the next prompt, which the terminal's mode reveals: a command can print D too, so the last one counts.
 * For a shell without a line editor, or without room for its prompt, a read of its terminal is the evidence, and the
 * record is not verified. Marks without a secret end a command at once.
 */
import type { Clock } from "../../base/clock.ts";
import type { CommandState } from "../../protocol/commands.ts";
import type { ShellMark } from "../ports.ts";
import { RunningOutput } from "../text/running-output.ts";
import type { TerminalText, TextPosition } from "../text/text.ts";
import type { ChildShell } from "./child-shells.ts";
import { addDoubt, doubtsOf } from "./log-entry.ts";
import type { Ending, ShellLevel } from "./shell-level.ts";

const LATE_END_WARNING = "PROMPT_COMMAND was changed: the output may contain its text, and the duration its time";
const VERBOSE_WARNING = "set -v is on: the output contains bash's echo of its hooks";
const NO_END_WARNING = "the shell showed its prompt without reporting an end: the exit code is unknown";
const NO_EDITOR_WARNING =
  "the shell's line editor did not appear after the command: the command may have faked its end";
/** Delays between checks for a shell that reads its terminal when its prompt was not seen, in ms; the last repeats. */
const READ_CHECK_DELAYS_MS = [50, 250, 1_000, 5_000] as const;
/** Checks after which a terminal in the mode of a line editor suffices when the system does not reveal its reader. */
const UNKNOWN_READER_CHECKS = 3;

export interface CommandEndsPort {
  readonly text: TerminalText;
  readonly clock: Clock;
  /** Whether the terminal reads single keys, as for a line editor; absent or null when unknown. */
  readsKeys?(): boolean | null;
  /** Whether output waits to be parsed. */
  isBehind?(): boolean;
  /** Whether a shell waits for its terminal's input; absent or null when unknown. */
  shellReads?(child: ChildShell | null): boolean | null;
}

/** The log's actions on a confirmed end. */
interface EndSink {
  end(ending: Ending, state: Exclude<CommandState, "running">): void;
  /** The shell accepts input. */
  noteInputAccepted(): void;
  /** The running command's output ends there, unless a later end is reported. */
  noteReportedEnd(id: number, outputEnd: TextPosition): void;
}

type MarkPosition = Pick<ShellMark, "position" | "offset">;

export class CommandEnds {
  constructor(
    private readonly port: CommandEndsPort,
    private readonly sink: EndSink,
  ) {}

  /** D. */
  handleEndMark(shell: ShellLevel, mark: ShellMark): void {
    const { running } = shell;
    // The text of a prompt that was not expanded, as in `echo $PROMPT_EOL_MARK`.
    if (mark.verified && mark.exitCode === null) return;
    shell.lastStatus = { exitCode: mark.exitCode, offset: mark.offset, position: mark.position };
    if (running !== null) {
      if (mark.params?.verbose === "1") addDoubt(running, VERBOSE_WARNING);
      if (mark.params?.late === "1") addDoubt(running, LATE_END_WARNING);
      this.setExpectedEnd(shell, mark, outputEnd(this.port.text, mark));
      if (!mark.verified) this.endAsReported(shell);
    }
    shell.promptEnd = null;
    shell.phase = "ended";
  }

  /** Mark A, while the shell itself is in the foreground. */
  handlePromptStart(shell: ShellLevel, mark: ShellMark): void {
    shell.endPromptOffset = null;
    if (shell.running !== null && !mark.verified) this.sink.end(this.endAtCursor(shell, mark), "finished");
    else if (shell.running !== null && shell.ending === null) this.setExpectedEnd(shell, mark, mark.position);
    // A prompt without an end may be part of the command's output.
    if (shell.phase !== "running") shell.phase = "drawing";
  }

  /** Mark B. */
  handlePromptEnd(shell: ShellLevel, mark: ShellMark): void {
    if (shell.running === null || !mark.verified) this.endAtPrompt(shell);
    else if (shell.ending !== null) {
      shell.endPromptOffset = mark.offset;
      this.decidePrompt(shell, mark.offset);
    }
  }

  /**
   * Decides by the terminal's mode whose prompt is shown. It waits until all output is parsed: before that,
   * the mode may belong to a later moment.
   */
  private decidePrompt(shell: ShellLevel, prompted: number): void {
    const { ending } = shell;
    if (shell.endPromptOffset !== prompted || ending === null) return;
    if (this.port.isBehind?.() === true) {
      setImmediate(() => this.decidePrompt(shell, prompted));
      return;
    }
    shell.endPromptOffset = null;
    // It may be a prompt that the command prints.
    if (this.port.readsKeys?.() === false && !shell.readsLines) return;
    this.endAsReported(shell, ending.exitCode === null ? NO_END_WARNING : null);
    this.endAtPrompt(shell);
  }

  /** A line typed ahead runs before its prompt was seen. @returns whether no command runs any more */
  handleNextCommand(shell: ShellLevel, number: number | null): boolean {
    const { running, ending } = shell;
    if (running === null) return true;
    if (ending === null || (number !== null && number === running.number)) return false;
    this.endAsReported(shell);
    return true;
  }

  /** The shell has ended, or become another program. @returns whether the running command's end was reported before */
  handleShellEnd(shell: ShellLevel): boolean {
    if (shell.ending === null) return false;
    this.endAsReported(shell, NO_EDITOR_WARNING);
    return true;
  }

  /** Ends the command at the current position. */
  endAtCursor(
    { running }: ShellLevel,
    { position, offset }: MarkPosition,
    { exitCode = null, signal = null }: Partial<Pick<Ending, "exitCode" | "signal">> = {},
  ): Ending {
    const { clock, text } = this.port;
    const warnings = running === null ? [] : doubtsOf(running, text);
    const times = { at: clock.now(), endedAt: clock.wall() };
    return { exitCode, signal, offset, outputEnd: position, ...times, warnings };
  }

  private setExpectedEnd(shell: ShellLevel, mark: ShellMark, end: TextPosition): void {
    if (!(shell.running?.output instanceof RunningOutput)) return;
    shell.ending = { ...this.endAtCursor(shell, mark, mark), outputEnd: end };
    shell.endPromptOffset = null;
    shell.running.output.noteReportedEnd(end);
    this.sink.noteReportedEnd(shell.running.record.id, end);
    if (mark.verified) this.awaitReading(shell, shell.ending);
  }

  private endAsReported(shell: ShellLevel, why: string | null = null): void {
    const { running, ending } = shell;
    if (running === null || ending === null) return;
    if (why !== null) addDoubt(running, why);
    this.sink.end(why === null ? ending : { ...ending, warnings: [...ending.warnings, why] }, "finished");
  }

  private endAtPrompt(shell: ShellLevel): void {
    shell.readsLines = this.port.readsKeys?.() === false;
    shell.phase = "prompt";
    this.sink.noteInputAccepted();
  }

  private awaitReading(shell: ShellLevel, ending: Ending, n = 0): void {
    const { text, clock } = this.port;
    const { offset } = text;
    clock.after(READ_CHECK_DELAYS_MS[Math.min(n, READ_CHECK_DELAYS_MS.length - 1)] ?? 0, () => {
      if (shell.ending !== ending) return;
      const reads =
        this.port.shellReads?.(shell.child) ?? (n >= UNKNOWN_READER_CHECKS && this.port.readsKeys?.() === true);
      if (!reads || text.offset !== offset || this.port.isBehind?.() === true) {
        this.awaitReading(shell, ending, n + 1);
        return;
      }
      this.endAsReported(shell, NO_EDITOR_WARNING);
      // Nothing can be typed without a prompt.
      if (shell.promptEnd !== null) this.endAtPrompt(shell);
    });
  }
}

/**
 * The end of an output at a D: after all text on the screen, wherever the cursor is. If zsh reports the
 * characters that it has put after an unfinished line (`eol`), the output ends before them.
 */
function outputEnd(text: TerminalText, { position, params }: ShellMark): TextPosition {
  const { line, index } = position;
  if (params?.eol === undefined) {
    const last = text.lines(line, text.lastLine()).findLast((standing) => standing.text !== "");
    return last === undefined ? position : { line: last.id, index: Number.POSITIVE_INFINITY };
  }
  if (index === 0) return position;
  const shown = (text.line(line) ?? "").slice(0, index).trimEnd();
  return { line, index: Math.max(0, shown.length - (Number(params.eol) || 0)) };
}
