/**
 * Sessions whose layout process was lost and is started again by one of their panes: they are still listed, and calls
 * wait for the successor. One without a successor in REPLACED_MS has ended.
 */
import { REPLACED_MS } from "../../protocol/control.ts";
import type { Host } from "./session-host.ts";

/** Interval between two looks for the successor of a lost layout process, in ms. */
export const REPLACED_POLL_MS = 100;

export class BeingReplaced {
  private readonly waits = new Map<Host, Promise<boolean>>();

  /** @param hasSuccessor looks whether another process serves the session now; throws nothing */
  constructor(private readonly hasSuccessor: (lost: Host) => Promise<boolean>) {}

  get hosts(): readonly Host[] {
    return [...this.waits.keys()];
  }

  /** @returns whether it has a successor */
  begin(lost: Host): Promise<boolean> {
    const wait = this.look(lost).finally(() => this.waits.delete(lost));
    this.waits.set(lost, wait);
    return wait;
  }

  /** Waits until it is known what becomes of those that are concerned. */
  async settled(concerns: (lost: Host) => boolean = () => true): Promise<void> {
    for (const [lost, wait] of this.waits) if (concerns(lost)) await wait;
  }

  private async look(lost: Host): Promise<boolean> {
    const until = performance.now() + REPLACED_MS;
    while (performance.now() < until) {
      await Bun.sleep(REPLACED_POLL_MS);
      if (await this.hasSuccessor(lost)) return true;
    }
    return false;
  }
}
