/**
 * Writes the checkpoint of one pane, and removes it. It is written soon after the session's start, a second after the
 * pane's output pauses, and every half minute during output; not during a password prompt, not for a private session,
 * and not if nothing has changed. It is removed when the session ends: the remaining checkpoints belong to crashed
 * sessions.
 *
 * Owns one timer, which runs only while something is unwritten, and the writer. Runs per chunk: a comparison.
 */

import type { Instance } from "../../instance/paths.ts";
import { refused } from "../../instance/system-refusal.ts";
import type { Logger } from "../../log/log.ts";
import type { Pane } from "../../pane/pane.ts";
import { intervals } from "../../platform/intervals.ts";
import { WshError } from "../../protocol/errors.ts";
import type { EndReason } from "../../protocol/session.ts";
import { hidesTypedText } from "../../pty/port.ts";
import type { Session } from "../../session/session.ts";
import type { Settings } from "../../settings/table.ts";
import { recordIssuedNumbers } from "../files/named.ts";
import { type AllowedContents, type HistoryFile, PartWriter } from "../files/part-writer.ts";
import { checkpointsDir, panePart, sessionDir } from "../files/paths.ts";
import { pruneIfDue } from "../files/prune.ts";
import type { Foreground } from "../files/record.ts";
import { findForeground, type PaneStart, type PaneState, readPaneState } from "./pane-state.ts";

/** Time from a session's start to the first write, during output or not, in ms: a short command has ended by then. */
const FIRST_MS = 250;
/** Most writes within the longest interval, for a pane whose output pauses again and again, as a clock's does. */
const BURST = 5;

interface PaneCheckpointPort {
  readonly session: Session;
  readonly local: {
    readonly id: string;
    readonly pane: Pane;
    readonly ownSession: Session<Pane>;
  };
  readonly instance: Instance;
  /** Whether the session has, or had, several panes: then the layout's part describes it. */
  isMember(): boolean;
  readonly start: PaneStart;
  readonly settings: Pick<Settings, "checkpoint" | "checkpoint_days" | "checkpoint_bytes">;
  readonly logger: Logger;
  /** The pane was restored: nothing else may restore it. */
  readonly isRestored: boolean;
  /** The file with lines of the pane from before the crash. */
  readonly history: HistoryFile | null;
  /** The program that ran at the crash, until it runs again. */
  readonly resumed: Foreground | null;
}

export class PaneCheckpoint implements Disposable {
  private writer: PartWriter | null = null;
  private timer: Timer | null = null;
  private firstChangeAt = 0;
  private lastChangeAt = 0;
  private readonly writeTimes: number[] = [];
  private writtenDigest = "";
  private writing: Promise<void> = Promise.resolve();
  private isOver = false;
  /** The session is being ended from outside: nothing is removed afterwards. */
  private keepsFiles = false;
  private isFailing = false;
  /** The pane's contents were cleared: the next write removes them from the disk. */
  private isCleared = false;
  /** Nothing of the session was written yet. */
  private isNew: boolean;
  private resumed: Foreground | null;
  private isHistoryTaken = false;
  /** The session to which the pane has moved; null: the original one. */
  private movedTo: number | null = null;
  /** Writers for the pane's former sessions, until it is written in its current one. */
  private readonly formerWriters = new Map<number | null, PartWriter>();
  private readonly listeners: (() => void)[];

  constructor(private readonly port: PaneCheckpointPort) {
    const { session, local, resumed } = port;
    const { pane, ownSession } = local;
    this.resumed = resumed;
    // The source of a restore is kept until the pane's output pauses.
    this.isNew = !port.isRestored;
    const scheduleWrite = (): void => this.scheduleWrite();
    // A command can end after its last output, when the shell's line editor is back.
    const ends = pane.commands.log.on({ finished: scheduleWrite });
    let hadPersistent = false;
    const elementsDrawn = (): void => {
      const { hasPersistent } = session.elements;
      if (hasPersistent || hadPersistent) this.scheduleWrite();
      hadPersistent = hasPersistent;
    };
    this.listeners = [
      pane.events.on("chunk", scheduleWrite),
      pane.events.on("title", scheduleWrite),
      pane.events.on("agent", scheduleWrite),
      pane.events.on("cleared", () => {
        this.isCleared = true;
        this.enqueue();
      }),
      session.events.on("renamed", scheduleWrite),
      session.events.on("tagged", scheduleWrite),
      session.events.on("resized", scheduleWrite),
      session.events.on("drawn", elementsDrawn),
      session.events.on("info", () => this.applyPrivacy()),
      // A pane that moved to another session is private as that session is.
      ownSession.events.on("private", () => this.applyPrivacy()),
      ownSession.events.on("info", () => this.applyPrivacy()),
      ownSession.events.on("destroyed", ({ reason }) => this.end(reason)),
      () => ends[Symbol.dispose](),
    ];
    if (resumed !== null) this.followResumed(resumed);
    if (port.isRestored) this.writing = this.claim();
    this.scheduleWrite();
  }

