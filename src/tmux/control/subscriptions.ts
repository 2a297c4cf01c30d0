/** Formats that a client in control mode subscribes to. A changed value is reported at most once a second. */
import type { Subscription } from "../backend.ts";

/** Interval between two evaluations, in ms. */
const LOOK_MS = 1_000;
/** Maximum subscriptions of a client; further ones are ignored. */
const MOST = 64;

export class Subscriptions {
  private readonly subscriptions = new Map<
    string,
    { readonly of: Subscription; readonly values: Map<string, string> }
  >();
  private timer: Timer | null = null;

  constructor(
    private readonly valuesOf: (
      subscription: Subscription,
    ) => Promise<readonly { readonly object: string; readonly value: string }[]>,
    private readonly report: (line: string) => void,
  ) {}

  /** @param of null ends the subscription */
  set(name: string, of: Subscription | null): void {
    this.subscriptions.delete(name);
    if (of !== null && this.subscriptions.size < MOST) this.subscriptions.set(name, { of, values: new Map() });
    this.wait();
  }

  close(): void {
    this.subscriptions.clear();
    this.wait();
  }

  private wait(): void {
    if (this.subscriptions.size === 0) {
      clearTimeout(this.timer ?? undefined);
      this.timer = null;
    } else this.timer ??= setTimeout(() => void this.reportChanges(), LOOK_MS);
  }

  private async reportChanges(): Promise<void> {
    for (const [name, { of, values }] of this.subscriptions) {
      // A session that ends meanwhile has no values.
      for (const { object, value } of await this.valuesOf(of).catch(() => [])) {
        if (values.get(object) === value || this.subscriptions.get(name)?.values !== values) continue;
        values.set(object, value);
        this.report(`%subscription-changed ${name} ${object} : ${value}`);
      }
    }
    this.timer = null;
    this.wait();
  }
}
