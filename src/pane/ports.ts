/**
 * What the command domain (records, waiting, run, exec) needs of the session around it, and nothing more. The session
 * implements these over its emulator, PTY and shell integration; tests implement them over plain data.
 *
 * Text is counted in logical lines (soft wraps joined) whose ids only grow, and in UTF-16 units within a line's text:
 * both are unchanged by a reflow. `offset` counts parsed output bytes and is the one clock.
 */
import type { PtyExit, PtyFlags } from "../pty/port.ts";
import type { ExecInput } from "../shell/exec-input.ts";
import type { ShellKind } from "../shell/plan.ts";
import type { InputHold } from "./input-gate.ts";

/** A place in the rendered output: the character at `index` of line `line`, or where the next one would be drawn. */
export interface TextPosition {
  readonly line: number;
  readonly index: number;
}

export interface RenderedLine {
  readonly id: number;
  /** Trailing blanks cut. */
  readonly text: string;
}

/**
 * The rendered output, read between chunks and at marks. Reading several lines walks the emulator's hot window (~30 µs),
 * so they are asked for together.
 */
export interface TerminalText {
  /** Output bytes parsed since the session began. */
  readonly offset: number;
  /** Whether the alternate screen is shown. */
  readonly alternate: boolean;
  /** Rows that have left a scroll region, and are in no history; only grows. */
  readonly scrolledAway: number;
  /** Cursor on the normal screen (where it will return to while the alternate one is shown). */
  position(): TextPosition;
  /** Id of a line at or shortly above the top of the normal screen: older lines change no more. */
  screenTop(): number;
  /** Id of the last line of the normal screen that was written, or the cursor's if that is lower. */
  lastLine(): number;
  /** Text of one logical line, trailing blanks cut; null when it is not kept. Cheap for the cursor's. */
  line(id: number): string | null;
  /** Logical lines of normal screen and history, from one id to another inclusive; those that are kept, in order. */
  lines(first: number, last: number): readonly RenderedLine[];
  /** Rows of the alternate screen from the top, soft wraps not joined; empty while the normal screen is shown. */
  alternateRows(): readonly string[];
  /** Cursor's place when `offset` bytes had been parsed, or the nearest earlier one known; null when too long ago. */
  positionAt(offset: number): TextPosition | null;
}

/** Lines that history lets go of, in order: whole, or pieces of long ones. Texts are made when asked for. */
export interface RetiredLines {
  /** Lines and pieces; the indexes below count them from 0. */
  readonly count: number;
  /** Whether every one begins its line. */
  readonly whole: boolean;
  id(index: number): number;
  /** Whether it begins its line; a piece that does not follows the one reported before. */
  begins(index: number): boolean;
  text(index: number): string;
  /** Characters of those from `from` to `to` (exclusive) together. */
  length(from: number, to: number): number;
}

/** Shell integration's marks (OSC 133 A/B/C/D, 633 E and L), in the order of the stream. */
export interface ShellMark {
  /**
   * A: prompt begins. B: prompt ends, input begins. E: the command's text. C: the command runs. D: it ended.
   * L: what the line editor holds, as it was asked.
   */
  readonly kind: "A" | "B" | "C" | "D" | "E" | "L";
  /** Whether it carried the session's nonce. */
  readonly verified: boolean;
  /** With D; null when the shell did not say. */
  readonly exitCode: number | null;
  /** With E, which comes after C (zsh, fish) or after D (bash); with L the beginning of the line. */
  readonly commandLine: string | null;
  /** With L: the question's number and what else the editor says. */
  readonly params?: Readonly<Record<string, string>>;
  /** Offset of the mark itself. */
  readonly offset: number;
  readonly position: TextPosition;
}

/** The process side of a session. */
export interface ProgramPort {
  /** Pid of the session's child, the shell as a rule; null when it has ended. */
  readonly pid: number | null;
  flags(): PtyFlags | null;
  /** Process group that holds the terminal; null when unknown. */
  foreground(): number | null;
  /** Set when the child has ended and its last output was parsed. */
  readonly exit: PtyExit | null;
}

/** A shell whose line editor our integration can ask. */
export type IntegratedShell = Exclude<ShellKind, "other">;

/** What exec types a command with. */
export interface ExecTarget {
  /** The shell at the session's prompt; null without integration. */
  readonly shell: IntegratedShell | null;
  /** Why there is no integration, when there is none. */
  readonly integrationReason: string | null;
  /** Name of the program that the shell has become (exec); null while it is the shell that was started. */
  readonly replacedBy: string | null;
  /** Mode 2004, as the shell has set it now. */
  readonly bracketedPaste: boolean;
  /** Sends bytes to the program, in order with all other input, without counting as what somebody typed. */
  write(bytes: Uint8Array): Promise<void>;
  /** Keeps all other input back until disposed. */
  hold(): InputHold;
  /** Somebody's paste has begun and is not over. */
  readonly isPasting: boolean;
  /** The kernel has not taken all input yet. */
  readonly isWriting: boolean;
  /** Signals the terminal's foreground process group. */
  signal(name: NodeJS.Signals): void;
  /** What makes the shell run `command` as one command. */
  execInput(command: string): ExecInput;
}
