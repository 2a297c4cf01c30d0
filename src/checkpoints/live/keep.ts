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
import { isSecret } from "../../pty/port.ts";
import { hasKept } from "../../session/drawing/persistent-elements.ts";
import type { Session } from "../../session/session.ts";
import type { Settings } from "../../settings/table.ts";
import { noteNumbers } from "../files/named.ts";
import { type Before, type HistoryFile, PartWriter } from "../files/part-writer.ts";
import { checkpointsDir, panePart, sessionDir } from "../files/paths.ts";
import { pruneSometimes } from "../files/prune.ts";
import type { Foreground } from "../files/record.ts";
import { foregroundOf, type PaneStart, type PaneState, paneState } from "./pane-state.ts";

/** Time from a session's start to the first write, during output or not, in ms: a short command has ended by then. */
const FIRST_MS = 250;
/** Most writes within the longest interval, for a pane whose output pauses again and again, as a clock's does. */
const BURST = 5;

interface CheckpointsPort {
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

export class Checkpoints implements Disposable {
  private writer: PartWriter | null = null;
  private timer: Timer | null = null;
  private firstAt = 0;
  private lastAt = 0;
  private readonly writtenAt: number[] = [];
  private written = "";
  private writing: Promise<void> = Promise.resolve();
  private isOver = false;
  /** The session is being ended from outside: nothing is removed afterwards. */
  private isKept = false;
  private failing = false;
  /** The pane's contents were cleared: the next write removes them from the disk. */
  private isCleared = false;
  /** Nothing of the session was written yet. */
  private isNew: boolean;
  private resumed: Foreground | null;
  private isHistoryTaken = false;
  /** The session to which the pane has moved; null: the original one. */
  private movedTo: number | null = null;
  /** Writers for the pane's former sessions, until it is written in its current one. */
  private readonly former = new Map<number | null, PartWriter>();
  private readonly listeners: (() => void)[];

  constructor(private readonly port: CheckpointsPort) {
    const { session, local, resumed } = port;
    const { pane, ownSession } = local;
    this.resumed = resumed;
    // The source of a restore is kept until the pane's output pauses.
    this.isNew = !port.isRestored;
    const touch = (): void => this.touch();
    // A command can end after its last output, when the shell's line editor is back.
    const ends = pane.commands.log.on({ finished: touch });
    let wereKept = false;
    const drawn = (): void => {
      const areKept = hasKept(session.elements.state());
      if (areKept || wereKept) this.touch();
      wereKept = areKept;
    };
    this.listeners = [
      pane.events.on("chunk", touch),
      pane.events.on("title", touch),
      pane.events.on("agent", touch),
      pane.events.on("cleared", () => {
        this.isCleared = true;
        this.enqueue();
      }),
      session.events.on("renamed", touch),
      session.events.on("tagged", touch),
      session.events.on("resized", touch),
      session.events.on("drawn", drawn),
      session.events.on("info", () => this.infoChanged()),
      // A pane that moved to another session is private as that session is.
      ownSession.events.on("private", () => this.infoChanged()),
      ownSession.events.on("destroyed", ({ reason }) => this.over(reason)),
      () => ends[Symbol.dispose](),
    ];
    if (resumed !== null) this.followResumed(resumed);
    if (port.isRestored) this.writing = this.claim();
    this.touch();
  }

  /** Schedules a write after a change. Runs per chunk. */
  touch(): void {
    this.lastAt = performance.now();
    if (this.timer !== null || this.isOver) return;
    this.firstAt = this.lastAt;
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
    const state = this.withheld() === null ? await this.stateNow(null) : null;
    if (state === null) {
      const why = this.withheld() ?? "a password prompt is open";
      throw new WshError("checkpoint_refused", `pane ${local.id} is not saved: ${why}`);
    }
    const writer = new PartWriter(directory, panePart(start.pane));
    try {
      await writer.write(state.history, (history) => state.blocks(history));
    } catch (thrown) {
      throw refused(`the checkpoint of ${local.id} cannot be written`, thrown);
    } finally {
      writer.leave();
    }
  }

