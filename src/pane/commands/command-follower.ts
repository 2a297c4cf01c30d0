/**
 * A reader that follows one command: the next one that starts, or one named by id that may be running or finished. It
 * receives the output from the first byte, then the record. Lines dropped before the following began are counted.
 */

import type { CommandRecord } from "../../protocol/commands.ts";
import { WshError } from "../../protocol/errors.ts";
import { OutputFollower } from "../text/line-follower.ts";
import type { RetainedLines } from "../text/retained-lines.ts";
import type { RetiredLines, TerminalText } from "../text/text.ts";
import type { CommandLog } from "./command-log.ts";

export interface FollowSink {
  /** Rendered text, usually whole lines. */
  text(text: string): void;
  /** Lines that were already dropped. */
  omitted(lines: number): void;
  /** Called after the last text. */
  ended(record: CommandRecord): void;
}

interface FollowerOptions {
  readonly log: CommandLog;
  readonly text: TerminalText;
  readonly id: number | null;
  readonly sink: FollowSink;
  readonly onEnd: (follower: CommandFollower) => void;
}

export class CommandFollower {
  private output: OutputFollower | null = null;
  private commandId: number | null;
  private isFollowing = true;
  private readonly logListener: Disposable;

  /** @throws WshError command_not_found, invalid_cursor */
  constructor(private readonly options: FollowerOptions) {
    const { log, id, sink } = options;
    this.commandId = id;
    this.logListener = log.on({
      started: (record) => this.handleStart(record),
      ending: (id, end) => {
        if (id === this.commandId) this.output?.freeze(end);
      },
      finished: (record) => this.handleFinish(record),
    });
    if (id === null) return;
    const record = log.get(id);
    const retained = log.output(id);
    if (record === null || retained === null) {
      this.close();
      log.require(id);
      throw new WshError("command_not_found", `this pane has no output of command ${id}`);
    }
    const running = log.outputSoFar(id);
    this.passOn(running?.retained ?? retained);
    if (running === null) {
      this.end(record);
      return;
    }
    this.output = new OutputFollower(options.text, running.end, (text) => sink.text(text));
    // A prompt may already be on the screen after that end.
    if (running.reportedEnd !== null) this.output.freeze(running.reportedEnd);
  }

  /** The command being followed; null until one starts. */
  get id(): number | null {
    return this.commandId;
  }

  get isOpen(): boolean {
    return this.isFollowing;
  }

  noteRetired(lines: RetiredLines): void {
    this.output?.noteRetired(lines);
  }

  noteChunk(): void {
    this.output?.noteChunk();
  }

  close(): void {
    if (!this.isFollowing) return;
    this.isFollowing = false;
    this.logListener[Symbol.dispose]();
    this.options.onEnd(this);
  }

  private handleStart(record: CommandRecord): void {
    if (this.commandId !== null) return;
    this.commandId = record.id;
    const { text, sink } = this.options;
    this.output = new OutputFollower(text, text.position(), (part) => sink.text(part));
  }

  private handleFinish(record: CommandRecord): void {
    if (record.id !== this.commandId) return;
    this.output?.finish(this.options.text.position());
    this.end(record);
  }

  private end(record: CommandRecord): void {
    this.output = null;
    this.close();
    this.options.sink.ended(record);
  }

  private passOn({ head, tail, omitted }: RetainedLines): void {
    const { sink } = this.options;
    const lines = (part: readonly string[]): void => {
      if (part.length > 0) sink.text(part.map((line) => `${line}\n`).join(""));
    };
    lines(head);
    if (omitted > 0) sink.omitted(omitted);
    lines(tail);
  }
}
