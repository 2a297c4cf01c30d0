/**
 * The facts that this server publishes in NAME.json: its process and addresses while it runs, and the person's
 * lasting choice whether it stays without sessions. The persistence of this run is separate from that of later
 * ones: starting a server by hand makes no choice for later ones.
 */
import { auditFile } from "../log/audit/audit-log.ts";
import { WshError } from "../protocol/errors.ts";
import { VERSION } from "../protocol/version.ts";
import {
  readLastServerInfo,
  readServerInfo,
  type ServerInfo,
  sweepServerInfos,
  writeServerInfo,
} from "../registry/server-info.ts";
import type { GatewayOptions } from "./options.ts";

export class PublishedInfo {
  /** Base URLs over TCP. */
  addresses: readonly string[] = [];
  /** Whether this run stays when its last session ends. */
  persistent: boolean;
  /** The choice made with `wsh persist`, in this run or an earlier one. */
  private chosenPersistence: boolean;
  private readonly fixed: Omit<ServerInfo, "addresses" | "persist">;

  constructor(private readonly options: GatewayOptions) {
    const { instance, settings, ephemeral, basePrefix, publicUrl } = options;
    this.persistent = !ephemeral || (readLastServerInfo(instance)?.persist ?? false);
    this.chosenPersistence = ephemeral && this.persistent;
    this.fixed = {
      pid: process.pid,
      version: VERSION,
      server_id: crypto.randomUUID(),
      started_at: Date.now(),
      base_prefix: basePrefix,
      ...(publicUrl === undefined ? {} : { public_url: publicUrl.origin }),
      audit_file: settings.audit ? auditFile(instance, settings.audit_file) : null,
    };
  }

  get info(): ServerInfo {
    return { ...this.fixed, addresses: [...this.addresses], persist: this.persistent };
  }

  /** @throws WshError runtime_dir_unusable */
  publish(): void {
    writeServerInfo(this.options.instance, this.info);
  }

  /** Removes other servers' files for places that are gone. A failure to remove them is harmless. */
  sweep(): void {
    try {
      sweepServerInfos(this.options.instance);
    } catch (error) {
      this.options.logger.warn("old server files were not removed", { error: WshError.from(error).message });
    }
  }

  /** Saves the person's choice. @throws WshError runtime_dir_unusable; nothing has changed then */
  setPersistent(persistent: boolean): void {
    writeServerInfo(this.options.instance, { ...this.info, persist: persistent });
    this.persistent = persistent;
    this.chosenPersistence = persistent;
  }

  /** The server has ended: removes all but the choice, unless a successor has published itself since. */
  withdraw(): void {
    const { instance, logger } = this.options;
    const published = readServerInfo(instance);
    if (published?.server_id !== this.fixed.server_id) return;
    try {
      writeServerInfo(instance, {
        ...published,
        pid: null,
        addresses: [],
        persist: this.chosenPersistence,
        audit_file: null,
      });
    } catch (error) {
      // The file names an ended process, which its readers recognise themselves.
      logger.warn("the end of the server could not be published", { error: WshError.from(error).message });
    }
  }
}
