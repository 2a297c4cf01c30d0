/**
 * The state of each shell, by its marks: the session's own at the bottom, above it the inner shells that have a secret,
 * each in the running command of the one below. All running commands collect output; only the newest receives marks.
 */
import type { ShellPhase } from "../state/shell-phase.ts";
import { RunningOutput } from "../text/running-output.ts";
import type { RetiredLines, TextPosition } from "../text/text.ts";
import type { ChildShell } from "./child-shells.ts";
import type { CommandEntry, ShellStatus } from "./log-entry.ts";

const TYPED_INTO_WARNING = "input was typed during the command: the output may contain its echo";

/** The end that a command's D reports; it is valid once the shell's line editor is back: a command can print D too. */
export interface Ending {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly offset: number;
  /** Position of the output's end. */
  readonly outputEnd: TextPosition;
  /** By the monotonic and by the wall clock. */
  readonly at: number;
  readonly endedAt: number;
  readonly warnings: string[];
}

/** One shell. Data only: the log changes it. */
export class ShellLevel {
  phase: ShellPhase = "none";
  /** The phase of a shell inside its running command, by marks that are not trusted. */
  innerPhase: ShellPhase = "none";
  hasVerifiedMarks: boolean;
  /**
   * Whether its process runs another program: until that shows a prompt, marks belong to the last line that ran.
   */
  isReplaced = false;
  /** Position of the newest prompt's start. */
  promptStart: TextPosition | null = null;
  promptEnd: TextPosition | null = null;
  /** Output up to the end of its newest prompt. */
  promptOffset: number | null = null;
  /** The newest D and its position: a shell sends one without a command for text that it rejected. */
  lastStatus: ShellStatus | null = null;
  running: CommandEntry | null = null;
  /** How the running command ends if a prompt follows. */
  ending: Ending | null = null;
  /** Output up to the prompt after that end, which may or may not be the shell's. */
  endPromptOffset: number | null = null;
  /** Whether the terminal reads lines at its prompts: the shell has no line editor. */
  readsLines = false;

  /** @param child null: the session's own shell */
  constructor(readonly child: ChildShell | null) {
    this.hasVerifiedMarks = child !== null;
  }
}

export class ShellLevels {
  /** The shell that runs commands now. */
  top = new ShellLevel(null);
  private readonly levels = [this.top];

  /** Number of levels up to and including this one; 0 if unknown. */
  depthOf(child: ChildShell | null): number {
    return this.levels.findIndex((level) => level.child === child) + 1;
  }

  get depth(): number {
    return this.levels.length;
  }

  push(child: ChildShell): void {
    this.top = new ShellLevel(child);
    this.levels.push(this.top);
  }

  /** The session's own shell stays. */
  pop(): void {
    const below = this.levels[this.levels.length - 2];
    if (below === undefined) return;
    this.levels.pop();
    this.top = below;
  }

  /** A chunk was parsed. @param hidesInput called only when there is a spool */
  noteChunk(hidesInput: () => boolean): void {
    for (const { running } of this.levels) {
      if (running?.output instanceof RunningOutput && running.spool !== null) running.output.noteChunk(hidesInput());
    }
  }

  noteRetired(lines: RetiredLines): void {
    for (const { running } of this.levels) {
      if (running?.output instanceof RunningOutput) running.output.noteRetired(lines);
    }
  }

  noteDisplacing(): void {
    for (const { running } of this.levels) {
      if (running?.output instanceof RunningOutput) running.output.noteDisplacing();
    }
  }

  /** Input is typed while the commands run, into a terminal that echoes. */
  noteTypedInput(): void {
    for (const { running } of this.levels) {
      if (running !== null && !running.doubts.includes(TYPED_INTO_WARNING)) running.doubts.push(TYPED_INTO_WARNING);
    }
  }
}
