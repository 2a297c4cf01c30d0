/**
 * The dependencies of the command domain (records, waiting, run, exec) on the pane besides its text. The pane
 * implements these over its PTY and shell integration; tests implement them over plain data.
 */
import type { PtyExit, PtyFlags } from "../pty/port.ts";
import type { ExecInput, PromptModes } from "../shell/exec-input.ts";
import type { ShellKind } from "../shell/plan.ts";
import type { ChildShell } from "./commands/child-shells.ts";
import type { EditorInput } from "./editor-input.ts";
import type { InputHold } from "./input-gate.ts";
import type { TextPosition } from "./text/text.ts";

/** Marks of shell integration (OSC 133 A/B/C/D, 633 E, L, T and P), in stream order. */
export interface ShellMark {
  /**
   * A: prompt begins. B: prompt ends, input begins. E: the command's text. C: the command runs. D: it ended. L: the
   * line editor's contents, as requested. T: a typed command begins (no exit code), or has ended. P: our script is
   * inactive in a shell.
   */
  readonly kind: "A" | "B" | "C" | "D" | "E" | "L" | "T" | "P";
  /** Whether it carried the session's nonce, or that of an inner shell. */
  readonly verified: boolean;
  /** The inner shell whose nonce it carried; null or absent: the session's own shell. */
  readonly child?: ChildShell | null;
  /** Its secret; only T has its own. */
  readonly nonce?: string | null;
  /** With D and T; null when the shell did not report it. */
  readonly exitCode: number | null;
  /** With E, which comes after C (zsh, fish) or after D (bash); with L the start of the line. */
  readonly commandLine: string | null;
  /** With L: the question's number and other reports of the editor. With P: the reason. */
  readonly params?: Readonly<Record<string, string>>;
  /** Offset of the mark itself. */
  readonly offset: number;
  readonly position: TextPosition;
}

/** The process side of a pane. */
export interface ProgramPort {
  /** Pid of the program, usually a shell; null when it has ended. */
  readonly pid: number | null;
  flags(): PtyFlags | null;
  /** Process group that holds the terminal; null when unknown. */
  foreground(): number | null;
  /** Set when the program has ended and its last output was parsed. */
  readonly exit: PtyExit | null;
  /** Whether it has printed output that is not parsed: screen and the shell's marks are of an earlier moment. */
  readonly isBehind: boolean;
}

/** A shell whose line editor our integration can query. */
export type IntegratedShell = Exclude<ShellKind, "other">;

/** Dependencies of exec for typing a command. */
export interface ExecTarget {
  /** The shell at the prompt; null without integration. */
  readonly shell: IntegratedShell | null;
  /** Why there is no integration; null with integration. */
  readonly integrationReason: string | null;
  /** Why the installed integration is inactive, if it has reported that. */
  readonly inactiveReason: string | null;
  /** Name of the program that the shell has become (exec); null while it is the shell that was started. */
  readonly replacedBy: string | null;
  /** Mode 2004, as the shell has it set now. */
  readonly bracketedPaste: boolean;
  /** Sends bytes to the program, in order with all other input, without counting as typed input. */
  write(bytes: Uint8Array): Promise<void>;
  /** Keeps all other input back until disposed. */
  hold(): InputHold;
  /** The input of everyone else. */
  readonly typed: EditorInput;
  /** Whether the kernel has not taken some input. */
  readonly isWriting: boolean;
  /** Sends SIGINT to the group that holds the terminal. */
  interrupt(): void;
  /** Kills the group that holds the terminal, unless it is the shell's own. @returns whether it did */
  kill(): boolean;
  /** Makes the shell run `command` as one command. */
  execInput(command: string, options: Pick<PromptModes, "oneLine" | "indented">): ExecInput;
}
