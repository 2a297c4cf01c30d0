/** What a log of commands tells its listeners. Types only. */
import type { CommandRecord } from "../../protocol/commands.ts";
import type { TextPosition } from "../text/text.ts";

export interface CommandLogEvents {
  /** C: a command started; then, what its shell says it is. */
  started(record: CommandRecord): void;
  named(record: CommandRecord): void;
  /** The shell says that the command has ended, with its output here: so it is if a prompt follows. */
  ending(id: number, outputEnd: TextPosition): void;
  /** The command ended, was lost, or the program ended under it. */
  finished(record: CommandRecord): void;
  /** B: the shell takes input. */
  prompt(): void;
  /** The pane's program has ended, and its last command with it. */
  exited(): void;
  /** The command line was accepted: everything between the two places is the echo of input. */
  commandLine(from: TextPosition, to: TextPosition): void;
}
