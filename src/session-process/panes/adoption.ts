/**
 * Tracks the other session that has adopted a pane of this process, and that records the pane's events. If that
 * session is lost, the pane has no viewer any more. After a while its last state is saved, so that it is restored
 * with its session, and its program is ended.
 */
import type { EventDetails } from "../../protocol/recorded-events.ts";
import type { Viewers } from "../../session/viewers.ts";

/** Time without a viewer after which an adopted pane counts as orphaned and ends, in ms. */
const ORPHAN_GRACE_MS = 2_000;

export interface AdoptingSession {
  readonly number: number;
  readonly name: string;
}

export class Adoption {
  /** Null: this process's own session. */
  session: AdoptingSession | null = null;
  /** Saves the pane's last state. */
  saveLastState: () => Promise<void> = async () => {};
  private isOffered = false;
  private timer: Timer | null = null;

  /** @param port `viewers` of the pane; `end` ends its program */
  constructor(private readonly port: { viewers(): Pick<Viewers, "all" | "count">; end(): Promise<void> }) {}

  /** The other session, once it has confirmed that it takes the pane. */
  get confirmedSession(): AdoptingSession | null {
    return this.isOffered ? null : this.session;
  }

  /** @returns whether the session that has the pane records the event; else it is recorded here */
  report(details: EventDetails): boolean {
    const report = this.confirmedSession && this.port.viewers().all.find((viewer) => viewer.report !== null)?.report;
    report?.({ event: "recorded", details });
    return report != null;
  }

  /** @param isOffered whether that session has not confirmed yet that it takes the pane */
  set(session: AdoptingSession | null, isOffered: boolean): void {
    this.session = session;
    this.isOffered = isOffered;
    this.checkOrphan();
  }

  checkOrphan(): void {
    this.close();
    if (this.session === null || this.isOffered || this.port.viewers().count > 0) return;
    this.timer = setTimeout(() => void this.endOrphan(), ORPHAN_GRACE_MS);
  }

  close(): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
  }

  private async endOrphan(): Promise<void> {
    await this.saveLastState();
    await this.port.end();
  }
}
