/**
 * The connection to a fleet's machine for programs of this machine: only servers connect to a fleet, so programs
 * ask the local server, which forwards their requests. The server is started if none runs and this instance has
 * credentials.
 */

import type { Instance } from "../../instance/paths.ts";
import { startServer } from "../../launch/server.ts";
import { WshError } from "../../protocol/errors.ts";
import { readServerInfo } from "../../registry/server-info.ts";
import { isServerAlive } from "../../registry/single-server.ts";
import type { LinkStep } from "../link.ts";
import type { Base, Transport } from "../transport.ts";

export class ThroughServer implements Transport {
  base: Base | null = null;

  constructor(
    private readonly instance: Instance,
    private readonly machine: string,
  ) {}

  async open(): Promise<Base> {
    const { instance, machine } = this;
    if (!isServerAlive(instance)) await startServer(instance);
    const prefix = readServerInfo(instance)?.base_prefix ?? "";
    this.base = { url: `http://localhost${prefix}`, unix: instance.httpSocket, headers: {}, machine };
    return this.base;
  }

  connectionLost(): void {
    this.base = null;
  }

  async *examine(): AsyncIterable<LinkStep> {
    try {
      await this.open();
      yield { step: "server here", ok: true, text: "runs and relays to the machines of its fleet" };
    } catch (thrown) {
      const error = WshError.from(thrown);
      yield { step: "server here", ok: false, text: error.message, advice: error.hintAt("cli") };
    }
  }

  async close(): Promise<void> {}
}
