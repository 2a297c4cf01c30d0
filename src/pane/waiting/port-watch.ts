/**
 * Watches ports for the waits of a pane (docs/protocol.md, Conditions): whether the program or another process listens.
 *
 * Checks run only during waits, one for all of them, and never take more than a small part of a processor. A listener
 * that is not the program's must persist for a moment before it counts as occupying the port, since a command may end
 * the old server before it starts the new one. A watch belongs to its wait and ends with it.
 */
import { Alarm } from "../../base/alarm.ts";
import type { Clock } from "../../base/clock.ts";
import { KnownProcesses, type PortAnchor, type PortLook, type PortOwner, PortScan } from "../../platform/listening.ts";

/** Interval between checks, in ms: no caller notices that delay, and a check takes about 1 ms. */
const LOOK_MS = 100;
/** The interval between checks is at least this many times the last check's duration. */
const SHARE = 20;
/** How long another process's listener must persist before it counts as occupying the port, in ms. */
const STANDING_MS = 1_000;

export interface PortCondition {
  readonly port: number;
  readonly anyOwner: boolean;
}

/** The outcome of a wait for a port. `unsupported`: it cannot be determined, with the reason. */
export type PortFinding =
  | { readonly kind: "port" | "port_in_use"; readonly port: number; readonly owner: PortOwner }
  | { readonly kind: "unsupported"; readonly port: number; readonly reason: string };

/** How the system is queried; tests replace it. */
export type LookAt = (scan: PortScan, known: KnownProcesses, port: number, anyOwner: boolean) => PortLook;

const lookAt: LookAt = (scan, known, port, anyOwner) => scan.look(known, port, anyOwner);

export class PortWatches {
  private readonly watches = new Set<PortWatch>();
  private readonly alarm: Alarm;

  constructor(
    private readonly clock: Clock,
    private readonly look: LookAt = lookAt,
  ) {
    this.alarm = new Alarm(clock, () => this.ring());
  }

  /** Begins to watch; the first check is `PortWatch.find`, or after the first interval. */
  watch(anchor: PortAnchor, ports: readonly PortCondition[], found: (finding: PortFinding) => void): PortWatch {
    const watch = new PortWatch(this.clock, this.look, anchor, ports, found, () => {
      this.watches.delete(watch);
      if (this.watches.size === 0) this.alarm.clear();
    });
    this.watches.add(watch);
    this.alarm.set(this.clock.now() + LOOK_MS);
    return watch;
  }

  private ring(): void {
    const scan = new PortScan();
    const began = this.clock.now();
    for (const watch of [...this.watches]) watch.look(scan);
    const now = this.clock.now();
    if (this.watches.size > 0) this.alarm.set(now + Math.max(LOOK_MS, SHARE * (now - began)));
  }
}

export class PortWatch implements Disposable {
  private readonly knownProcesses: KnownProcesses;
  /** When another process began to listen on a port. */
  private readonly standing = new Map<number, number>();
  /** Processes of the program that could not be read at the last check. */
  private unseen: readonly string[] = [];

  constructor(
    private readonly clock: Clock,
    private readonly lookAt: LookAt,
    anchor: PortAnchor,
    private readonly ports: readonly PortCondition[],
    private readonly found: (finding: PortFinding) => void,
    private readonly ended: () => void,
  ) {
    this.knownProcesses = new KnownProcesses(anchor);
  }

  /** The current result. @param last whether the wait ends: another process's listener then counts at any age */
  find(last: boolean, scan = new PortScan()): PortFinding | null {
    let finding: PortFinding | null = null;
    const unseen = new Set<string>();
    for (const { port, anyOwner } of this.ports) {
      const look = this.lookAt(scan, this.knownProcesses, port, anyOwner);
      if (look.kind === "own") return { kind: "port", port, owner: look.owner };
      if (look.kind === "none") {
        this.standing.delete(port);
        for (const each of look.unseen) unseen.add(each);
      } else if (look.kind === "unsupported") finding ??= { ...look, port };
      else if (last || this.hasStood(port)) {
        finding ??=
          look.kind === "hidden"
            ? { kind: "unsupported", port, reason: look.reason }
            : { kind: "port_in_use", port, owner: look.owner };
      }
    }
    this.unseen = [...unseen];
    return finding;
  }

  /** Processes that the last check could not see. */
  get warning(): string | null {
    if (this.unseen.length === 0) return null;
    return `not visible: a separate network namespace of ${this.unseen.join(", ")}`;
  }

  look(scan: PortScan): void {
    const finding = this.find(false, scan);
    if (finding !== null) this.found(finding);
  }

  [Symbol.dispose](): void {
    this.ended();
  }

  private hasStood(port: number): boolean {
    const now = this.clock.now();
    const since = this.standing.get(port) ?? now;
    this.standing.set(port, since);
    return now - since >= STANDING_MS;
  }
}
