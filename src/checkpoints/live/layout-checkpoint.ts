/**
 * Writes the layout's part of the checkpoint of a session with several panes: name, tags, windows and the
 * arrangement of panes. Each pane has a part of its own (pane-checkpoint.ts). It is written at once when panes
 * are added, removed or moved, and a second after any other change.
 *
 * Owns one timer, which runs only while something is unwritten, and the writer.
 */

import type { Emitter } from "../../base/emitter.ts";
import type { Instance } from "../../instance/paths.ts";
import type { Logger } from "../../log/log.ts";
import { intervals } from "../../platform/intervals.ts";
import { WshError } from "../../protocol/errors.ts";
import { paneNumber, sessionNumber } from "../../protocol/names.ts";
import { isLeaf, type LayoutNode } from "../../session/layout/tree.ts";
import type { Session } from "../../session/session.ts";
import type { WindowEntry, Windows } from "../../session/windows/state.ts";
import type { Settings } from "../../settings/table.ts";
import type { Block } from "../files/blocks.ts";
import { type AllowedContents, PartWriter } from "../files/part-writer.ts";
import { checkpointsDir, sessionDir } from "../files/paths.ts";
import type { LayoutRecord } from "../files/record.ts";
import { removeSession } from "../files/sessions.ts";
import { encodeTree, type StoredLayout } from "../files/tree.ts";
import { beginRecord } from "./pane-state.ts";

/** Time from a change of the panes to the write, in ms: several changes in a row are written together. */
const IMMEDIATE_MS = 50;
/** Most writes at once within this time, in ms; further ones wait like other changes. */
const BURST = 5;
const BURST_MS = 10_000;

type UnsavedLayoutRecord = Omit<LayoutRecord, "saved_at">;

interface LayoutCheckpointPort {
  readonly session: Session;
  readonly arrangement: {
    readonly state: Windows;
    readonly events: Pick<Emitter<{ changed: { readonly before: Windows; readonly after: Windows } }>, "on">;
  };
  readonly instance: Instance;
  readonly settings: Pick<Settings, "checkpoint">;
  readonly logger: Logger;
  /** The session is restored after a crash: the layout's existing files are its own. */
  readonly isRestored: boolean;
  currentLayout(): StoredLayout;
}

export class LayoutCheckpoint {
  private writer: PartWriter;
  private readonly directory: string;
  private timer: Timer | null = null;
  /** Time of the next write. */
  private dueAt = 0;
  /** Times of the last immediate writes. */
  private readonly immediateWrites: number[] = [];
  private earliestWriteAt = 0;
  private writtenAt = Number.NEGATIVE_INFINITY;
  private writtenText = "";
  private writing: Promise<void> = Promise.resolve();
  private isOver = false;
  private keepsFiles = false;

  constructor(private readonly port: LayoutCheckpointPort) {
    const { instance, session, arrangement } = port;
    this.directory = sessionDir(instance, sessionNumber(session.id));
    this.writer = this.makeWriter(port.isRestored ? "this part" : "other parts");
    const scheduleWrite = (): void => this.scheduleWrite();
    arrangement.events.on("changed", ({ before, after }) => {
      if (describeArrangement(before) === describeArrangement(after)) this.scheduleWrite();
      else this.scheduleImmediateWrite();
    });
    for (const change of ["renamed", "tagged", "resized"] as const) session.events.on(change, scheduleWrite);
    let hadPersistent = false;
    session.events.on("drawn", () => {
      const { hasPersistent } = session.elements;
      if (hasPersistent || hadPersistent) {
        this.earliestWriteAt = Math.max(this.earliestWriteAt, this.writtenAt + intervals.checkpointDrawn);
        this.scheduleWrite();
      }
      hadPersistent = hasPersistent;
    });
    session.events.on("info", () => this.applyPrivacy());
    session.events.on("destroyed", () => this.end());
    this.scheduleImmediateWrite();
  }

  /** Writes the session's present state once into another folder. @throws WshError checkpoint_refused */
  async saveTo(directory: string): Promise<void> {
    const why = this.reasonNotToWrite();
    const { name } = this.port.session;
    if (why !== null) throw new WshError("checkpoint_refused", `session '${name}' is not saved: ${why}`);
    const writer = new PartWriter(directory, "layout");
    try {
      await writer.write(null, () => [aboutBlock(this.makeRecord(null))]);
    } finally {
      writer.finish();
    }
  }

  /** The restore that started this process has failed: its source remains unchanged. */
  abandonRestore(): void {
    this.keepsFiles = true;
    this.isOver = true;
    clearTimeout(this.timer ?? undefined);
    this.writer.close();
  }

  /** This process is being ended from outside: the session is to be restored in its present state. */
  async saveLast(signal: string): Promise<void> {
    this.keepsFiles = true;
    await this.write(signal).catch(() => {});
    this.isOver = true;
    clearTimeout(this.timer ?? undefined);
    this.writer.close();
  }

