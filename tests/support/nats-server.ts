/**
 * A nats-server for one test on loopback, for a fleet without JWTs. Users, passwords and permissions are those that
 * docs/machines.md tells owners of a cluster to set.
 */
import fs from "node:fs";
import { join } from "node:path";
import type { FleetRole } from "../../src/protocol/fleet.ts";
import { freePorts } from "./free-ports.ts";
import { pathOf } from "./programs.ts";
import { until } from "./until.ts";

/** Longest start of nats-server, in ms. */
const START_MS = 20_000;

export interface FleetUser {
  readonly name: string;
  readonly role: FleetRole;
  readonly tags?: readonly string[];
}

export interface NatsServerOptions {
  readonly jetstream?: boolean;
  /** Users that may publish and subscribe to everything. */
  readonly trusted?: readonly string[];
}

const page = fs.readFileSync(join(import.meta.dir, "../../docs/machines.md"), "utf8");

/** Subjects that a role may publish and subscribe to, by docs/machines.md (Your own NATS cluster). */
export function permissionsOf({ name, role }: FleetUser): { publish: string[]; subscribe: string[] } {
  const rows = [...page.matchAll(/^\| `(machine|observe|operate|admin)` \| (.*wsh1.*) \| (.*) \|$/gm)];
  const at = rows.findIndex(([, of]) => of === role);
  if (at < 0) throw new Error(`docs/machines.md has no permissions of '${role}'`);
  const column = (index: 2 | 3, row: number): string[] => {
    const text = rows[row]?.[index] ?? "";
    const own = [...text.matchAll(/`([^`]+)`/g)].map(([, subject = ""]) => subject.replace("NAME", name));
    return /^(those, and|the same)/.test(text) ? [...column(index, row - 1), ...own] : own;
  };
  return { publish: column(2, at), subscribe: column(3, at) };
}

/** Ports of one server. */
interface Ports {
  readonly clients: number;
  /** The port for its cluster. */
  readonly routes: number;
  /** The port where it reports its connections. */
  readonly monitor: number;
}

export class NatsServer implements AsyncDisposable {
  private process: Bun.Subprocess | null = null;

  private constructor(
    private readonly dir: string,
    private readonly ports: Ports,
    private readonly name: string,
  ) {}

  static async start(dir: string, users: readonly FleetUser[], options: NatsServerOptions = {}): Promise<NatsServer> {
    const [server] = await NatsServer.cluster(1, dir, users, options);
    if (server === undefined) throw new Error("no server");
    return server;
  }

  /** Servers with routes to each other. */
  static async cluster(
    count: number,
    dir: string,
    users: readonly FleetUser[],
    { jetstream = false, trusted = [] }: NatsServerOptions = {},
  ): Promise<NatsServer[]> {
    const free = freePorts(3 * count);
    const servers = Array.from({ length: count }, (_, at) => {
      const [clients = 0, routes = 0, monitor = 0] = free.slice(3 * at);
      return new NatsServer(dir, { clients, routes, monitor }, `nats${at + 1}`);
    });
    const authorization = {
      users: [
        ...users.map((user) => ({
          user: user.name,
          password: passwordOf(user.name),
          permissions: permissionsOf(user),
        })),
        ...trusted.map((user) => ({ user, password: passwordOf(user) })),
      ],
    };
    const store = jetstream ? { jetstream: { store_dir: join(dir, "js") } } : {};
    const routes = servers.map(({ ports }) => `nats://127.0.0.1:${ports.routes}`);
    for (const { ports, name } of servers) {
      const listen = `127.0.0.1:${ports.clients}`;
      const cluster = {
        cluster: { name: "tests", listen: `127.0.0.1:${ports.routes}`, routes },
        ...{ server_name: name, http: `127.0.0.1:${ports.monitor}` },
      };
      const config = { listen, authorization, ...store, ...(count === 1 ? {} : cluster) };
      fs.writeFileSync(join(dir, `${name}.json`), JSON.stringify(config), { mode: 0o600 });
    }
    await Promise.all(servers.map((server) => server.begin()));
    await Promise.all(servers.map((server) => server.joined(count - 1)));
    return servers;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  get port(): number {
    return this.ports.clients;
  }

  get pid(): number {
    if (this.process === null) throw new Error("nats-server does not run");
    return this.process.pid;
  }

  /** Starts it, or restarts it at the same port. */
  async begin(): Promise<void> {
    const log = join(this.dir, `${this.name}.log`);
    const program = pathOf("nats-server") ?? "nats-server";
    this.process = Bun.spawn([program, "-c", join(this.dir, `${this.name}.json`), "-l", log], {
      stdout: "ignore",
      stderr: "ignore",
    });
    await until(
      "nats-server to listen",
      async () => {
        try {
          (await Bun.connect({ hostname: "127.0.0.1", port: this.port, socket: { data() {} } })).end();
          return true;
        } catch {
          return false;
        }
      },
      START_MS,
    );
  }

  /** Waits until it has routes to so many others. */
  async joined(others: number): Promise<void> {
    const known = async (): Promise<boolean> => {
      const { remotes = 0 } = await this.told<{ remotes?: number }>("/varz");
      return remotes >= others;
    };
    if (others > 0) await until(`${others} other servers`, known, START_MS);
  }

  /** Whether a user is connected to it. */
  async has(user: string): Promise<boolean> {
    if (this.process === null) return false;
    const { connections } = await this.told<{ connections: { authorized_user?: string }[] }>("/connz?auth=1");
    return connections.some(({ authorized_user }) => authorized_user === user);
  }

  private async told<T>(path: string): Promise<T> {
    return (await (await fetch(`http://127.0.0.1:${this.ports.monitor}${path}`)).json()) as T;
  }

  async kill(): Promise<void> {
    this.process?.kill("SIGKILL");
    await this.process?.exited;
    this.process = null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

/** Credentials for a cluster without JWTs. */
export function writeCredentials(path: string, { name, role, tags = [] }: FleetUser, servers: readonly string[]): void {
  const settings = { v: 1, servers, role, user: name, password: passwordOf(name), tags };
  const text = `-----BEGIN WSH FLEET-----\n${JSON.stringify(settings)}\n------END WSH FLEET------\n`;
  fs.writeFileSync(path, text, { mode: 0o600 });
}

export function passwordOf(name: string): string {
  return `the password of ${name}`;
}
