/** Reports that sessions may have changed: session processes report changes, the registry new and ended sessions. */
import { messageJson, messageTypes } from "../../protocol/messages.ts";
import type { Connection } from "../../wire/connection.ts";
import type { Sessions } from "../instance/sessions.ts";

/** Time from an event to the next snapshot in ms: one change causes several events. */
const SOON_MS = 10;
/** The same for changes that only lists show, such as names by the running program. */
const LATER_MS = 250;

export class SessionsWatch {
  private readonly connections = new Map<string, Connection | null>();
  private readonly registry: Disposable;
  private timer: Timer | null = null;
  private dueAt = Number.POSITIVE_INFINITY;
  private isOver = false;

  constructor(
    private readonly sessions: Sessions,
    private readonly changed: () => void,
  ) {
    this.registry = sessions.onRegistry(() => this.lookIn(SOON_MS));
  }

  /** Watches exactly these sessions. */
  setTargets(targets: readonly string[]): void {
    for (const [target, connection] of this.connections) {
      if (targets.includes(target)) continue;
      this.connections.delete(target);
      connection?.close();
    }
    for (const target of targets) {
      if (this.connections.has(target)) continue;
      this.connections.set(target, null);
      void this.open(target);
    }
  }

  close(): void {
    this.isOver = true;
    this.registry[Symbol.dispose]();
    this.setTargets([]);
    clearTimeout(this.timer ?? undefined);
  }

  private async open(target: string): Promise<void> {
    const events = {
      message: (message: Parameters<typeof messageJson>[0]): void => {
        if (message.type !== messageTypes.event) return;
        const event = messageJson(message);
        const isStale = typeof event === "object" && event !== null && "event" in event && event.event === "stale";
        this.lookIn(isStale ? LATER_MS : SOON_MS);
      },
      close: (): void => {
        this.connections.delete(target);
        this.lookIn(SOON_MS);
      },
    };
    const connection = await this.sessions.stream("peer.watch", {}, target, events).catch(() => null);
    if (this.connections.has(target)) this.connections.set(target, connection);
    else connection?.close();
  }

  private lookIn(ms: number): void {
    if (this.isOver || performance.now() + ms >= this.dueAt) return;
    this.dueAt = performance.now() + ms;
    clearTimeout(this.timer ?? undefined);
    this.timer = setTimeout(() => {
      this.dueAt = Number.POSITIVE_INFINITY;
      this.changed();
    }, ms);
  }
}
