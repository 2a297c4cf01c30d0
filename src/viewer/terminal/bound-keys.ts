/**
 * Runs the operations that are bound to keys, in order with later input: input after a key waits for the key's
 * operation, and then goes to the pane that this has made active.
 */
import type { BoundKey } from "../../protocol/attach.ts";

/** Maximum reads that wait for an earlier key's operation: more than anyone types during it. */
const MAX_WAITING = 4096;

/** Queued input after a key, or another key of a table. */
type QueuedInput = Uint8Array | BoundKey;

interface BoundKeysPort {
  readonly isOver: boolean;
  /** Whether a key's binding applies now: an open dialog or copy mode may take the key as typed. */
  isBound(key: BoundKey): boolean;
  /** Runs the operations of a key. */
  perform(key: BoundKey): Promise<void>;
  failed(error: unknown): void;
  sendInput(bytes: Uint8Array): void;
}

export class BoundKeys {
  /** Input after a key, queued until its operation has ended. */
  private queued: QueuedInput[] | null = null;
  /** Number of queued pieces, from the first one on, that the operation itself types. */
  private typedByOperation = 0;

  constructor(private readonly port: BoundKeysPort) {}

  get queuedInput(): readonly QueuedInput[] {
    return this.queued ?? [];
  }

  get isIdle(): boolean {
    return this.queued === null;
  }

  /** Runs a navigation: later input is typed at the destination, and dropped when the navigation fails. */
  navigate(work: () => Promise<void>): void {
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
    if (this.queued === null) this.runOrType(key, []);
    else if (this.queued.length < MAX_WAITING) this.queued.push(key);
  }

  /** @returns whether the input was queued */
  queueInput(bytes: Uint8Array): boolean {
    if (this.queued === null) return false;
    if (this.queued.length < MAX_WAITING) this.queued.push(new Uint8Array(bytes));
    return true;
  }

  /** An operation types this: before the input that waits for it. */
  typeFromOperation(bytes: Uint8Array): void {
    if (this.queued === null) this.port.sendInput(bytes);
    else this.queued.splice(this.typedByOperation++, 0, bytes);
  }

  /** @returns whether the key's operations have begun; otherwise it was typed */
  private runOrType(key: BoundKey, following: QueuedInput[]): boolean {
    const isBound = this.port.isBound(key);
    if (isBound) this.begin(following, () => this.port.perform(key));
    else this.port.sendInput(Uint8Array.from(key.bytes));
    return isBound;
  }

  /** @returns whether they were queued after the current operation */
  private queueBehind(next: QueuedInput, rest: readonly QueuedInput[]): boolean {
    this.queued?.push(next, ...rest);
    return this.queued !== null;
  }

  private begin(following: QueuedInput[], work: () => Promise<void>): void {
    this.queued = following;
    this.typedByOperation = 0;
    void work()
      .catch((error) => this.port.failed(error))
      .finally(() => {
        const rest = this.queued ?? [];
        this.queued = null;
        for (let next = rest.shift(); next !== undefined && !this.port.isOver; next = rest.shift()) {
          // The typed input has navigated.
          if (this.queueBehind(next, rest)) return;
          if (next instanceof Uint8Array) this.port.sendInput(next);
          else if (this.runOrType(next, rest)) return;
        }
      });
  }
}