  /** Writes unwritten changes without a pause. */
  async writeNow(): Promise<void> {
    this.enqueue(() => this.write(null));
    await this.writing;
  }

  /** Resolves when no write is in progress. */
  async waitForWrites(): Promise<void> {
    await this.writing;
  }

  private makeWriter(allowedContents: AllowedContents): PartWriter {
    const { instance } = this.port;
    return new PartWriter(this.directory, "layout", {
      parents: [instance.stateDir, checkpointsDir(instance)],
      allowedContents,
    });
  }

  private scheduleImmediateWrite(): void {
    const now = performance.now();
    const exceedsBurst = now - (this.immediateWrites.at(-BURST) ?? Number.NEGATIVE_INFINITY) < BURST_MS;
    if (exceedsBurst || this.earliestWriteAt > now) {
      this.scheduleWrite();
      return;
    }
    if (this.timer !== null && this.dueAt - now <= IMMEDIATE_MS) return;
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
    this.immediateWrites.push(now);
    if (this.immediateWrites.length > BURST) this.immediateWrites.shift();
    this.scheduleWrite(IMMEDIATE_MS);
  }

  private scheduleWrite(rest = intervals.checkpointRest): void {
    if (this.isOver || this.timer !== null) return;
    const now = performance.now();
    const ms = Math.max(rest, this.earliestWriteAt - now);
    this.dueAt = now + ms;
    this.timer = setTimeout(() => {
      this.timer = null;
      this.enqueue(() => this.write(null));
    }, ms);
    this.timer.unref();
  }

  private enqueue(write: () => Promise<void>): void {
    this.writing = this.writing.then(write).catch((error) => {
      this.port.logger.warn("the layout's checkpoint cannot be written", { error });
    });
  }

  private async write(endedBy: string | null): Promise<void> {
    if (this.reasonNotToWrite() === null) await this.writeRecord(this.makeRecord(endedBy));
  }

  private async writeRecord(record: UnsavedLayoutRecord): Promise<void> {
    const text = JSON.stringify(record);
    if (this.isOver || text === this.writtenText) return;
    const { writer } = this;
    await writer.write(null, () => [aboutBlock(record)]);
    if (writer !== this.writer) return;
    this.writtenText = text;
    this.writtenAt = performance.now();
  }

  /** Why nothing of the session may be written; null: it may be written. */
  private reasonNotToWrite(): string | null {
    const { session, settings } = this.port;
    if (settings.checkpoint === "off") return "setting checkpoint is off";
    if (session.isPrivate) return "the session is private";
    return session.exit === null ? null : "its programs have exited";
  }

  private makeRecord(endedBy: string | null): UnsavedLayoutRecord {
    const { session } = this.port;
    const stored = this.port.currentLayout();
    const { windows, panes } = stored.windows;
    const localPanes = Object.values(panes).filter(({ view }) => view === null);
    return {
      ...beginRecord(
        session,
        { id: sessionNumber(session.id), window: Math.min(...windows.map(({ id }) => id)) },
        endedBy,
      ),
      panes: localPanes.map(({ id }) => paneNumber(id)),
      windows: windows.map(({ id }) => id),
      tree: encodeTree({ ...stored, env: {} }),
    };
  }

  private applyPrivacy(): void {
    if (!this.port.session.isPrivate) {
      this.scheduleWrite();
      return;
    }
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
    this.writtenText = "";
    // A write in progress removes its own files.
    this.writer.remove();
    this.writer = this.makeWriter("other parts");
  }

  /** The session has ended: its checkpoint is removed. */
  private end(): void {
    if (this.isOver || this.keepsFiles) return;
    this.isOver = true;
    clearTimeout(this.timer ?? undefined);
    try {
      if (this.writer.remove()) removeSession(this.directory);
    } catch (error) {
      // The session ends in any case.
      this.port.logger.warn("the layout's checkpoint cannot be removed", { error });
    }
  }
}

/** The panes and windows and their arrangement, without sizes. Runs per change of the layout. */
function describeArrangement({ windows }: Windows): string {
  const nodeOf = (node: LayoutNode): string =>
    isLeaf(node) ? node.pane : `${node.axis}(${node.children.map(nodeOf).join()})`;
  const above = (floats: WindowEntry["floats"] = []): string =>
    floats.flatMap(({ pane, popup }) => (popup ? [] : [`+${pane}`])).join("");
  return windows.map(({ id, index, root, floats }) => `${index}:${id}:${nodeOf(root)}${above(floats)}`).join(" ");
}

function aboutBlock(record: UnsavedLayoutRecord): Block {
  return { kind: "about", text: JSON.stringify({ ...record, saved_at: Date.now() }) };
}
