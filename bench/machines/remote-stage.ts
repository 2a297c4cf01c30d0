/**
 * Two stages as two machines: the local one reaches the remote one over the NATS server of a fleet, as `m1`, and over
 * ssh where there is an sshd, as `m2`. Both lead to the same instance, so that they differ by their connection alone.
 */
import fs from "node:fs";
import { dirname, join } from "node:path";
import { CutProxy } from "../../tests/support/cut-proxy.ts";
import { NatsServer, writeCredentials } from "../../tests/support/nats-server.ts";
import { pathOf } from "../../tests/support/programs.ts";
import { Sshd } from "../../tests/support/sshd.ts";
import { Stage } from "../stage.ts";
import { until } from "../until.ts";

/** One connection to a session. */
export interface WayTo {
  readonly who: string;
  /** Prefix of its sessions' names. */
  readonly prefix: string;
  /** The stage of the sessions. */
  readonly stage: Stage;
}

export interface RemoteOptions {
  /** The remote machine reaches the NATS server through a proxy that can be held, and that adds this delay in each direction, in ms. */
  readonly delayMs?: number;
  /** Leaves ssh out. */
  readonly isFleetAlone?: boolean;
}

export class RemoteStage implements AsyncDisposable {
  private constructor(
    readonly local: Stage,
    readonly remote: Stage,
    readonly nats: NatsServer,
    /** The proxy between the remote machine and the NATS server, where one was requested. */
    readonly proxy: CutProxy | null,
    private readonly sshd: Sshd | null,
    readonly localServer: number,
    readonly remoteServer: number,
  ) {}

  static async of(local: Stage, { delayMs, isFleetAlone = false }: RemoteOptions = {}): Promise<RemoteStage> {
    if (pathOf("nats-server") === null) throw new Error("nats-server is not installed: there is no fleet to measure");
    const remote = new Stage(local.wsh);
    const users = [
      { name: "me", role: "admin" },
      { name: "m1", role: "machine" },
    ] as const;
    const nats = await NatsServer.start(local.dir, users, { trusted: ["simulated"] });
    const proxy = delayMs === undefined ? null : await CutProxy.to(nats.port);
    proxy?.slow(delayMs ?? 0);
    credentials(local, users[0], nats.url);
    credentials(remote, users[1], proxy === null ? nats.url : `nats://127.0.0.1:${proxy.port}`);
    const sshd = isFleetAlone || pathOf("sshd") === null ? null : await sshTo(local, remote);
    const remoteServer = await remote.server();
    const localServer = await local.server();
    await until("m1 to be there", async () => {
      const response = await local.get("/servers/m1");
      return response.ok && (await response.json()).health === "healthy";
    });
    if (sshd !== null) await local.run(local.wsh, "servers", "add", "ssh://m2");
    return new RemoteStage(local, remote, nats, proxy, sshd, localServer, remoteServer);
  }

  /** The others are compared with the first. */
  get ways(): WayTo[] {
    const { local, remote, sshd } = this;
    return [
      { who: "over NATS", prefix: "m1/", stage: remote },
      ...(sshd === null ? [] : [{ who: "over ssh", prefix: "m2/", stage: remote }]),
      { who: "local", prefix: "", stage: local },
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.local.clear();
    await this.remote[Symbol.asyncDispose]();
    await this.proxy?.[Symbol.asyncDispose]();
    await this.nats[Symbol.asyncDispose]();
    await this.sshd?.[Symbol.asyncDispose]();
  }
}

function credentials(stage: Stage, user: Parameters<typeof writeCredentials>[1], url: string): void {
  const path = join(stage.env.HOME ?? "", ".local/state/wsh/default.fleet.creds");
  fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeCredentials(path, user, [url]);
}

/** The remote stage by ssh: its environment is that of every login. */
async function sshTo(local: Stage, remote: Stage): Promise<Sshd> {
  const bin = join(remote.dir, "bin");
  fs.mkdirSync(bin);
  fs.symlinkSync(remote.wsh, join(bin, "wsh"));
  const { PATH, ...env } = remote.env;
  const set = Object.entries({ ...env, PATH: `${bin}:${PATH}` }).map(([name, value]) => `${name}=${value}`);
  const sshd = await Sshd.start([`SetEnv ${set.join(" ")}`]);
  const config = join(local.env.HOME ?? "", ".config/wsh/config.toml");
  fs.mkdirSync(dirname(config), { recursive: true });
  fs.writeFileSync(config, `ssh_command = ${JSON.stringify(`ssh -F ${sshd.clientConfig("m2")}`)}\n`);
  return sshd;
}
