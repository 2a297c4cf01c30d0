/**
 * A person's input on its way to the session process: text, and keys of tables. Between two processes it is held in the
 * order typed, and then either typed in the next one or dropped.
 */
import type { BoundKey } from "../protocol/attach.ts";

/** Input that no program has received. */
export type EarlyInput = BoundKey | { readonly bytes: ArrayLike<number> };

interface HeldInputPort {
  type(bytes: Uint8Array): void;
  press(key: BoundKey): void;
}

export class HeldInput {
  private held: EarlyInput[] | null = null;

  constructor(private readonly port: HeldInputPort) {}

  /** Runs per key. */
  type(bytes: Uint8Array): void {
    if (this.held === null) this.port.type(bytes);
    else this.held.push({ bytes });
  }

  press(key: BoundKey): void {
    if (this.held === null) this.port.press(key);
    else this.held.push(key);
  }

  /** No session process takes input. */
  hold(): void {
    this.held = [];
  }

  /** Another session process takes input. @param earlier input from before */
  deliver(earlier: readonly EarlyInput[]): void {
    const held = this.held ?? [];
    this.held = null;
    for (const each of [...earlier, ...held]) {
      if ("key" in each) this.press(each);
      else this.type(Uint8Array.from(each.bytes));
    }
  }

  /** Another session process takes input, but not what was typed meanwhile. */
  drop(): void {
    this.held = null;
  }
}
