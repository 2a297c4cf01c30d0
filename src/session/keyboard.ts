/**
 * Directs the keys that a person types: to the program (passthrough), or to the agent that captured the keyboard
 * (docs/protocol.md, Keyboard). A capture always has an owner and ends with it: with its connection, or when its lease
 * expires. A restarted server has a few seconds to reclaim the captures of its callers. Captured keys are stored in a
 * ring, read by cursor.
 */

import type { Clock } from "../base/clock.ts";
import { Wait } from "../base/deadline.ts";
import type { InputEvent, ParsedKey } from "../keys/types.ts";
import { present } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import { ViewerKeys } from "./viewer-keys.ts";

/** Number of captured keys stored for readers (docs/protocol.md, Keyboard). */
const RING = 256;
/** Callers whose position in the ring is remembered; beyond that, the least recent reader is forgotten. */
const READERS = 256;
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
  overheard(): boolean;
  typed(key: TypedKey): void;
  modeChanged(mode: InputMode): void;
  /** The element that receives captured keys. */
  focused(): string | null;
}

interface Holding {
  readonly owner: KeyboardOwner;
  end: Disposable | null;
  /** Clock time at which the lease ends; null without one. */
  until: number | null;
  /** Whether the connection is lost: the owner may reconnect under the same name with another id. */
  lost: boolean;
}

export class Keyboard {
  private holding: Holding | null = null;
  private readonly ring: CapturedKey[] = [];
  private lastSeq = 0;
  private leaseMs = 0;
  private readonly decoded: ViewerKeys;
  private readonly readers = new Set<() => void>();
  /** Position of each caller's last read, least recent reader first. */
  private readonly cursors = new Map<string, number>();

  constructor(private readonly port: KeyboardPort) {
    this.decoded = new ViewerKeys(port.clock, (events) => this.tell(events));
  }

  get mode(): InputMode {
    return this.holding === null ? "passthrough" : "capture";
  }

  get owner(): KeyboardOwner | null {
    return this.holding?.owner ?? null;
  }

  /** Time until the lease ends, in ms; null when it does not expire. */
  leaseLeft(): number | null {
    const until = this.holding?.until ?? null;
    return until === null ? null : Math.max(0, Math.round(until - this.port.clock.now()));
  }

  /**
   * Captures the keyboard, or keeps it: a repetition renews the lease.
   * @throws WshError input_captured when another caller holds it
   */
  capture(owner: KeyboardOwner, leaseMs: number): void {
    const held = this.holding;
    if (held !== null && held.owner.id !== owner.id && !(held.lost && held.owner.label === owner.label)) {
      throw new WshError("input_captured", `'${held.owner.label}' has captured the keyboard`, {
        owner: held.owner.label,
      });
    }
    held?.end?.[Symbol.dispose]();
    this.holding = { owner, end: null, until: null, lost: false };
    // Keys pressed before the first read remain available, as do unread keys when a lease is renewed.
    const read = held === null ? undefined : this.cursors.get(held.owner.id);
    this.moveCursor(owner.id, read ?? this.lastSeq);
    if (!owner.connected) this.lease(leaseMs);
    if (held === null) this.port.modeChanged("capture");
  }

  /** Returns the keys to the program. Idempotent. */
  release(): void {
    if (this.holding === null) return;
    this.holding.end?.[Symbol.dispose]();
    this.holding = null;
    this.port.modeChanged("passthrough");
    for (const wake of this.readers) wake();
  }

  /** A caller is gone and will not return. */
  callerGone(id: string): void {
    this.cursors.delete(id);
    if (this.holding?.owner.id === id) this.release();
  }

  /** The connection of these callers has closed: they may reconnect. */
  connectionLost(ids: ReadonlySet<string>): void {
    const { holding } = this;
    if (holding === null || !holding.owner.connected || !ids.has(holding.owner.id)) return;
    holding.lost = true;
    holding.end?.[Symbol.dispose]();
    holding.end = this.port.clock.after(RECLAIM_MS, () => this.release());
  }

