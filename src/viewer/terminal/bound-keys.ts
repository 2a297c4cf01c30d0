/**
 * Keys that are bound to operations, in order with later input: input after a key is typed into the key's destination,
 * once its operation is done.
 */

/** Maximum reads of keys that wait for an earlier key's operation: more than anyone types meanwhile. */
const MAX_WAITING = 4096;

export interface BoundKeysPort {
  readonly isOver: boolean;
  /** Runs the operation of a key. */
  perform(key: string): Promise<void>;
  failed(error: unknown): void;
  typed(bytes: Uint8Array): void;
}

export class BoundKeys {
  /** Input after a key, queued until its operation is done; a string is another bound key. */
  private waiting: (Uint8Array | string)[] | null = null;

  constructor(private readonly port: BoundKeysPort) {}

  /** Queued input. */
  get rest(): readonly (Uint8Array | string)[] {
    return this.waiting ?? [];
  }

  get isIdle(): boolean {
    return this.waiting === null;
  }

  /** Runs a navigation: later input is typed at the destination, and dropped when the navigation fails. */
  lead(work: () => Promise<void>): void {
    const following = this.waiting ?? [];
    this.begin(following, async () => {
      try {
        await work();
      } catch (thrown) {
        following.length = 0;
        throw thrown;
      }
    });
  }

  press(key: string): void {
    if (this.waiting === null) this.begin([], () => this.port.perform(key));
    else if (this.waiting.length < MAX_WAITING) this.waiting.push(key);
  }

  /** @returns whether the input was queued */
  hold(bytes: Uint8Array): boolean {
    if (this.waiting === null) return false;
    if (this.waiting.length < MAX_WAITING) this.waiting.push(new Uint8Array(bytes));
    return true;
  }

  /** @returns whether they were queued after the present operation */
  private behind(next: Uint8Array | string, rest: readonly (Uint8Array | string)[]): boolean {
    this.waiting?.push(next, ...rest);
    return this.waiting !== null;
  }

  private begin(following: (Uint8Array | string)[], work: () => Promise<void>): void {
    this.waiting = following;
    void work()
      .catch((error) => this.port.failed(error))
      .finally(() => {
        const rest = this.waiting ?? [];
        this.waiting = null;
        for (let next = rest.shift(); next !== undefined && !this.port.isOver; next = rest.shift()) {
          // The typed input has navigated.
          if (this.behind(next, rest)) return;
          if (typeof next === "string") {
            this.begin(rest, () => this.port.perform(next));
            return;
          }
          this.port.typed(next);
        }
      });
  }
}
