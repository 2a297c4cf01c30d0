/**
 * Sends the output of a session's panes to a client in control mode: `%output`, as fast as the client reads. Each pane
 * has a limited queue. While the queue is full the pane's stream is not read; afterwards the pane's process sends a
 * repaint of the newest screen. With `pause-after` a pane whose output waits longer is paused instead: the queue is
 * dropped, and the client asks for the pane again.
 *
 * Invariant: lines of a pane are in the order of its output; none appears inside the answer to a command.
 */
import { messageTypes } from "../../protocol/messages.ts";
import type { Connection, ConnectionEvents } from "../../wire/connection.ts";

/** Bytes not yet read by the client above which output waits. */
const HIGH_BYTES = 64 * 1024;
/** Longest queue of a pane in bytes; its stream is read again below half of it. */
const QUEUE_BYTES = 256 * 1024;
/** Maximum bytes in a line: escapes make up to four times as many. */
const LINE_BYTES = 8 * 1024;

interface OutputPort {
  write(bytes: Uint8Array): void;
  readonly pending: number;
  /** Whether output may be written now. */
  readonly isFree: boolean;
  /** Opens a pane's stream, with or without a snapshot of its screen. */
  open(pane: string, snapshot: boolean, events: ConnectionEvents): Promise<Connection>;
  line(text: string): void;
}

interface QueuedOutput {
  readonly bytes: Uint8Array;
  readonly queuedAt: number;
}

interface Pane {
  readonly id: string;
  state: "on" | "off" | "paused";
  connection: Connection | null;
  queue: QueuedOutput[];
  bytes: number;
}

export class PaneOutputs {
  /** By target, `@7`. */
  private readonly panes = new Map<string, Pane>();
  private timer: Timer | null = null;
  /** Longest time that output waits before its pane is paused, in ms; null: panes are not paused. */
  pauseAfterMs: number | null = null;
  isOff = false;

  constructor(private readonly port: OutputPort) {}

  /** Follows exactly these panes. @param isKnown whether the client has seen a pane; its screen is then not sent */
  setPanes(
    all: readonly { readonly target: string; readonly id: string }[],
    isKnown: (target: string) => boolean,
  ): void {
    const there = new Set(all.map(({ target }) => target));
    for (const target of this.panes.keys()) if (!there.has(target)) this.leave(target);
    for (const { target, id } of all) {
      if (this.panes.has(target)) continue;
      const pane: Pane = { id, state: "on", connection: null, queue: [], bytes: 0 };
      this.panes.set(target, pane);
      void this.open(target, pane, !isKnown(target));
    }
  }

  set(id: string, to: string): void {
    const pane = [...this.panes.values()].find((each) => each.id === id);
    if (pane === undefined) return;
    if (to === "on" && pane.state === "off") pane.state = "on";
    if (to === "off") pane.state = "off";
    if (to === "pause" && pane.state !== "paused") this.pause(pane);
    if (to === "continue" && pane.state === "paused") {
      pane.state = "on";
      this.port.line(`%continue ${id}`);
    }
    if (pane.state !== "on") this.drop(pane);
  }

  /** Writes queued output, as far as the client reads it. */
  pump(): void {
    const { port } = this;
    for (let hasWritten = true; hasWritten && port.isFree; ) {
      hasWritten = false;
      for (const pane of this.panes.values()) {
        if (port.pending >= HIGH_BYTES || !port.isFree) break;
        if (!this.isLate(pane) && this.write(pane)) hasWritten = true;
      }
    }
    this.wake();
  }

  close(): void {
    for (const target of this.panes.keys()) this.leave(target);
    clearTimeout(this.timer ?? undefined);
  }

  private async open(target: string, pane: Pane, snapshot: boolean): Promise<void> {
    // A snapshot is two messages: preparation of a used screen, which a client's new screen does not need, and the
    // screen.
    let skips = snapshot;
    let isFirst = false;
    const received = (bytes: Uint8Array): void => {
      if (!skips && !(isFirst && isBlank(bytes))) this.received(pane, bytes);
      isFirst = skips;
      skips = false;
    };
    const forgetPane = (): void => void (this.panes.get(target) === pane && this.panes.delete(target));
    try {
      const connection = await this.port.open(target, snapshot, {
        message({ type, payload }) {
          if (type === messageTypes.output) received(payload);
        },
        close: forgetPane,
      });
      if (this.panes.get(target) === pane) pane.connection = connection;
      else connection.close();
    } catch {
      // The pane has ended meanwhile.
      forgetPane();
    }
  }

  private received(pane: Pane, bytes: Uint8Array): void {
    if (this.isOff || pane.state !== "on") return;
    // The connection reuses the message's bytes.
    pane.queue.push({ bytes: bytes.slice(), queuedAt: performance.now() });
    pane.bytes += bytes.length;
    if (pane.bytes > QUEUE_BYTES) pane.connection?.pause();
    this.pump();
  }

  /** @returns false if nothing waits */
  private write(pane: Pane): boolean {
    const [first] = pane.queue;
    if (first === undefined) return false;
    const line = first.bytes.subarray(0, LINE_BYTES);
    const rest = first.bytes.subarray(LINE_BYTES);
    if (rest.length === 0) pane.queue.shift();
    else pane.queue[0] = { bytes: rest, queuedAt: first.queuedAt };
    pane.bytes -= line.length;
    if (pane.bytes < QUEUE_BYTES / 2) pane.connection?.resume();
    const age = Math.floor(performance.now() - first.queuedAt);
    const head = this.pauseAfterMs === null ? `%output ${pane.id} ` : `%extended-output ${pane.id} ${age} : `;
    this.port.write(Buffer.from(`${head}${escaped(line)}\n`, "latin1"));
    return true;
  }

  /** Pauses a pane whose output waits for too long. */
  private isLate(pane: Pane): boolean {
    const [first] = pane.queue;
    if (first === undefined || this.pauseAfterMs === null) return false;
    if (performance.now() - first.queuedAt < this.pauseAfterMs || this.port.pending < HIGH_BYTES) return false;
    this.pause(pane);
    return true;
  }

  private pause(pane: Pane): void {
    pane.state = "paused";
    this.drop(pane);
    this.port.line(`%pause ${pane.id}`);
  }

  private drop(pane: Pane): void {
    pane.queue = [];
    pane.bytes = 0;
    pane.connection?.resume();
  }

  private leave(target: string): void {
    const pane = this.panes.get(target);
    this.panes.delete(target);
    pane?.connection?.close();
  }

  /** Checks again when the oldest queued output will be late. */
  private wake(): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
    if (this.pauseAfterMs === null) return;
    const oldest = Math.min(
      ...[...this.panes.values()].map(({ queue }) => queue[0]?.queuedAt ?? Number.POSITIVE_INFINITY),
    );
    if (oldest === Number.POSITIVE_INFINITY) return;
    const due = Math.max(1, oldest + this.pauseAfterMs - performance.now());
    this.timer = setTimeout(() => this.pauseLatePanes(), due);
  }

  private pauseLatePanes(): void {
    for (const pane of this.panes.values()) this.isLate(pane);
    this.wake();
  }
}

/** Whether a snapshot shows nothing: the pane has not printed. */
function isBlank(bytes: Uint8Array): boolean {
  return /^(?:\s|\x1b\[[\d;]*[mH]|\x1b\]8;;\x1b\\)*$/.test(new TextDecoder().decode(bytes));
}

/** Writes control characters and backslashes as three octal digits; one character of the result is one byte. */
function escaped(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    .toString("latin1")
    .replace(/[\x00-\x1f\\]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`);
}