  /** Schedules a write after a change. Runs per chunk. */
  scheduleWrite(): void {
    this.lastChangeAt = performance.now();
    if (this.timer !== null || this.isOver) return;
    this.firstChangeAt = this.lastChangeAt;
    this.arm(this.isNew ? FIRST_MS : intervals.checkpointRest);
  }

  /** Writes now. @throws the error that prevents it */
  async writeNow(endedBy: string | null = null): Promise<void> {
    this.disarm();
    const done = this.writing.then(() => this.write(endedBy));
    this.writing = done.catch(() => {});
    await done;
  }

  /**
   * Writes the pane's present state once into another folder, for a named checkpoint.
   * @throws WshError checkpoint_refused
   */
  async saveTo(directory: string): Promise<void> {
    const { start, local } = this.port;
    const state = this.reasonNotToWrite() === null ? await this.readState(null) : null;
    if (state === null) {
      const why = this.reasonNotToWrite() ?? "a password prompt is open";
      throw new WshError("checkpoint_refused", `pane ${local.id} is not saved: ${why}`);
    }
    const writer = new PartWriter(directory, panePart(start.pane));
    try {
      await writer.write(state.history, (history) => state.blocks(history));
    } catch (thrown) {
      throw refused(`the checkpoint of ${local.id} cannot be written`, thrown);
    } finally {
      writer.finish();
    }
  }

  /** This process is being ended from outside: the session is to be restored in its present state. */
  async saveLast(signal: string): Promise<void> {
    if (this.isOver) return;
    this.keepsFiles = true;
    await this.writeNow(signal).catch((error) => this.reportFailure(error));
    this.stop();
    this.writer?.close();
  }

  /** The restore that started this process has failed: its source remains unchanged. */
  abandonRestore(): void {
    if (this.isOver) return;
    this.keepsFiles = true;
    this.stop();
    this.writer?.close();
  }

  /**
   * The pane has moved to another session, which has several panes; null: it has returned. Resolves when its state is
   * written in the new place and removed from the old one.
   */
  async moveTo(session: number | null): Promise<void> {
    if (this.isOver || session === this.movedTo) return;
    const formerSession = this.movedTo;
    const { writer } = this;
    if (writer !== null) this.formerWriters.set(formerSession, writer);
    this.startOver();
    this.movedTo = session;
    this.writer = this.formerWriters.get(session) ?? null;
    this.formerWriters.delete(session);
    await this.writeNow().catch((error) => this.reportFailure(error));
  }

  /** Resolves when no write is in progress. */
  async waitForWrites(): Promise<void> {
    await this.writing;
  }

  [Symbol.dispose](): void {
    this.end();
  }

  private async claim(): Promise<void> {
    await this.openWriter()
      .claim()
      .catch((error) => this.reportFailure(error));
  }

  private arm(ms: number): void {
    this.timer = setTimeout(() => this.writeIfDue(), ms);
    this.timer.unref();
  }

