/**
 * Keys that are bound to operations, in order with what is typed behind them: what follows a key is typed where the key
 * leads to, once it is done.
 */

/** Most reads of keys that wait for what an earlier key is bound to: more than anybody types meanwhile. */
const MAX_WAITING = 4096;

export interface BoundKeysPort {
  readonly isOver: boolean;
  /** Does what a key is bound to. */
  perform(key: string): Promise<void>;
  failed(error: unknown): void;
  typed(bytes: Uint8Array): void;
}

export class BoundKeys {
  /** What was typed after a key, until what it is bound to is done; a string is another such key. */
  private waiting: (Uint8Array | string)[] | null = null;

  constructor(private readonly port: BoundKeysPort) {}

  /** Typed, and given to nobody yet. */
  get rest(): readonly (Uint8Array | string)[] {
    return this.waiting ?? [];
  }

  press(key: string): void {
    if (this.waiting === null) this.begin(key, []);
    else if (this.waiting.length < MAX_WAITING) this.waiting.push(key);
  }

  /** @returns whether what was typed waits */
  hold(bytes: Uint8Array): boolean {
    if (this.waiting === null) return false;
    if (this.waiting.length < MAX_WAITING) this.waiting.push(new Uint8Array(bytes));
    return true;
  }

  private begin(key: string, following: (Uint8Array | string)[]): void {
    this.waiting = following;
    void this.port
      .perform(key)
      .catch((error) => this.port.failed(error))
      .finally(() => {
        const rest = this.waiting ?? [];
        this.waiting = null;
        for (let next = rest.shift(); next !== undefined && !this.port.isOver; next = rest.shift()) {
          if (typeof next === "string") {
            this.begin(next, rest);
            return;
          }
          this.port.typed(next);
        }
      });
  }
}
