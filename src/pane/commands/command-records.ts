/**
 * The records of a pane's commands with their retained outputs. Limited: the oldest output is dropped first, then the
 * record; never those of a running command, nor the newest.
 */
import type { CommandRecord } from "../../protocol/commands.ts";
import { WshError } from "../../protocol/errors.ts";
import { isForeignCommand, nextCommandId } from "../../protocol/pane-numbers.ts";
import { PackedLines, type RetainedLines } from "../text/retained-lines.ts";
import { type CommandEntry, REPLACED_BY_NEWER, restoredEntry } from "./log-entry.ts";

export interface CommandLogLimits {
  /** Maximum records. */
  readonly records: number;
  /** Bytes of output retained per record, half from its start and half from its end. */
  readonly recordBytes: number;
  /** Bytes of output retained in all records together. */
  readonly totalBytes: number;
}

/** 512 KiB a record exceeds any reader's limit; 8 MiB in all keeps a busy session within its memory goal. */
export const defaultCommandLogLimits: CommandLogLimits = {
  records: 1_000,
  recordBytes: 512 * 1024,
  totalBytes: 8 * 1024 * 1024,
};

export class CommandRecords {
  private readonly entries = new Map<number, CommandEntry>();
  private outputBytes = 0;
  /** Id of the newest. */
  lastId: number;

  /**
   * @param restored the pane's records before it was lost, without output @param lastId id before the next command's
   */
  constructor(
    private readonly limits: CommandLogLimits,
    restored: readonly CommandRecord[] = [],
    lastId = 0,
  ) {
    this.lastId = lastId;
    for (const record of restored) this.add(restoredEntry(record));
    this.lastId = Math.max(this.lastId, lastId);
  }

  get nextId(): number {
    return nextCommandId(this.lastId);
  }

  require(id: number): CommandRecord {
    const entry = this.get(id);
    if (entry !== null) return entry.record;
    if (isForeignCommand(id, this.lastId)) {
      throw new WshError("invalid_cursor", `command ${id} does not belong to this pane`);
    }
    throw new WshError("command_not_found", `this pane has no record of command ${id}`);
  }

  get(id: number): CommandEntry | null {
    return this.entries.get(id) ?? null;
  }

  /** Oldest first. */
  list(): CommandRecord[] {
    return [...this.entries.values()].map((entry) => entry.record);
  }

  /** Adds an entry, which has the next id. */
  add(entry: CommandEntry): void {
    this.lastId = entry.record.id;
    this.entries.set(this.lastId, entry);
    this.enforceLimits();
  }

  /** Stores the output of an ended command. */
  storeOutput(entry: CommandEntry, kept: RetainedLines): void {
    const packed = new PackedLines(kept);
    entry.output = packed;
    this.outputBytes += packed.bytes;
  }

  enforceLimits(): void {
    for (const [id, entry] of this.entries) {
      const over = this.outputBytes > this.limits.totalBytes;
      const tooMany = this.entries.size > this.limits.records;
      if (!over && !tooMany) break;
      if (entry.record.state === "running" || id === this.lastId) continue;
      entry.spool?.drop(REPLACED_BY_NEWER);
      if (entry.output instanceof PackedLines && entry.output.bytes > 0) {
        this.outputBytes -= entry.output.bytes;
        entry.output = new PackedLines({ head: [], tail: [], omitted: entry.record.output_lines });
      }
      if (tooMany) this.entries.delete(id);
    }
  }
}

/** The newest ended command, as lists show it. */
export function lastExit(last: CommandRecord | null): { readonly last_exit_code?: number } {
  return last === null || last.exit_code === null ? {} : { last_exit_code: last.exit_code };
}
