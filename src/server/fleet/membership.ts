/**
 * Whether this server is in a fleet, and its role. Follows its credentials: a file named on the command line or
 * in the settings, which must exist; otherwise the file of `wsh fleet join`, which may appear, change or
 * disappear.
 */
import fs from "node:fs";
import type { LifecycleEvent } from "../../protocol/events.ts";
import type { FleetJoin, JoinOptions } from "./join.ts";

export interface FleetFile {
  readonly path: string;
  /** Whether a user named it: then the server does not run without it. */
  readonly isNamed: boolean;
}

export class Membership {
  private membership: FleetJoin | null = null;
  /** Identifies the credentials in use; empty: there are none. */
  private stamp = "";
  private pendingReload: Promise<void> = Promise.resolve();

  constructor(
    private readonly file: FleetFile,
    private readonly options: JoinOptions,
  ) {}

  /** Whether it is a machine that others may need at any time. */
  get isMachine(): boolean {
    return this.membership?.isMachine ?? false;
  }

  /** Why this server is not connected to its fleet; null: it is, or has none. */
  get problem(): string | null {
    return this.membership?.problem ?? null;
  }

  /** @throws WshError invalid_credentials, unsafe_path, if the file was named */
  rejoin(): Promise<void> {
    const next = this.pendingReload.then(() => this.reload());
    this.pendingReload = next.catch(() => {});
    return next;
  }

  /** A session's info changed. @param isNews whether a session was added, removed, or reports something */
  sessionChanged(isNews: boolean): void {
    this.membership?.changed(isNews);
  }

  publishEvent(event: LifecycleEvent): void {
    this.membership?.publishEvent(event);
  }

  async close(): Promise<void> {
    await this.pendingReload;
    await this.membership?.close();
    this.membership = null;
  }

  private async reload(): Promise<void> {
    const { path, isNamed } = this.file;
    const stat = fs.statSync(path, { bigint: true, throwIfNoEntry: false });
    const stamp = stat === undefined ? "" : `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
    if (stamp === this.stamp && !(isNamed && this.membership === null)) return;
    await this.membership?.close();
    this.membership = null;
    this.options.machines.fleet = null;
    this.stamp = stamp;
    if (stamp === "" && !isNamed) return;
    try {
      const { joinFleet } = await import("./join.ts");
      this.membership = joinFleet(path, this.options);
    } catch (thrown) {
      if (isNamed) throw thrown;
      const error = thrown instanceof Error ? thrown.message : String(thrown);
      this.options.logger.error("this server is not in its fleet", { file: path, error });
    }
  }
}
