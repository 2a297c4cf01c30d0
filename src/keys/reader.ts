/**
 * A person's input on its way to the session process, without the prefix key and the terminal's answers to our own
 * queries; everything else passes unchanged and in order, one piece per read. Runs once per read; text without control
 * characters, such as a large paste, is not decoded.
 */
import { decodeKeys, flushKeys, initialKeyState, isWaiting } from "./decode.ts";
import { handleKeyEvent, type Prefix, type PressedKey, type TableState } from "./prefix.ts";
import type { KeyTables } from "./tables.ts";
import type { InputEvent } from "./types.ts";

/** Least wait for the rest of a sequence that arrived in parts (ssh), in ms. */
const SEQUENCE_MS = 50;
/** The same for a packet of the terminal's clipboard, which is long and never a key. */
const PACKET_MS = 2_000;

interface KeyActions {
  forward(bytes: Uint8Array): void;
  /** A report of the terminal. It answers our own queries; the session process answers those of programs. */
  reply(bytes: Uint8Array): void;
  detach(): void;
  /** A table waits for its key: an operation probably follows. */
  tableEntered?(): void;
  /** Show the keys of a table, one of which may follow; null: a key was pressed, or the table's time has ended. */
  showHelp(table: string | null): void;
  /** A key of a table was pressed, or one that is not in it. */
  pressTableKey(pressed: PressedKey): void;
  /** Whether keys without the prefix may be bound now; absent: always. */
  acceptsRootKeys?(): boolean;
  /** Take the keyboard back from the caller that captured it. */
  release(): void;
}

interface KeyReaderSettings {
  readonly key: Prefix | null;
  readonly tables: KeyTables;
  readonly repeatMs: number;
  /** Time during which a lone Escape may begin a sequence, in ms. */
  readonly escapeMs: number;
  /** Time after a key that enters a table (such as the prefix key) until the map of its keys is shown, in ms. */
  readonly keyHelpMs: number;
}

export class KeyReader {
  /** Whether a caller holds the keyboard. */
  captured = false;
  private keys = initialKeyState;
  private table: TableState = null;
  private timer: Timer | null = null;
  private mapTimer: Timer | null = null;
  /** Ends a table when its time has ended. */
  private tableTimer: Timer | null = null;
  private shownTable: string | null = null;

  constructor(
    /** Read at each key: the settings may change. */
    private readonly settings: KeyReaderSettings,
    private readonly actions: KeyActions,
  ) {}

  /** Whether no key waits for more bytes, so that another reader can take over. */
  get isAtRest(): boolean {
    return !isWaiting(this.keys) && (this.table === null || this.table.takes === "repeatable");
  }

  push(bytes: Uint8Array): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    if (this.isPlain(bytes)) {
      this.actions.forward(bytes);
      return;
    }
    const { events, state } = decodeKeys(this.keys, bytes);
    this.keys = state;
    this.handleEvents(events);
    this.armTimer();
  }

  /** Ends its timers: nothing is read afterwards. */
  dispose(): void {
    clearTimeout(this.timer ?? undefined);
    clearTimeout(this.mapTimer ?? undefined);
    clearTimeout(this.tableTimer ?? undefined);
  }

  /** Sends the pending beginning of a sequence. */
  flush(): void {
    this.timer = null;
    const { events, state } = flushKeys(this.keys);
    this.keys = state;
    this.handleEvents(events);
    this.armTimer();
  }

  /** Sets a timer for an unfinished sequence. */
  private armTimer(): void {
    if (!isWaiting(this.keys)) return;
    const { escapeMs } = this.settings;
    const { rest } = this.keys;
    const ms = isClipboardPacket(rest) ? PACKET_MS : rest.length === 1 ? 0 : SEQUENCE_MS;
    this.timer = setTimeout(() => this.flush(), Math.max(escapeMs, ms));
  }

  /** Whether text is passed on without decoding. */
  get passesText(): boolean {
    if (!this.isAtRest) return false;
    const { key: prefix, tables } = this.settings;
    if (tables.bindsText || (prefix !== null && prefix.key.modifiers.length === 0)) return false;
    return this.table === null || performance.now() >= this.table.until;
  }

  private isPlain(bytes: Uint8Array): boolean {
    return this.passesText && bytes.every(isText);
  }

  private handleEvents(events: readonly InputEvent[]): void {
    let forward: Uint8Array[] = [];
    const send = (): void => {
      if (forward.length > 0) this.actions.forward(forward.length === 1 ? (forward[0] ?? EMPTY) : concatenate(forward));
      forward = [];
    };
    for (const event of events) {
      if (event.kind === "reply") {
        this.actions.reply(event.raw);
        continue;
      }
      const { captured, settings } = this;
      const { key: prefix, tables, repeatMs } = settings;
      const now = performance.now();
      const acceptsRootKeys = tables.bindsRoot && this.actions.acceptsRootKeys?.() !== false;
      const { state, action } = handleKeyEvent(this.table, event, {
        captured,
        prefix,
        tables,
        repeatMs,
        now,
        acceptsRootKeys,
      });
      this.setTable(state, now);
      if (action.type === "forward") {
        forward.push(action.raw);
      } else if (action.type !== "wait") {
        send();
        if (action.type === "detach") {
          this.actions.detach();
          return;
        }
        if (action.type === "bound" || action.type === "unbound") {
          if (action.pressed !== null) this.actions.pressTableKey(action.pressed);
        } else {
          // Set at once, without waiting for the session process's report: the next press already goes to the program.
          this.captured = false;
          this.actions.release();
        }
      }
    }
    send();
  }

  /** The next key is looked up in this table. Timers run only while a table waits for one. */
  private setTable(state: TableState, now: number): void {
    const before = this.table;
    this.table = state;
    if (before === state) return;
    clearTimeout(this.tableTimer ?? undefined);
    this.tableTimer = null;
    const waits = state !== null && state.takes !== "repeatable";
    if (!waits || state.name !== before?.name) this.showMap(null);
    if (!waits) return;
    this.actions.tableEntered?.();
    if (state.until !== Number.POSITIVE_INFINITY)
      this.tableTimer = setTimeout(() => this.setTable(null, performance.now()), state.until - now);
    if (this.shownTable === null) this.mapTimer ??= setTimeout(() => this.showMap(state.name), this.settings.keyHelpMs);
  }

  private showMap(table: string | null): void {
    clearTimeout(this.mapTimer ?? undefined);
    this.mapTimer = null;
    if (table === this.shownTable) return;
    this.shownTable = table;
    this.actions.showHelp(table);
  }
}

/** Whether bytes begin a packet of kitty's clipboard protocol. */
export function isClipboardPacket(bytes: Uint8Array): boolean {
  return bytes[1] === CLIPBOARD[1] && CLIPBOARD.every((byte, at) => bytes[at] === byte);
}

const CLIPBOARD = Buffer.from("\x1b]5522;");
const EMPTY = new Uint8Array(0);

function isText(byte: number): boolean {
  return byte >= 0x20 || byte === 0x0d || byte === 0x09 || byte === 0x0a;
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}
