/**
 * A fleet on this machine: made by `wsh fleet init` in a separate instance, with real nats-servers on ports of the
 * loopback interface. Invited machines connect as raw NATS clients (`client`), or as instances (`join`).
 */
import fs from "node:fs";
import { join } from "node:path";
import { connect, jwtAuthenticator, type NatsConnection } from "@nats-io/transport-node";
import { packInvitation } from "../../src/cluster/authority/invitation.ts";
import { invite } from "../../src/cluster/authority/invite.ts";
import { type Credentials, type FleetRole, parseCredentials } from "../../src/protocol/fleet.ts";
import { freePorts } from "./free-ports.ts";
import { pathOf } from "./programs.ts";
import { until } from "./until.ts";
import { Wsh } from "./wsh.ts";

/** Options of `wsh fleet invite`. */
interface Limits {
  readonly tags?: readonly string[];
  readonly wssOnly?: boolean;
  /** Unix time in ms; null: never. */
  readonly expiresAt?: number | null;
}

export class TestFleet implements AsyncDisposable {
  private readonly connections: NatsConnection[] = [];
  private server: Bun.Subprocess | null = null;

  private constructor(
    /** The instance that made the fleet and has its keys. */
    readonly maker: Wsh,
    readonly dir: string,
    readonly ports: { readonly tls: number; readonly wss: number },
  ) {}

  /** @param more further arguments of `wsh fleet init` */
  static async start(...more: readonly string[]): Promise<TestFleet> {
    const maker = new Wsh();
    const [tls = 0, wss = 0] = freePorts(2);
    const dir = join(maker.dir, "fleet");
    await maker.ok(
      "fleet",
      "init",
      dir,
      ...["--host", "127.0.0.1", "--port", `${tls}`, "--wss-port", `${wss}`],
      ...more,
    );
    const fleet = new TestFleet(maker, dir, { tls, wss });
    await fleet.startServer();
    return fleet;
  }

  get log(): string {
    return fs.readFileSync(join(this.maker.dir, "nats.log"), "utf8");
  }

  async startServer(): Promise<void> {
    const log = fs.openSync(join(this.maker.dir, "nats.log"), "w");
    const program = pathOf("nats-server") ?? "nats-server";
    const cwd = join(this.dir, "server1");
    this.server = Bun.spawn([program, "-c", "nats-server.conf"], { cwd, stdout: log, stderr: log });
    fs.closeSync(log);
    await until("nats-server", async () => this.log.includes("Server is ready") || null);
  }

  /** @param signal SIGKILL: as when a machine fails */
  async stopServer(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    this.server?.kill(signal);
    await this.server?.exited;
    this.server = null;
  }

  /** The line that `wsh fleet invite` prints for the invited machine. */
  async invite(role: FleetRole, name: string): Promise<string> {
    const line = await this.maker.ok("fleet", "invite", "--dir", this.dir, "--role", role, "--name", name);
    return line.trim();
  }

  /** An instance that has joined. */
  async join(role: FleetRole, name: string, limits: Limits = {}): Promise<Wsh> {
    const instance = new Wsh();
    await instance.ok("fleet", "join", packInvitation(await this.invited(role, name, limits)));
    return instance;
  }

  async credentials(role: FleetRole, name: string): Promise<Credentials> {
    return parseCredentials(await this.invited(role, name));
  }

  /** Text of the credentials of an invited machine or person, as `invite` packs it, without that command. */
  invited(role: FleetRole, name: string, { tags = [], wssOnly = false, expiresAt = null }: Limits = {}) {
    return invite(this.dir, { name, role, tags, wssOnly, expiresAt });
  }

  /** A raw NATS client with credentials that respects no conventions. */
  async client({ login, settings, user }: Credentials): Promise<NatsConnection> {
    if (login === null || !("jwt" in login)) throw new Error("credentials of another kind");
    const connection = await connect({
      servers: `127.0.0.1:${this.ports.tls}`,
      authenticator: jwtAuthenticator(login.jwt, new TextEncoder().encode(login.seed)),
      tls: settings.ca === undefined ? {} : { ca: settings.ca },
      inboxPrefix: `_INBOX.${user}`,
      reconnect: false,
    });
    this.connections.push(connection);
    return connection;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.connections.map((each) => each.close().catch(() => {})));
    await this.stopServer("SIGKILL");
    await this.maker[Symbol.asyncDispose]();
  }
}

/** Permission errors that the server reports to this client: one text per subject. */
export function refusals(connection: NatsConnection): string[] {
  const seen: string[] = [];
  void (async () => {
    for await (const status of connection.status()) if (status.type === "error") seen.push(status.error.message);
  })();
  return seen;
}
