/**
 * The writer of a pane: who typed into it last, a person at an attached terminal or a caller. It is the pane's owner
 * until someone types. Commands in receipts and histories, and copies that programs make, are attributed to it.
 */
import type * as AsyncHooks from "node:async_hooks";
import type { Clock } from "../base/clock.ts";
import { readFocusReport } from "../protocol/focus-report.ts";
import type { Owner } from "../protocol/owner.ts";

const NEVER = Number.NEGATIVE_INFINITY;
const person: Owner = { kind: "person", name: "wsh" };
/** The name of an agent that attached a terminal: its keys do not name it. */
export const AGENT_AT_TERMINAL = "at an attached terminal";

export class PaneWriter {
  private typedAt = NEVER;
  /** Time of the newest input of a call, or of an agent at an attached terminal. */
  sentAt = NEVER;
  private sentBy: Owner | null = null;
  /** The owner of the call that types: calls wait, for a prompt or for each other, and type in another order. */
  private caller: AsyncHooks.AsyncLocalStorage<Owner> | null = null;

  /** @param owner the pane's; absent: unknown */
  constructor(
    private readonly clock: Clock,
    private readonly owner: Owner | undefined,
  ) {}

  /** Bytes of an attached terminal. A focus report changes no writer: a call that selects a pane causes it, too. */
  noteTyped(bytes: Uint8Array, byAgent: boolean): void {
    if (readFocusReport(bytes) !== null) return;
    if (!byAgent) this.typedAt = this.clock.now();
    else [this.sentAt, this.sentBy] = [this.clock.now(), { kind: "agent", name: AGENT_AT_TERMINAL }];
  }

  /** What `work` types is the owner's, also after a wait. A refused call types nothing, and changes no writer. */
  typesAs<T>(owner: Owner, work: () => T): T {
    if (this.caller === null) {
      // Loaded with the first call that types: it takes a tenth of a megabyte.
      const { AsyncLocalStorage }: typeof AsyncHooks = require("node:async_hooks");
      this.caller = new AsyncLocalStorage();
    }
    return this.caller.run(owner, work);
  }

  noteSent(by = this.caller?.getStore() ?? null): void {
    [this.sentAt, this.sentBy] = [this.clock.now(), by];
  }

  /** The source of the newest input; null without any. */
  get source(): "person" | "api" | null {
    if (Math.max(this.typedAt, this.sentAt) === NEVER) return null;
    return this.typedAt >= this.sentAt ? "person" : "api";
  }

  /** Null: unknown. */
  get current(): Owner | null {
    const { source } = this;
    return source === "person" ? person : ((source === "api" ? this.sentBy : this.owner) ?? null);
  }

  /** A person at an attached terminal typed within the last `ms`. */
  typedWithin(ms: number): boolean {
    return this.clock.now() - this.typedAt < ms;
  }
}