  /** This process is being ended from outside: the session is to be restored in its present state. */
  async saveLast(signal: string): Promise<void> {
    if (this.isOver) return;
    this.isKept = true;
    await this.writeNow(signal).catch((error) => this.failed(error));
    this.stop();
    this.writer?.close();
  }

  /** The restore that started this process has failed: its source remains unchanged. */
  undone(): void {
    if (this.isOver) return;
    this.isKept = true;
    this.stop();
    this.writer?.close();
  }

  /**
   * The pane has moved to another session, which has several panes; null: it has returned. Resolves when its state is
   * written in the new place and removed from the old one.
   */
  async moved(session: number | null): Promise<void> {
    if (this.isOver || session === this.movedTo) return;
    const before = this.movedTo;
    const { writer } = this;
    if (writer !== null) this.former.set(before, writer);
    this.forget();
    this.movedTo = session;
    this.writer = this.former.get(session) ?? null;
    this.former.delete(session);
    await this.writeNow().catch((error) => this.failed(error));
  }

  /** Resolves when no write is in progress. */
  async settled(): Promise<void> {
    await this.writing;
  }

  [Symbol.dispose](): void {
    this.over();
  }

  private async claim(): Promise<void> {
    await this.partWriter()
      .claim()
      .catch((error) => this.failed(error));
  }

  private arm(ms: number): void {
    this.timer = setTimeout(() => this.due(), ms);
    this.timer.unref();
  }

  private disarm(): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
  }

  private due(): void {
    this.timer = null;
    const now = performance.now();
    if (this.isNew) {
      this.isNew = false;
      this.enqueue();
      return;
    }
    const left = Math.min(
      intervals.checkpointRest - (now - this.lastAt),
      intervals.checkpointLongest - (now - this.firstAt),
    );
    if (left > 0) {
      this.arm(left);
      return;
    }
    const burst = this.writtenAt.at(-BURST) ?? Number.NEGATIVE_INFINITY;
    const early = intervals.checkpointLongest - (now - burst);
    if (early > 0 && now - this.firstAt < intervals.checkpointLongest) {
      this.arm(early);
      return;
    }
    this.enqueue();
  }

  private enqueue(): void {
    // Output after a password prompt schedules another write.
    if (isSecret(this.port.local.pane.flags())) return;
    this.writing = this.writing
      .then(() => this.write(null))
      .then(
        () => {
          this.failing = false;
        },
        (error) => this.failed(error),
      );
  }

  private async write(endedBy: string | null): Promise<void> {
    const { instance, settings } = this.port;
    if (this.isOver || this.withheld() !== null) return;
    const writer = this.partWriter();
    const state = await this.stateNow(endedBy);
    if (state === null || (state.digest === this.written && !this.isCleared)) return;
    const { isCleared } = this;
    this.isCleared = false;
    await writer
      .write(state.history, (history) => state.blocks(history), isCleared)
      .catch((thrown) => {
        // Cleared contents are removed from the disk even if nothing can be written.
        this.isCleared ||= isCleared && !writer.remove();
        if (isCleared && !this.isCleared) this.forget();
        throw thrown;
      });
    this.leaveFormer();
    if (this.written === "") pruneSometimes(instance, settings);
    this.written = state.digest;
    this.writtenAt.push(performance.now());
    if (this.writtenAt.length > BURST) this.writtenAt.shift();
  }

  private leaveFormer(): void {
    for (const writer of this.former.values()) writer.remove();
    this.former.clear();
  }

  /** Forgets all written state: the next write starts over. */
  private forget(): void {
    this.writer = null;
    this.written = "";
  }

