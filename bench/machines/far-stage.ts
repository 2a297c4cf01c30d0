/**
 * Two stages as two machines: the near one uses the far one over the NATS server of a fleet, as `m1`, and over ssh where
 * there is an sshd, as `m2`. Both ways lead to the same instance, so that they differ from `local` by the way alone.
 */
import fs from "node:fs";
import { dirname, join } from "node:path";
import { CutProxy } from "../../tests/support/cut-proxy.ts";
import { NatsServer, writeCredentials } from "../../tests/support/nats-server.ts";
import { pathOf } from "../../tests/support/programs.ts";
import { Sshd } from "../../tests/support/sshd.ts";
import { Stage } from "../stage.ts";
import { until } from "../until.ts";

/** One way to a session. */
export interface WayTo {
  readonly who: string;
  /** Of its sessions' names. */
  readonly prefix: string;
  /** Where they are. */
  readonly stage: Stage;
}

export interface FarOptions {
  /** The far machine's way to the NATS server leads over a proxy that can be held, and adds so many ms each way. */
  readonly delayMs?: number;
  /** Without the way over ssh. */
  readonly isFleetAlone?: boolean;
}

export class FarStage implements AsyncDisposable {
  private constructor(
    readonly near: Stage,
    readonly far: Stage,
    readonly nats: NatsServer,
    /** The far machine's way to the NATS server, where that was asked for. */
    readonly proxy: CutProxy | null,
    private readonly sshd: Sshd | null,
    readonly nearServer: number,
    readonly farServer: number,
  ) {}

  static async of(near: Stage, { delayMs, isFleetAlone = false }: FarOptions = {}): Promise<FarStage> {
    if (pathOf("nats-server") === null) throw new Error("nats-server is not installed: there is no fleet to measure");
    const far = new Stage(near.wsh);
    const users = [
      { name: "me", role: "admin" },
      { name: "m1", role: "machine" },
    ] as const;
    const nats = await NatsServer.start(near.dir, users, { trusted: ["simulated"] });
    const proxy = delayMs === undefined ? null : await CutProxy.to(nats.port);
    proxy?.slow(delayMs ?? 0);
    credentials(near, users[0], nats.url);
    credentials(far, users[1], proxy === null ? nats.url : `nats://127.0.0.1:${proxy.port}`);
    const sshd = isFleetAlone || pathOf("sshd") === null ? null : await sshTo(near, far);
    const farServer = await far.server();
    const nearServer = await near.server();
    await until("m1 to be there", async () => {
      const response = await near.get("/servers/m1");
      return response.ok && (await response.json()).health === "healthy";
    });
    if (sshd !== null) await near.run(near.wsh, "servers", "add", "ssh://m2");
    return new FarStage(near, far, nats, proxy, sshd, nearServer, farServer);
  }

  /** The first is what is compared with the others. */
  get ways(): WayTo[] {
    const { near, far, sshd } = this;
    return [
      { who: "over NATS", prefix: "m1/", stage: far },
      ...(sshd === null ? [] : [{ who: "over ssh", prefix: "m2/", stage: far }]),
      { who: "local", prefix: "", stage: near },
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.near.clear();
    await this.far[Symbol.asyncDispose]();
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

/** The far stage by ssh: its environment is that of every login. */
async function sshTo(near: Stage, far: Stage): Promise<Sshd> {
  const bin = join(far.dir, "bin");
  fs.mkdirSync(bin);
  fs.symlinkSync(far.wsh, join(bin, "wsh"));
  const { PATH, ...env } = far.env;
  const set = Object.entries({ ...env, PATH: `${bin}:${PATH}` }).map(([name, value]) => `${name}=${value}`);
  const sshd = await Sshd.start([`SetEnv ${set.join(" ")}`]);
  const config = join(near.env.HOME ?? "", ".config/wsh/config.toml");
  fs.mkdirSync(dirname(config), { recursive: true });
  fs.writeFileSync(config, `ssh_command = ${JSON.stringify(`ssh -F ${sshd.clientConfig("m2")}`)}\n`);
  return sshd;
}
