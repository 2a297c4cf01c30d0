/**
 * The commands that a history may keep, each once it is certain that the shell keeps it in its own: what a person kept
 * out of that (a leading blank, HISTIGNORE, fish's private mode) is reported nowhere else either. Commands that exec
 * sent are reported always: whoever sent them decides what the shell's history shows.
 *
 * A shell says so with C (zsh, fish), or by reporting the history's entry with E, which bash does after D: a command is
 * decided at the next prompt, at the next command, or at the shell's end. A command that the shell left out as a
 * repetition of one that it had kept is reported; one that was only indented is not.
 */

import type { CommandRecord } from "../../protocol/commands.ts";
import type { CommandLog } from "./command-log.ts";
import type { CommandOrigin } from "./log-entry.ts";

/** Texts remembered to tell a repetition from a command that was kept out. */
const MAX_KNOWN = 1_000;

export interface KeptCommand {
  readonly record: CommandRecord;
  /** An agent or a script asked for it. */
  readonly byProgram: boolean;
}

export class ShellHistory implements Disposable {
  private readonly known = new Set<string>();
  private readonly listener: Disposable;
  /** The command that has ended, or runs, and is not decided. */
  private open: { readonly id: number; readonly byProgram: boolean } | null = null;
  /** Waits for what the shell says with the next C. */
  private later: KeptCommand | null = null;

  /**
   * @param typedByPerson whether the newest input came from a person, as a command begins
   * @param keep called once for each command
   */
  constructor(
    private readonly log: CommandLog,
    private readonly typedByPerson: () => boolean,
    private readonly keep: (command: KeptCommand) => void,
  ) {
    this.listener = log.on({
      started: ({ id }) => this.started(id),
      prompt: () => this.decide(),
      exited: () => this.decide(),
    });
    // What has begun before anybody listened: a program that is a single command begins with its pane.
    for (const { id } of log.list()) this.started(id);
    if (log.phase === "none") this.decide();
  }

  [Symbol.dispose](): void {
    this.listener[Symbol.dispose]();
  }

  private started(id: number): void {
    this.decide();
    const origin = this.log.origin(id);
    if (this.later !== null && origin?.history.kept === "1") this.add(this.later);
    this.later = null;
    this.open = { id, byProgram: origin?.sent?.byProgram ?? !this.typedByPerson() };
  }

  private decide(): void {
    const { open } = this;
    if (open === null) return;
    const record = this.log.get(open.id);
    const origin = this.log.origin(open.id);
    // A prompt inside a command that goes on is another shell's.
    if (record?.state === "running") return;
    this.open = null;
    if (record === null || origin === null || record.command === null) return;
    const command = { record, byProgram: open.byProgram };
    const verdict = this.verdict(origin);
    if (verdict === "later") this.later = command;
    else if (verdict === "keep") this.add(command);
  }

  private verdict({ sent, said, shown, indented, history }: CommandOrigin): "keep" | "later" | "leave" {
    if (sent !== null) return "keep";
    if (history.history === "no") return "leave";
    if (history.history === "later") return said !== null && this.known.has(said) ? "keep" : "later";
    if (said !== null) return "keep";
    return shown !== null && !indented && this.known.has(shown) ? "keep" : "leave";
  }

  private add(command: KeptCommand): void {
    const { command: text } = command.record;
    if (text === null) return;
    // The newest last, so that the oldest goes first.
    this.known.delete(text);
    this.known.add(text);
    if (this.known.size > MAX_KNOWN)
      for (const oldest of this.known) {
        this.known.delete(oldest);
        break;
      }
    this.keep(command);
  }
}
