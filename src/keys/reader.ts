/**
 * A person's input on its way to the session process, without the prefix key and the terminal's answers to our own
 * queries; everything else passes unchanged and in order, one piece per read. Runs once per read; text without control
 * characters, such as a large paste, is not decoded.
 */
import type { Bindings } from "./bindings.ts";
import { decodeKeys, flushKeys, initialKeyState, isWaiting } from "./decode.ts";
import { initialPrefixState, type Prefix, prefixKey } from "./prefix.ts";
import type { InputEvent } from "./types.ts";

/** How long a lone Escape may be the beginning of a sequence, in ms: a terminal writes a sequence at once. */
const ESCAPE_MS = 10;
/** The same for a longer beginning, which came apart on its way (ssh). */
const SEQUENCE_MS = 50;
/** Time after the prefix key, without another one, until a map of the keys is shown, in ms: experts are faster. */
const MAP_MS = 400;

export interface KeyActions {
  forward(bytes: Uint8Array): void;
  /** A report of the terminal. It answers our own queries; the session process answers those of programs. */
  reply(bytes: Uint8Array): void;
  detach(): void;
  /** Show the keys that may follow the prefix key; `false`: one was pressed. */
  help(shown: boolean): void;
  /** A key was pressed after the prefix, bound or unbound. */
  bound(key: string): void;
  /** Take the keyboard back from the caller that captured it. */
  release(): void;
}

export class KeyReader {
  /** Whether a caller holds the keyboard. */
  captured = false;
  private keys = initialKeyState;
  private pressed = initialPrefixState;
  private timer: Timer | null = null;
  private mapTimer: Timer | null = null;
  private helping = false;

  constructor(
    /** Read at each key: the settings may change. */
    private readonly person: { readonly key: Prefix | null; readonly bindings: Bindings },
    private readonly actions: KeyActions,
  ) {}

  /** Whether no key press waits for more bytes: another reader can take over then. */
  get isAtRest(): boolean {
    return !isWaiting(this.keys) && this.pressed.pending === null;
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
    this.act(events);
    this.arm();
  }

  /** Ends its timers: nothing is read any more. */
  dispose(): void {
    clearTimeout(this.timer ?? undefined);
    clearTimeout(this.mapTimer ?? undefined);
  }

  /** Sends on the pending beginning of a sequence. */
  flush(): void {
    this.timer = null;
    const { events, state } = flushKeys(this.keys);
    this.keys = state;
    this.act(events);
    this.arm();
  }

  /** Sets a timer for an unfinished sequence. */
  private arm(): void {
    if (!isWaiting(this.keys)) return;
    this.timer = setTimeout(() => this.flush(), this.keys.rest.length === 1 ? ESCAPE_MS : SEQUENCE_MS);
  }

  /** Whether text is passed on without decoding. */
  get passesText(): boolean {
    if (!this.isAtRest) return false;
    const { key: prefix } = this.person;
    const typed = prefix !== null && prefix.key.modifiers.length === 0;
    return !typed && performance.now() >= this.pressed.repeatUntil;
  }

  private isPlain(bytes: Uint8Array): boolean {
    return this.passesText && bytes.every(isText);
  }

  private act(events: readonly InputEvent[]): void {
    let forward: Uint8Array[] = [];
    const send = (): void => {
      if (forward.length > 0) this.actions.forward(forward.length === 1 ? (forward[0] ?? EMPTY) : joined(forward));
      forward = [];
    };
    for (const event of events) {
      if (event.kind === "reply") {
        this.actions.reply(event.raw);
        continue;
      }
      const { captured, person } = this;
      const { key: prefix, bindings } = person;
      const { state, action } = prefixKey(this.pressed, event, { captured, prefix, bindings, now: performance.now() });
      this.pressed = state;
      if (state.pending === null) this.showMap(false);
      if (action.type === "forward") {
        forward.push(action.raw);
      } else if (action.type === "wait") this.mapTimer ??= setTimeout(() => this.showMap(true), MAP_MS);
      else {
        send();
        if (action.type === "detach") {
          this.actions.detach();
          return;
        }
        if (action.type === "bound" || action.type === "unbound") {
          if (action.key !== null) this.actions.bound(action.key);
        } else {
          // At once, not on the session process's report: the next press is already meant for the program.
          this.captured = false;
          this.actions.release();
        }
      }
    }
    send();
  }

  private showMap(shown: boolean): void {
    clearTimeout(this.mapTimer ?? undefined);
    this.mapTimer = null;
    if (shown === this.helping) return;
    this.helping = shown;
    this.actions.help(shown);
  }
}

const EMPTY = new Uint8Array(0);

function isText(byte: number): boolean {
  return byte >= 0x20 || byte === 0x0d || byte === 0x09 || byte === 0x0a;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}
