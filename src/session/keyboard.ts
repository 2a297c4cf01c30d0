/**
 * Directs the keys that a person types: to the program (passthrough), or to the agent that captured the keyboard
 * (docs/protocol.md, Keyboard). A capture always has an owner and ends with it: with its connection, or when its lease
 * expires. A restarted server has a few seconds to reclaim the captures of its callers. Captured keys are stored in a
 * ring, read by cursor.
 */

import type { Clock } from "../base/clock.ts";
import { Wait } from "../base/deadline.ts";
import { setNewest } from "../base/newest.ts";
import type { InputEvent, ParsedKey } from "../keys/types.ts";
import { present } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import { ViewerKeys } from "./viewer-keys.ts";

/** Maximum captured keys stored for readers (docs/protocol.md, Keyboard). */
const MAX_CAPTURED_KEYS = 256;
/** Callers whose position in the ring is remembered; beyond that, the least recent reader is forgotten. */
const MAX_CURSORS = 256;
/** Time for which a capture outlives its connection, in ms: a restarted server reclaims it within it. */
const RECLAIM_MS = 5_000;

export type InputMode = "passthrough" | "capture";

export interface KeyboardOwner {
  readonly id: string;
  /** The name shown to people. */
  readonly label: string;
  /** Whether the id ends with its connection, so that no lease is needed. */
  readonly connected: boolean;
  /** The AI agent's name as an owner; absent: another caller. */
  readonly agent?: string;
}

interface CapturedKey {
  readonly seq: number;
  readonly raw: readonly number[];
  readonly parsed: ParsedKey | null;
  readonly target?: string;
}

/** One key or paste typed by a person, as subscribers receive it. */
export interface TypedKey {
  /** Mode before the key. */
  readonly mode: InputMode;
  readonly raw: readonly number[];
  readonly parsed: ParsedKey | null;
}

interface KeyboardPort {
  readonly clock: Clock;
  /** Whether a subscriber is notified of keys that go to the program. */
  hasSubscribers(): boolean;
  typed(key: TypedKey): void;
  modeChanged(mode: InputMode): void;
  /** The element that receives captured keys. */
  focused(): string | null;
}

interface KeyboardCapture {
  readonly owner: KeyboardOwner;
  end: Disposable | null;
  /** Clock time at which the lease ends; null without one. */
  until: number | null;
  /** Whether the connection is lost: the owner may reconnect under the same name with another id. */
  isConnectionLost: boolean;
}

export class Keyboard {
  private currentCapture: KeyboardCapture | null = null;
  private readonly capturedKeys: CapturedKey[] = [];
  private lastSeq = 0;
  private leaseMs = 0;
  private readonly decoder: ViewerKeys;
  private readonly readers = new Set<() => void>();
  /** Position of each caller's last read, least recent reader first. */
  private readonly cursors = new Map<string, number>();

  constructor(private readonly port: KeyboardPort) {
    this.decoder = new ViewerKeys(port.clock, (events) => this.handleEvents(events));
  }

  get mode(): InputMode {
    return this.currentCapture === null ? "passthrough" : "capture";
  }

  get owner(): KeyboardOwner | null {
    return this.currentCapture?.owner ?? null;
  }

  /** Time until the lease ends, in ms; null when it does not expire. */
  leaseLeft(): number | null {
    const until = this.currentCapture?.until ?? null;
    return until === null ? null : Math.max(0, Math.round(until - this.port.clock.now()));
  }

  /**
   * Captures the keyboard, or keeps it: a repetition renews the lease.
   * @throws WshError input_captured when another caller holds it
   */
  capture(owner: KeyboardOwner, leaseMs: number): void {
    const held = this.currentCapture;
    if (held !== null && held.owner.id !== owner.id && !(held.isConnectionLost && held.owner.label === owner.label)) {
      throw new WshError("input_captured", `'${held.owner.label}' has captured the keyboard`, {
        owner: held.owner.label,
      });
    }
    held?.end?.[Symbol.dispose]();
    this.currentCapture = { owner, end: null, until: null, isConnectionLost: false };
    // Keys pressed before the first read remain available, as do unread keys when a lease is renewed.
    const read = held === null ? undefined : this.cursors.get(held.owner.id);
    this.moveCursor(owner.id, read ?? this.lastSeq);
    if (!owner.connected) this.startLease(leaseMs);
    if (held === null) this.port.modeChanged("capture");
  }

  /** Returns the keys to the program. Idempotent. */
  release(): void {
    if (this.currentCapture === null) return;
    this.currentCapture.end?.[Symbol.dispose]();
    this.currentCapture = null;
    this.port.modeChanged("passthrough");
    for (const wake of this.readers) wake();
  }

