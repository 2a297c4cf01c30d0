/**
 * A fleet on one machine: a nats-server for the test on loopback, instances of wsh that are its machines, and one that
 * uses them.
 */
import { joinedFile } from "../../src/cluster/fleet/creds-file.ts";
import { prepareStateDir } from "../../src/instance/paths.ts";
import { type FleetUser, NatsServer, type NatsServerOptions, writeCredentials } from "./nats-server.ts";
import { Wsh, type WshOptions } from "./wsh.ts";

/** Another address of a NATS server for this user; null: the default. */
export type FleetWay = (user: string, url: string) => Promise<string | null>;

export class TestFleet implements AsyncDisposable {
  private constructor(
    /** The NATS servers; several form a cluster. */
    readonly cluster: readonly NatsServer[],
    /** The instances that use the machines, by user. */
    readonly hubs: ReadonlyMap<string, Wsh>,
    readonly machines: ReadonlyMap<string, Wsh>,
  ) {}

  /** Starts the servers of the machines and of their users, each with a role. */
  static async start(
    users: readonly FleetUser[],
    options: NatsServerOptions & { wsh?: WshOptions; servers?: number; way?: FleetWay } = {},
  ): Promise<TestFleet> {
    const all = new Map(users.map((user) => [user.name, new Wsh(options.wsh)]));
    const [first] = [...all.values()];
    if (first === undefined) throw new Error("a fleet of nobody");
    const cluster = await NatsServer.cluster(options.servers ?? 1, first.dir, users, options);
    for (const user of users) {
      const wsh = all.get(user.name);
      if (wsh === undefined) continue;
      prepareStateDir(wsh.instance);
      const urls = cluster.map(async ({ url }) => (await options.way?.(user.name, url)) ?? url);
      writeCredentials(joinedFile(wsh.instance), user, await Promise.all(urls));
      await wsh.server();
    }
    const of = (isMachine: boolean) =>
      new Map(
        [...all].filter(([name]) => (users.find((user) => user.name === name)?.role === "machine") === isMachine),
      );
    return new TestFleet(cluster, of(false), of(true));
  }

  /** The only NATS server, or the first. */
  get nats(): NatsServer {
    const [nats] = this.cluster;
    if (nats === undefined) throw new Error("a fleet without a server");
    return nats;
  }

  hub(name: string): Wsh {
    return had(this.hubs, name);
  }

  machine(name: string): Wsh {
    return had(this.machines, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const wsh of [...this.hubs.values(), ...this.machines.values()]) await wsh[Symbol.asyncDispose]();
    for (const nats of this.cluster) await nats[Symbol.asyncDispose]();
  }
}

function had(all: ReadonlyMap<string, Wsh>, name: string): Wsh {
  const found = all.get(name);
  if (found === undefined) throw new Error(`no '${name}' in the test's fleet`);
  return found;
}
