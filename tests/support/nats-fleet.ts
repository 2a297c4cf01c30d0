/**
 * A fleet on one machine: a nats-server of the test's own on loopback, instances of wsh that are its machines, and one from
 * which they are used. Users, passwords and permissions are those that docs/machines.md tells owners of a cluster to set.
 */
import fs from "node:fs";
import { join } from "node:path";
import { joinedFile } from "../../src/cluster/fleet/creds-file.ts";
import { prepareStateDir } from "../../src/instance/paths.ts";
import type { FleetRole } from "../../src/protocol/fleet.ts";
import { pathOf } from "./programs.ts";
import { until } from "./until.ts";
import { Wsh, type WshOptions } from "./wsh.ts";

/** Longest start of nats-server, in ms. */
const START_MS = 20_000;

export interface FleetUser {
  readonly name: string;
  readonly role: FleetRole;
  readonly tags?: readonly string[];
}

/** What each role may do (docs/machines.md, A cluster of your own). */
export function permissionsOf({ name, role }: FleetUser): { publish: string[]; subscribe: string[] } {
  if (role === "machine") {
    return {
      publish: [
        `wsh1.up.${name}`,
        `wsh1.ev.${name}.>`,
        `wsh1.d.*.${name}.*`,
        `_INBOX.*.${name}.>`,
        "_INBOX.*.$all.>",
        `$KV.wsh_machines.${name}`,
      ],
      subscribe: [
        `wsh1.q.${name}.>`,
        `wsh1.u.${name}.>`,
        "$SRV.PING.wsh",
        "$SRV.INFO.wsh",
        `$SRV.PING.wsh.${name}`,
        `$SRV.INFO.wsh.${name}`,
        `_INBOX.${name}.>`,
      ],
    };
  }
  const held = ["observe", "operate", "admin"].slice(0, ["observe", "operate", "admin"].indexOf(role) + 1);
  const admin = role === "admin" ? ["$JS.API.STREAM.CREATE.KV_wsh_machines", "$KV.wsh_machines.*"] : [];
  return {
    publish: [
      ...held.flatMap((access) => [`wsh1.q.*.${access}.${name}.*`, `wsh1.u.*.${access}.${name}.*`]),
      ...["$SRV.PING.wsh", "$SRV.INFO.wsh", "$SRV.PING.wsh.*", "$SRV.INFO.wsh.*"],
      ...["$JS.API.STREAM.INFO.KV_wsh_machines", "$JS.API.DIRECT.GET.KV_wsh_machines.>", ...admin],
    ],
    subscribe: [`_INBOX.${name}.>`, `wsh1.d.${name}.>`, "wsh1.up.*", "wsh1.ev.>"],
  };
}

export class NatsServer implements AsyncDisposable {
  private process: Bun.Subprocess | null = null;

  private constructor(
    private readonly dir: string,
    readonly port: number,
  ) {}

  static async start(dir: string, users: readonly FleetUser[], { jetstream = false } = {}): Promise<NatsServer> {
    using probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const { port } = probe;
    probe.stop(true);
    const server = new NatsServer(dir, port);
    const authorization = {
      users: users.map((user) => ({
        user: user.name,
        password: passwordOf(user.name),
        permissions: permissionsOf(user),
      })),
    };
    const store = jetstream ? { jetstream: { store_dir: join(dir, "js") } } : {};
    const config = { listen: `127.0.0.1:${port}`, authorization, ...store };
    fs.writeFileSync(join(dir, "nats.json"), JSON.stringify(config), { mode: 0o600 });
    await server.begin();
    return server;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    if (this.process === null) throw new Error("nats-server does not run");
    return this.process.pid;
  }

  /** Starts it, or starts it again at the same port. */
  async begin(): Promise<void> {
    const log = join(this.dir, "nats.log");
    const program = pathOf("nats-server") ?? "nats-server";
    this.process = Bun.spawn([program, "-c", join(this.dir, "nats.json"), "-l", log], {
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

  async kill(): Promise<void> {
    this.process?.kill("SIGKILL");
    await this.process?.exited;
    this.process = null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

export class TestFleet implements AsyncDisposable {
  private constructor(
    readonly nats: NatsServer,
    /** Those that use the machines, by user. */
    readonly hubs: ReadonlyMap<string, Wsh>,
    readonly machines: ReadonlyMap<string, Wsh>,
  ) {}

  /** Starts the machines' servers and those of the others, each with a role. */
  static async start(
    users: readonly FleetUser[],
    options: { jetstream?: boolean; wsh?: WshOptions } = {},
  ): Promise<TestFleet> {
    const all = new Map(users.map((user) => [user.name, new Wsh(options.wsh)]));
    const [first] = [...all.values()];
    if (first === undefined) throw new Error("a fleet of nobody");
    const nats = await NatsServer.start(first.dir, users, options);
    for (const user of users) {
      const wsh = all.get(user.name);
      if (wsh === undefined) continue;
      prepareStateDir(wsh.instance);
      writeCredentials(joinedFile(wsh.instance), user, [nats.url]);
      await wsh.server();
    }
    const of = (isMachine: boolean) =>
      new Map(
        [...all].filter(([name]) => (users.find((user) => user.name === name)?.role === "machine") === isMachine),
      );
    return new TestFleet(nats, of(false), of(true));
  }

  hub(name: string): Wsh {
    return had(this.hubs, name);
  }

  machine(name: string): Wsh {
    return had(this.machines, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const wsh of [...this.hubs.values(), ...this.machines.values()]) await wsh[Symbol.asyncDispose]();
    await this.nats[Symbol.asyncDispose]();
  }
}

function had(all: ReadonlyMap<string, Wsh>, name: string): Wsh {
  const found = all.get(name);
  if (found === undefined) throw new Error(`no '${name}' in the test's fleet`);
  return found;
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