  /** A caller is gone and will not return. */
  releaseCaller(id: string): void {
    this.cursors.delete(id);
    if (this.currentCapture?.owner.id === id) this.release();
  }

  /** The connection of these callers has closed: they may reconnect. */
  handleConnectionLoss(ids: ReadonlySet<string>): void {
    const { currentCapture } = this;
    if (currentCapture === null || !currentCapture.owner.connected || !ids.has(currentCapture.owner.id)) return;
    currentCapture.isConnectionLost = true;
    currentCapture.end?.[Symbol.dispose]();
    currentCapture.end = this.port.clock.after(RECLAIM_MS, () => this.release());
  }

  /**
   * Input of a person at terminal `viewer`.
   * @param secret typed at a password prompt: subscribers are not notified
   * @returns whether it goes to the program
   */
  type(viewer: number, bytes: Uint8Array, secret: boolean): boolean {
    const captured = this.currentCapture !== null;
    if (!captured && (secret || !this.port.hasSubscribers())) {
      this.decoder.forget(viewer);
      return true;
    }
    this.decoder.push(viewer, bytes);
    return !captured;
  }

  forgetViewer(viewer: number): void {
    this.decoder.forget(viewer);
  }

  /** Position at which a caller that names none continues to read. */
  cursor(id: string): number {
    return this.cursors.get(id) ?? this.lastSeq;
  }

  private moveCursor(id: string, seq: number): void {
    setNewest(this.cursors, id, seq, MAX_CURSORS);
  }

  /** Captured keys after `since` (default: from now on). `missed` counts keys that are no longer in the ring. */
  readAfter(since: number | undefined): { keys: CapturedKey[]; seq: number; missed: number } {
    const from = since ?? this.lastSeq;
    const keys = this.capturedKeys.filter(({ seq }) => seq > from);
    const oldest = this.capturedKeys[0]?.seq ?? this.lastSeq + 1;
    return { keys, seq: this.lastSeq, missed: Math.max(0, Math.min(oldest, this.lastSeq + 1) - from - 1) };
  }

  /**
   * Like `readAfter`, but continues by default at the end of the caller's last read, and waits for a key. A read by the
   * owner renews its lease; a cancelled read moves nothing.
   */
  async readNext(
    since: number | undefined,
    waitMs: number,
    reader: { readonly id: string; readonly signal: AbortSignal },
  ): Promise<ReturnType<Keyboard["readAfter"]>> {
    const from = since ?? this.cursor(reader.id);
    this.renewLease(reader.id);
    if (waitMs > 0 && this.lastSeq <= from && !reader.signal.aborted) {
      const wait = new Wait<void>({ clock: this.port.clock, ms: waitMs, signal: reader.signal }, () => {});
      const wake = (): void => wait.end();
      this.readers.add(wake);
      wait.own(() => this.readers.delete(wake));
      await wait.promise;
      this.renewLease(reader.id);
    }
    const read = this.readAfter(from);
    if (!reader.signal.aborted) this.moveCursor(reader.id, read.seq);
    return read;
  }

  dispose(): void {
    this.currentCapture?.end?.[Symbol.dispose]();
    this.currentCapture = null;
    this.decoder.dispose();
    for (const wake of this.readers) wake();
  }

  private startLease(ms: number): void {
    const { currentCapture } = this;
    if (currentCapture === null) return;
    this.leaseMs = ms;
    currentCapture.end?.[Symbol.dispose]();
    currentCapture.until = this.port.clock.now() + ms;
    currentCapture.end = this.port.clock.after(ms, () => this.release());
  }

  private renewLease(id: string): void {
    if (this.currentCapture !== null && this.currentCapture.owner.id === id && this.currentCapture.until !== null)
      this.startLease(this.leaseMs);
  }

  private handleEvents(events: readonly InputEvent[]): void {
    const { mode } = this;
    for (const { raw, parsed, kind } of events) {
      if (kind === "reply" || kind === "focus" || kind === "release" || kind === "modifier") continue;
      const key = { raw: [...raw], parsed };
      this.port.typed({ mode, ...key });
      if (mode === "capture") this.store(key);
    }
  }

  private store(key: Pick<CapturedKey, "raw" | "parsed">): void {
    const target = this.port.focused();
    this.lastSeq++;
    this.capturedKeys.push({ seq: this.lastSeq, ...key, ...present({ target }) });
    if (this.capturedKeys.length > MAX_CAPTURED_KEYS) this.capturedKeys.shift();
    for (const wake of this.readers) wake();
  }
}