  private disarm(): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
  }

  private writeIfDue(): void {
    this.timer = null;
    const now = performance.now();
    if (this.isNew) {
      this.isNew = false;
      this.enqueue();
      return;
    }
    const remaining = Math.min(
      intervals.checkpointRest - (now - this.lastChangeAt),
      intervals.checkpointLongest - (now - this.firstChangeAt),
    );
    if (remaining > 0) {
      this.arm(remaining);
      return;
    }
    const burst = this.writeTimes.at(-BURST) ?? Number.NEGATIVE_INFINITY;
    const untilBurstEnds = intervals.checkpointLongest - (now - burst);
    if (untilBurstEnds > 0 && now - this.firstChangeAt < intervals.checkpointLongest) {
      this.arm(untilBurstEnds);
      return;
    }
    this.enqueue();
  }

  private enqueue(): void {
    // Output after a password prompt schedules another write.
    if (hidesTypedText(this.port.local.pane.flags())) return;
    this.writing = this.writing
      .then(() => this.write(null))
      .then(
        () => {
          this.isFailing = false;
        },
        (error) => this.reportFailure(error),
      );
  }

  private async write(endedBy: string | null): Promise<void> {
    const { instance, settings } = this.port;
    if (this.isOver || this.reasonNotToWrite() !== null) return;
    const writer = this.openWriter();
    const state = await this.readState(endedBy);
    if (state === null || (state.digest === this.writtenDigest && !this.isCleared)) return;
    const { isCleared } = this;
    this.isCleared = false;
    await writer
      .write(state.history, (history) => state.blocks(history), isCleared)
      .catch((thrown) => {
        // Cleared contents are removed from the disk even if nothing can be written.
        this.isCleared ||= isCleared && !writer.remove();
        if (isCleared && !this.isCleared) this.startOver();
        throw thrown;
      });
    this.removeFormer();
    if (this.writtenDigest === "") pruneIfDue(instance, settings);
    this.writtenDigest = state.digest;
    this.writeTimes.push(performance.now());
    if (this.writeTimes.length > BURST) this.writeTimes.shift();
  }

  private removeFormer(): void {
    for (const writer of this.formerWriters.values()) writer.remove();
    this.formerWriters.clear();
  }

  /** Forgets all written state: the next write starts over. */
  private startOver(): void {
    this.writer = null;
    this.writtenDigest = "";
  }

  /** Why nothing of the pane may be written; null: it may be written. */
  private reasonNotToWrite(): string | null {
    const { local, settings } = this.port;
    if (settings.checkpoint === "off") return "setting checkpoint is off";
    if (local.ownSession.isPrivate) return "the session is private";
    // An exited program leaves nothing to restore, and its session ends in a moment.
    return local.pane.exit === null ? null : "its program has exited";
  }

  /** @returns null while a password prompt is open */
  private readState(endedBy: string | null): Promise<PaneState | null> {
    const { session, local, start, settings } = this.port;
    const { pane } = local;
    const { checkpoint: savedPart } = settings;
    return pane.terminal.whenAtRest(() => {
      if (savedPart === "off" || hidesTypedText(pane.flags())) return null;
      const foreground = this.resumed ?? findForeground(pane);
      const currentStart = { ...start, session: this.movedTo ?? start.session };
      const isMember = this.movedTo !== null || this.port.isMember();
      return readPaneState(session, pane, currentStart, savedPart, foreground, { isMember, endedBy });
    });
  }

  private openWriter(): PartWriter {
    const { instance, start, history } = this.port;
    const parents = [instance.stateDir, checkpointsDir(instance)];
    if (this.writer !== null) return this.writer;
    const isFirst = !this.isHistoryTaken;
    const directory = sessionDir(instance, this.movedTo ?? start.session);
    // After the first write, the file with earlier lines is the writer's own.
    const existingHistory = isFirst ? history : null;
    this.writer = new PartWriter(directory, panePart(start.pane), {
      parents,
      existingHistory,
      allowedContents: this.allowedContents(isFirst),
    });
    this.isHistoryTaken = true;
    return this.writer;
  }

  private allowedContents(isFirst: boolean): AllowedContents {
    // Files of a pane that moved here are its own, from a process that had it before.
    if (this.movedTo !== null || (isFirst && this.port.isRestored)) return "this part";
    return isFirst && !this.port.isMember() ? "nothing" : "other parts";
  }

  private applyPrivacy(): void {
    if (!this.port.local.ownSession.isPrivate) {
      this.scheduleWrite();
      return;
    }
    this.disarm();
    this.removeFormer();
    this.writer?.remove();
    this.startOver();
  }

  /** Until the resumed program runs again, the checkpoint still names it: a failed restore loses nothing. */
  private followResumed({ line }: Foreground): void {
    const { log } = this.port.local.pane.commands;
    const isNew = (record: { readonly id: number }): boolean => record.id >= first;
    const first = log.nextId;
    const forgetResumed = (): void => {
      this.resumed = null;
      listener[Symbol.dispose]();
      this.scheduleWrite();
    };
    const listener = log.on({
      started: (record) => {
        if (isNew(record) && record.command?.trim() !== line.trim() && record.command !== null) forgetResumed();
      },
      finished: (record) => {
        const duration = record.duration_ms ?? 0;
        if (isNew(record) && (record.exit_code === 0 || duration >= intervals.resumed)) forgetResumed();
      },
    });
    this.listeners.push(() => listener[Symbol.dispose]());
  }

  private reportFailure(error: unknown): void {
    if (!this.isFailing) this.port.logger.warn("the session's checkpoint cannot be written", { error });
    this.isFailing = true;
    // The next output triggers another attempt.
  }

  private stop(): void {
    this.isOver = true;
    this.disarm();
    for (const off of this.listeners) off();
  }

  private end(reason?: EndReason): void {
    if (this.isOver || this.keepsFiles) return;
    this.stop();
    // A program that fails right after its restore was not ended by anyone: its source is kept.
    const { instance, local, start } = this.port;
    const { pane } = local;
    const numbers = { output_cursor: pane.outputCursor, command_id: pane.commands.log.nextId - 1 };
    recordIssuedNumbers(instance, this.movedTo ?? start.session, start.pane, numbers);
    const hasFailed = reason === "exited" && pane.exit?.code !== 0;
    if (hasFailed && this.port.isRestored && this.writtenDigest === "") {
      this.writer?.close();
      return;
    }
    try {
      this.removeFormer();
      this.writer?.remove();
    } catch (error) {
      // The session ends in any case.
      this.port.logger.warn("the session's checkpoint cannot be removed", { error });
    }
  }
}