  /** Why nothing of the pane may be written; null: it may be written. */
  private withheld(): string | null {
    const { local, settings } = this.port;
    if (settings.checkpoint === "off") return "setting checkpoint is off";
    if (local.ownSession.isPrivate) return "the session is private";
    // An exited program leaves nothing to restore, and its session ends in a moment.
    return local.pane.exit === null ? null : "its program has exited";
  }

  /** @returns null while a password prompt is open */
  private stateNow(endedBy: string | null): Promise<PaneState | null> {
    const { session, local, start, settings } = this.port;
    const { pane } = local;
    const { checkpoint: kept } = settings;
    return pane.terminal.atRest(() => {
      if (kept === "off" || isSecret(pane.flags())) return null;
      const foreground = this.resumed ?? foregroundOf(pane);
      const own = { ...start, session: this.movedTo ?? start.session };
      const isMember = this.movedTo !== null || this.port.isMember();
      return paneState(session, pane, own, kept, foreground, { isMember, endedBy });
    });
  }

  private partWriter(): PartWriter {
    const { instance, start, history } = this.port;
    const parents = [instance.stateDir, checkpointsDir(instance)];
    if (this.writer !== null) return this.writer;
    const isFirst = !this.isHistoryTaken;
    const directory = sessionDir(instance, this.movedTo ?? start.session);
    // After the first write, the file with earlier lines is the writer's own.
    const found = isFirst ? history : null;
    this.writer = new PartWriter(directory, panePart(start.pane), { parents, found, before: this.before(isFirst) });
    this.isHistoryTaken = true;
    return this.writer;
  }

  private before(isFirst: boolean): Before {
    // Files of a pane that moved here are its own, from a process that had it before.
    if (this.movedTo !== null || (isFirst && this.port.isRestored)) return "this part";
    return isFirst && !this.port.isMember() ? "nothing" : "other parts";
  }

  private infoChanged(): void {
    if (!this.port.local.ownSession.isPrivate) {
      this.touch();
      return;
    }
    this.disarm();
    this.leaveFormer();
    this.writer?.remove();
    this.writer = null;
    this.written = "";
  }

  /** Until the resumed program runs again, the checkpoint still names it: a failed restore loses nothing. */
  private followResumed({ line }: Foreground): void {
    const { log } = this.port.local.pane.commands;
    const isNew = (record: { readonly id: number }): boolean => record.id >= first;
    const first = log.nextId;
    const forget = (): void => {
      this.resumed = null;
      listener[Symbol.dispose]();
      this.touch();
    };
    const listener = log.on({
      started: (record) => {
        if (isNew(record) && record.command?.trim() !== line.trim() && record.command !== null) forget();
      },
      finished: (record) => {
        const took = record.duration_ms ?? 0;
        if (isNew(record) && (record.exit_code === 0 || took >= intervals.resumed)) forget();
      },
    });
    this.listeners.push(() => listener[Symbol.dispose]());
  }

  private failed(error: unknown): void {
    if (!this.failing) this.port.logger.warn("the session's checkpoint cannot be written", { error });
    this.failing = true;
    // The next output triggers another attempt.
  }

  private stop(): void {
    this.isOver = true;
    this.disarm();
    for (const off of this.listeners) off();
  }

  private over(reason?: EndReason): void {
    if (this.isOver || this.isKept) return;
    this.stop();
    // A program that fails right after its restore was not ended by anyone: its source is kept.
    const { instance, local, start } = this.port;
    const { pane } = local;
    const numbers = { output_cursor: pane.outputCursor, command_id: pane.commands.log.nextId - 1 };
    noteNumbers(instance, this.movedTo ?? start.session, start.pane, numbers);
    const hasFailed = reason === "exited" && pane.exit?.code !== 0;
    if (hasFailed && this.port.isRestored && this.written === "") {
      this.writer?.close();
      return;
    }
    try {
      this.leaveFormer();
      this.writer?.remove();
    } catch (error) {
      // The session ends in any case.
      this.port.logger.warn("the session's checkpoint cannot be removed", { error });
    }
  }
}