  /**
   * Input of a person at terminal `viewer`.
   * @param secret typed at a password prompt: subscribers are not notified
   * @returns whether it goes to the program
   */
  type(viewer: number, bytes: Uint8Array, secret: boolean): boolean {
    const captured = this.holding !== null;
    if (!captured && (secret || !this.port.overheard())) {
      this.decoded.forget(viewer);
      return true;
    }
    this.decoded.push(viewer, bytes);
    return !captured;
  }

  viewerGone(viewer: number): void {
    this.decoded.forget(viewer);
  }

  /** Position at which a caller that names none continues to read. */
  cursor(id: string): number {
    return this.cursors.get(id) ?? this.lastSeq;
  }

  private moveCursor(id: string, seq: number): void {
    this.cursors.delete(id);
    this.cursors.set(id, seq);
    const [oldest] = this.cursors.keys();
    if (this.cursors.size > READERS && oldest !== undefined) this.cursors.delete(oldest);
  }

  /** Captured keys after `since` (default: from now on). `missed` counts keys that are no longer in the ring. */
  read(since: number | undefined): { keys: CapturedKey[]; seq: number; missed: number } {
    const from = since ?? this.lastSeq;
    const keys = this.ring.filter(({ seq }) => seq > from);
    const oldest = this.ring[0]?.seq ?? this.lastSeq + 1;
    return { keys, seq: this.lastSeq, missed: Math.max(0, Math.min(oldest, this.lastSeq + 1) - from - 1) };
  }

  /**
   * Like `read`, but continues by default at the end of the caller's last read, and waits for a key. A read by the
   * owner renews its lease; a cancelled read moves nothing.
   */
  async await(
    since: number | undefined,
    waitMs: number,
    reader: { readonly id: string; readonly signal: AbortSignal },
  ): Promise<ReturnType<Keyboard["read"]>> {
    const from = since ?? this.cursor(reader.id);
    this.renew(reader.id);
    if (waitMs > 0 && this.lastSeq <= from && !reader.signal.aborted) {
      const wait = new Wait<void>({ clock: this.port.clock, ms: waitMs, signal: reader.signal }, () => {});
      const wake = (): void => wait.end();
      this.readers.add(wake);
      wait.own(() => this.readers.delete(wake));
      await wait.promise;
      this.renew(reader.id);
    }
    const read = this.read(from);
    if (!reader.signal.aborted) this.moveCursor(reader.id, read.seq);
    return read;
  }

  dispose(): void {
    this.holding?.end?.[Symbol.dispose]();
    this.holding = null;
    this.decoded.dispose();
    for (const wake of this.readers) wake();
  }

  private lease(ms: number): void {
    const { holding } = this;
    if (holding === null) return;
    this.leaseMs = ms;
    holding.end?.[Symbol.dispose]();
    holding.until = this.port.clock.now() + ms;
    holding.end = this.port.clock.after(ms, () => this.release());
  }

  private renew(id: string): void {
    if (this.holding !== null && this.holding.owner.id === id && this.holding.until !== null) this.lease(this.leaseMs);
  }

  private tell(events: readonly InputEvent[]): void {
    const { mode } = this;
    for (const { raw, parsed, kind } of events) {
      if (kind === "reply" || kind === "focus" || kind === "release" || kind === "modifier") continue;
      const key = { raw: [...raw], parsed };
      this.port.typed({ mode, ...key });
      if (mode === "capture") this.keep(key);
    }
  }

  private keep(key: Pick<CapturedKey, "raw" | "parsed">): void {
    const target = this.port.focused();
    this.lastSeq++;
    this.ring.push({ seq: this.lastSeq, ...key, ...present({ target }) });
    if (this.ring.length > RING) this.ring.shift();
    for (const wake of this.readers) wake();
  }
}
