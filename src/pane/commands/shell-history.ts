/**
 * Reports the commands that a history may keep, each once it is certain that the shell keeps it in its own: a command
 * that a person excluded there (a leading blank, HISTIGNORE, fish's private mode) is reported nowhere else either.
 * Commands sent by exec are always reported: the sender decides about the shell's history. A command that ran in a
 * private session, even if private only at its start or end, is not reported.
 *
 * A shell reports it with C and the following E (zsh, fish), with C alone (bash, if its history has grown by
 * then), or with the history's entry in an E after D (bash). So a command is decided at its start, or else at
 * the next prompt, the next command, or the shell's end. A command that the shell omitted because it repeats
 * a kept one is reported. A command that was omitted because it is indented is not.
 */

import type { CommandRecord } from "../../protocol/commands.ts";
import type { ChildShell } from "./child-shells.ts";
import type { CommandLog } from "./command-log.ts";
import type { CommandOrigin } from "./log-entry.ts";

/** Texts remembered to distinguish a repetition from an excluded command. */
const MAX_KNOWN = 1_000;
/** Shells whose last command may still be reported by the next; an ended shell never reports it. */
const MAX_SHELLS = 32;

export interface HistoryCommand {
  readonly record: CommandRecord;
  /** Whether an agent or a script requested it. */
  readonly byProgram: boolean;
}

interface ShellHistoryPort {
  /** Whether a person gave the newest input, at a command's start. */
  isTypedByPerson(): boolean;
  isPrivate(): boolean;
  /** A command for the history has started. Not called if that is decided later. */
  onBegin(command: HistoryCommand): void;
  /** A command for the history has ended. Called once for each. */
  onEnd(command: HistoryCommand): void;
  /** A command reported as begun does not belong to the history after all. */
  onLeave(id: number): void;
}

/** A running command, or an ended one that is not decided. */
interface RunningEntry {
  readonly id: number;
  readonly byProgram: boolean;
  readonly isPrivate: boolean;
  isReported: boolean;
}

export class ShellHistory implements Disposable {
  private readonly knownTexts = new Set<string>();
  private readonly listener: Disposable;
  /** One for each shell inside another. */
  private runningEntries: RunningEntry[] = [];
  /** Commands to be decided by their shell's report with the next C. */
  private readonly undecided = new Map<ChildShell | null, HistoryCommand>();

  constructor(
    private readonly log: CommandLog,
    private readonly port: ShellHistoryPort,
  ) {
    this.listener = log.on({
      started: ({ id }) => this.handleStart(id),
      named: ({ id }) => this.begin(id),
      prompt: () => this.decideRunning(),
      exited: () => this.decideRunning(),
    });
    // Commands begun before this listener: a program that is a single command begins with its pane.
    for (const { id } of log.list()) this.handleStart(id);
    if (log.phase === "none") this.decideRunning();
  }

  [Symbol.dispose](): void {
    this.listener[Symbol.dispose]();
  }

  private handleStart(id: number): void {
    this.decideRunning();
    const origin = this.log.origin(id);
    const shell = origin?.shell ?? null;
    const later = this.undecided.get(shell);
    const kept = origin?.history.kept;
    if (later !== undefined && kept !== undefined) {
      this.undecided.delete(shell);
      if (kept === "1") this.report(later);
    }
    const byProgram = origin?.sent?.byProgram ?? !this.port.isTypedByPerson();
    this.runningEntries.push({ id, byProgram, isPrivate: this.port.isPrivate(), isReported: false });
    this.begin(id);
  }

  /** Reports a running command if it is already certain that it is to be kept. */
  private begin(id: number): void {
    const open = this.runningEntries.find((each) => each.id === id);
    const record = this.log.get(id);
    const origin = this.log.origin(id);
    if (open === undefined || open.isReported || open.isPrivate || record === null || origin === null) return;
    if (record.state !== "running" || record.command === null || this.verdict(origin) !== "keep") return;
    open.isReported = true;
    this.port.onBegin({ record, byProgram: open.byProgram });
  }

  private decideRunning(): void {
    const { runningEntries } = this;
    // A prompt inside a running command is another shell's.
    this.runningEntries = runningEntries.filter(({ id }) => this.log.get(id)?.state === "running");
    for (const { id, byProgram, isPrivate, isReported } of runningEntries) {
      const record = this.log.get(id);
      const origin = this.log.origin(id);
      if (record === null || record.state === "running" || origin === null || record.command === null) continue;
      if (isPrivate || this.port.isPrivate()) {
        this.port.onLeave(id);
        continue;
      }
      const command = { record, byProgram };
      const verdict = isReported ? "keep" : this.verdict(origin);
      if (verdict === "later") this.deferDecision(origin.shell, command);
      else if (verdict === "keep") this.report(command);
    }
  }

  private deferDecision(shell: ChildShell | null, command: HistoryCommand): void {
    this.undecided.set(shell, command);
    if (this.undecided.size <= MAX_SHELLS) return;
    for (const oldest of this.undecided.keys()) {
      this.undecided.delete(oldest);
      break;
    }
  }

  private verdict({ sent, reportedText, shownText, indented, history }: CommandOrigin): "keep" | "later" | "leave" {
    if (sent !== null) return "keep";
    if (history.history === "no") return "leave";
    if (history.entry === "1") return "keep";
    if (history.history === "later")
      return reportedText !== null && this.knownTexts.has(reportedText) ? "keep" : "later";
    if (reportedText !== null) return "keep";
    return shownText !== null && !indented && this.knownTexts.has(shownText) ? "keep" : "leave";
  }

  private report(command: HistoryCommand): void {
    const { command: text } = command.record;
    if (text === null) return;
    // Moves the newest to the end, so that the oldest is removed first.
    this.knownTexts.delete(text);
    this.knownTexts.add(text);
    if (this.knownTexts.size > MAX_KNOWN)
      for (const oldest of this.knownTexts) {
        this.knownTexts.delete(oldest);
        break;
      }
    this.port.onEnd(command);
  }
}
