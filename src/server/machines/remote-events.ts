/**
 * Events of other machines' sessions: one stream per machine while it has subscribers, shared by all of them.
 * Each event names its machine. Events also report when a machine is reached, for the first time or again, and
 * when it is lost. Until it is reached again nothing is received from it, so a client lists its sessions again
 * after `machine_reached`.
 */

import type { RemoteEvent } from "../../cluster/link.ts";
import { addressedEvent } from "../../cluster/machine-prefix.ts";
import type { Machines } from "../../cluster/machines.ts";
import { WshError } from "../../protocol/errors.ts";

/** Shortest and longest pause between two attempts to reach a machine, in ms. */
const RETRY_MS = { least: 1_000, most: 15_000 } as const;
/** Interval between checks for added or removed machines, in ms. */
const MACHINES_CHECK_MS = 5_000;

/** An event as a client reads it. */
export interface MachineEvent {
  readonly event: string;
  readonly server: string;
  readonly params: Readonly<Record<string, unknown>>;
}

type MachineSink = (event: MachineEvent) => void;

export class RemoteEvents implements Disposable {
  private readonly feeds = new Map<string, Feed>();
  private readonly watchers = new Map<MachineSink, readonly string[] | null>();
  private timer: Timer | null = null;

  constructor(private readonly machines: Machines) {}

  /** @throws WshError machine_not_found */
  requireKnown(names: readonly string[]): void {
    for (const name of names) this.machines.link(name);
  }

  /** @param names names of machines, also of the fleet; null: all added machines, now and later */
  watch(names: readonly string[] | null, sink: MachineSink): Disposable {
    this.watchers.set(sink, names);
    this.updateFeeds();
    this.timer ??= setInterval(() => this.updateFeeds(), MACHINES_CHECK_MS);
    // A later subscriber first gets the current state.
    for (const [name, feed] of this.feeds) if (this.isFor(names, name)) feed.sendReachability(sink);
    return {
      [Symbol.dispose]: () => {
        this.watchers.delete(sink);
        this.updateFeeds();
      },
    };
  }

  [Symbol.dispose](): void {
    this.watchers.clear();
    this.updateFeeds();
  }

  /** Begins and ends streams when machines or watchers are added or removed. */
  private updateFeeds(): void {
    if (this.watchers.size === 0 && this.timer !== null) {
      clearInterval(this.timer);
      this.timer = null;
    }
    const lists = [...this.watchers.values()];
    const added = lists.length === 0 ? [] : this.machines.addedMachines.map(({ name }) => name);
    const machines = new Set(lists.length === 0 ? [] : [...added, ...this.machines.ofFleet]);
    const wanted = new Set(
      lists.flatMap((names) => (names === null ? added : names.filter((name) => machines.has(name)))),
    );
    for (const [name, feed] of this.feeds) {
      if (wanted.has(name)) continue;
      feed[Symbol.dispose]();
      this.feeds.delete(name);
      if (!machines.has(name)) this.deliver({ event: "machine_removed", server: name, params: {} });
    }
    for (const name of wanted) {
      if (!this.feeds.has(name)) this.feeds.set(name, new Feed(name, this.machines, (event) => this.deliver(event)));
    }
  }

  /**
   * For a fleet, only the named machines: there may be thousands. All subscribers are notified of a removed machine.
   */
  private isFor(names: readonly string[] | null, name: string): boolean {
    return names === null ? !this.machines.isOfFleet(name) : names.includes(name);
  }

  private deliver(event: MachineEvent): void {
    for (const [sink, names] of this.watchers) if (this.isFor(names, event.server)) sink(event);
  }
}

class Feed implements Disposable {
  private stream: Disposable | null = null;
  private timer: Timer | null = null;
  private isOver = false;
  private pauseMs: number = RETRY_MS.least;
  /** Time at which the machine was last heard, as performance.now(); null: never. */
  private lostAt: number | null = null;
  /** The last event about the machine itself. */
  private lastReachability: MachineEvent | null = null;

  constructor(
    private readonly name: string,
    private readonly machines: Machines,
    private readonly deliver: MachineSink,
  ) {
    void this.open();
  }

  sendReachability(sink: MachineSink): void {
    if (this.lastReachability !== null) sink(this.lastReachability);
  }

  [Symbol.dispose](): void {
    this.isOver = true;
    if (this.timer !== null) clearTimeout(this.timer);
    this.stream?.[Symbol.dispose]();
  }

  private async open(): Promise<void> {
    const { name } = this;
    try {
      const stream = await this.machines.link(name).events({
        event: (event) => this.receive(event),
        eventsMissed: (skipped) => this.reportMissed(skipped),
        connectionLost: () => this.streamLost(new WshError("machine_unreachable", `machine '${name}' does not answer`)),
      });
      if (this.isOver) {
        stream[Symbol.dispose]();
        return;
      }
      this.stream = stream;
      this.pauseMs = RETRY_MS.least;
      const missed = this.lostAt === null ? null : Math.round(performance.now() - this.lostAt);
      this.reportReachability("machine_reached", { missed_ms: missed });
    } catch (thrown) {
      this.streamLost(WshError.from(thrown));
    }
  }

  private receive({ event, params }: RemoteEvent): void {
    if (this.isOver) return;
    let eventParams: MachineEvent["params"];
    try {
      eventParams = addressedEvent(this.name, params);
    } catch {
      // The event is nested too deep to be parsed.
      this.reportMissed(1);
      return;
    }
    this.deliver({ event, server: this.name, params: eventParams });
  }

  private reportMissed(skipped: number): void {
    this.deliver({ event: "machine_lagged", server: this.name, params: { skipped } });
  }

  private streamLost({ code, message }: WshError): void {
    if (this.isOver) return;
    if (this.stream !== null) this.lostAt = performance.now();
    const isNews = this.stream !== null || this.lastReachability === null;
    this.stream = null;
    if (isNews) this.reportReachability("machine_lost", { code, message });
    this.timer = setTimeout(() => void this.open(), this.pauseMs);
    this.pauseMs = Math.min(RETRY_MS.most, this.pauseMs * 2);
  }

  private reportReachability(event: string, params: MachineEvent["params"]): void {
    this.lastReachability = { event, server: this.name, params };
    this.deliver(this.lastReachability);
  }
}
