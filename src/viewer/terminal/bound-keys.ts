/**
 * Runs the operations that are bound to keys, in order with later input: input after a key is typed into the
 * destination of the key, once its operation has ended.
 */
import type { BoundKey } from "../../protocol/attach.ts";

/** Maximum reads that wait for an earlier key's operation: more than anyone types during it. */
const MAX_WAITING = 4096;

/** Queued input after a key, or another key of a table. */
type Queued = Uint8Array | BoundKey;

interface BoundKeysPort {
  readonly isOver: boolean;
  /** Whether a key's binding applies now: an open dialog or copy mode may take the key as typed. */
  means(key: BoundKey): boolean;
  /** Runs the operations of a key. */
  perform(key: BoundKey): Promise<void>;
  failed(error: unknown): void;
  typed(bytes: Uint8Array): void;
}

export class BoundKeys {
  /** Input after a key, queued until its operation has ended. */
  private queued: Queued[] | null = null;

  constructor(private readonly port: BoundKeysPort) {}

  /** Queued input. */
  get rest(): readonly Queued[] {
    return this.queued ?? [];
  }

  get isIdle(): boolean {
    return this.queued === null;
  }

  /** Runs a navigation: later input is typed at the destination, and dropped when the navigation fails. */
  lead(work: () => Promise<void>): void {
    const following = this.queued ?? [];
    this.begin(following, async () => {
      try {
        await work();
      } catch (thrown) {
        following.length = 0;
        throw thrown;
      }
    });
  }

  press(key: BoundKey): void {
    if (this.queued === null) this.performNow(key, []);
    else if (this.queued.length < MAX_WAITING) this.queued.push(key);
  }

  /** @returns whether the input was queued */
  hold(bytes: Uint8Array): boolean {
    if (this.queued === null) return false;
    if (this.queued.length < MAX_WAITING) this.queued.push(new Uint8Array(bytes));
    return true;
  }

  /** @returns whether the key's operations have begun; otherwise it was typed */
  private performNow(key: BoundKey, following: Queued[]): boolean {
    const isMeant = this.port.means(key);
    if (isMeant) this.begin(following, () => this.port.perform(key));
    else this.port.typed(Uint8Array.from(key.bytes));
    return isMeant;
  }

  /** @returns whether they were queued after the current operation */
  private queueBehind(next: Queued, rest: readonly Queued[]): boolean {
    this.queued?.push(next, ...rest);
    return this.queued !== null;
  }

  private begin(following: Queued[], work: () => Promise<void>): void {
    this.queued = following;
    void work()
      .catch((error) => this.port.failed(error))
      .finally(() => {
        const rest = this.queued ?? [];
        this.queued = null;
        for (let next = rest.shift(); next !== undefined && !this.port.isOver; next = rest.shift()) {
          // The typed input has navigated.
          if (this.queueBehind(next, rest)) return;
          if (next instanceof Uint8Array) this.port.typed(next);
          else if (this.performNow(next, rest)) return;
        }
      });
  }
}
