/**
 * Marks of a pane's commands on its rows: how each ended beside its prompt, and which outputs are folded. A mark is an
 * attribute that the style draws, so that it adds no text to selections and searches.
 */
import { contentEnd } from "./row.ts";
import type { CommandMark, ShownRow } from "./types.ts";

/** Shortest duration that is shown, in ms: nobody waits for quicker commands. */
const MIN_SHOWN_MS = 1000;

export class CommandMarks {
  /** By the logical line of the prompt. */
  private readonly byPrompt = new Map<number, CommandMark>();
  private readonly foldedIds = new Set<number>();
  commands: readonly CommandMark[] = [];

  get hasFolds(): boolean {
    return this.foldedIds.size > 0;
  }

  /**
   * From oldest to newest. A command that begins at or below a newer one was erased: its lines now belong to others.
   */
  set(commands: readonly CommandMark[]): void {
    let limit = Number.POSITIVE_INFINITY;
    this.commands = commands
      .toReversed()
      .filter(({ firstLine }) => {
        const isKept = firstLine < limit;
        limit = Math.min(limit, firstLine);
        return isKept;
      })
      .reverse();
    this.byPrompt.clear();
    for (const command of this.commands) this.byPrompt.set(command.firstLine - 1, command);
  }

  apply(rows: Iterable<ShownRow>): void {
    if (this.commands.length === 0) return;
    for (const row of rows) {
      const command = row.line === null ? undefined : this.byPrompt.get(row.line);
      const { dataset, classList } = row.element;
      const end = command === undefined ? 0 : contentEnd(row.cells);
      // A prompt that was erased leaves a blank row.
      if (command === undefined || row.wrapped || end === 0) {
        if (dataset.state !== undefined) {
          delete dataset.state;
          delete dataset.mark;
        }
      } else {
        const state = command.isRunning
          ? "running"
          : command.exitCode === 0
            ? "ok"
            : command.exitCode === null
              ? "unknown"
              : "failed";
        if (dataset.state !== state) dataset.state = state;
        const text = markText(command, this.foldedIds.has(command.id));
        if (text === "" || end + text.length + 2 > row.cells.length) delete dataset.mark;
        else if (dataset.mark !== text) dataset.mark = text;
      }
      const isFolded = this.hasFolds && this.isInFold(row.line);
      if (classList.contains("folded") !== isFolded) classList.toggle("folded", isFolded);
    }
  }

  /** The command to whose prompt or output a logical line belongs. */
  markAt(line: number): CommandMark | undefined {
    return this.commands.findLast(({ firstLine }) => firstLine - 1 <= line);
  }

  toggleFold(id: number): void {
    if (!this.foldedIds.delete(id)) this.foldedIds.add(id);
  }

  /** The nearest prompt above or below a logical line. */
  nextMark(line: number, step: 1 | -1): CommandMark | undefined {
    return step === 1
      ? this.commands.find(({ firstLine }) => firstLine - 1 > line)
      : this.commands.findLast(({ firstLine }) => firstLine - 1 < line);
  }

  private isInFold(line: number | null): boolean {
    if (line === null) return false;
    const command = this.markAt(line);
    if (command === undefined || !this.foldedIds.has(command.id) || command.lastLine === null) return false;
    return line >= command.firstLine && line <= command.lastLine;
  }
}

function markText({ exitCode, durationMs, isRunning, firstLine, lastLine }: CommandMark, isFolded: boolean): string {
  const parts: string[] = [];
  if (isFolded && lastLine !== null) parts.push(`⋯ ${lastLine - firstLine + 1} lines`);
  if (!isRunning && exitCode !== null && exitCode !== 0) parts.push(`exit ${exitCode}`);
  if (durationMs !== null && durationMs >= MIN_SHOWN_MS) parts.push(duration(durationMs));
  return parts.join("  ");
}

/** `3.1 s`, `2 min 5 s`, `1 h 2 min`. */
export function duration(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
