/** Events of a log of commands for its listeners. Types only. */
import type { CommandRecord } from "../../protocol/commands.ts";
import type { TextPosition } from "../text/text.ts";

export interface CommandLogEvents {
  /** C: a command started, by a caller or not; the shell names it afterwards. */
  started(record: CommandRecord, isRequested: boolean): void;
  named(record: CommandRecord): void;
  /** The shell reports that the command has ended, with its output up to here; final if a prompt follows. */
  ending(id: number, outputEnd: TextPosition): void;
  /** The command ended, was lost, or the program ended during it. */
  finished(record: CommandRecord): void;
  /** B: the shell accepts input. */
  prompt(): void;
  /** The pane's program has ended, and its last command with it. */
  exited(): void;
  /** The command line was accepted: everything between the two places is the echo of input. */
  commandLine(from: TextPosition, to: TextPosition): void;
}
