/**
 * Two machines on one: an instance of wsh here, and one that is reached by ssh alone. The second has separate
 * directories, HOME and PATH, which its sshd gives to every login.
 */
import fs from "node:fs";
import { join } from "node:path";
import { socketsOf } from "../../src/cluster/ssh/paths.ts";
import { Sshd, type SshdPlace } from "./sshd.ts";
import { Wsh, type WshOptions } from "./wsh.ts";
import { program } from "./wsh-program.ts";

export interface MachinesSetup {
  /** Further lines of the remote machine's sshd_config. */
  readonly sshd?: readonly string[];
  /** Text of the remote machine's ~/.bashrc, which a login by ssh reads. */
  readonly bashrc?: string;
  /** wsh is not installed on the remote machine. */
  readonly bare?: boolean;
  /** The remote machine's network. */
  readonly at?: SshdPlace;
  readonly local?: WshOptions;
  readonly remote?: WshOptions;
}

export class TwoMachines implements AsyncDisposable {
  private constructor(
    readonly local: Wsh,
    readonly remote: Wsh,
    readonly sshd: Sshd,
  ) {}

  /** The remote machine is `m1`, and is added by default. */
  static async start({
    sshd = [],
    bashrc,
    bare = false,
    at,
    local = {},
    remote: options = {},
  }: MachinesSetup = {}): Promise<TwoMachines> {
    const remote = new Wsh(options);
    const bin = join(remote.dir, "bin");
    fs.mkdirSync(bin);
    if (!bare) fs.writeFileSync(join(bin, "wsh"), `#!/bin/sh\nexec ${program.join(" ")} "$@"\n`, { mode: 0o755 });
    if (bashrc !== undefined) fs.appendFileSync(join(remote.env.HOME ?? "", ".bashrc"), bashrc);
    const { PATH, ...env } = remote.env;
    // The tester's own programs are not found there.
    const own = { ...env, PATH: `${bin}:/usr/bin:/bin` };
    const set = Object.entries(own).map(([name, value]) => `${name}=${value}`);
    const server = await Sshd.start([`SetEnv ${set.join(" ")}`, ...sshd], at);
    const ssh = `ssh -F ${server.clientConfig("m1")}`;
    const here = new Wsh({ ...local, env: { WSH_SSH_COMMAND: ssh, ...local.env } });
    return new TwoMachines(here, remote, server);
  }

  /** Adds the remote machine. */
  async add(): Promise<this> {
    await this.local.ok("servers", "add", "ssh://m1");
    return this;
  }

  /** Another instance on the local machine, which reaches the remote one in the same way. */
  beside(env: Readonly<Record<string, string>> = {}): Wsh {
    return new Wsh({ env: { WSH_SSH_COMMAND: this.local.env.WSH_SSH_COMMAND ?? "", ...env } });
  }

  /** The process of a local instance's ssh master, which hides its environment; null while there is none. */
  masterPid({ instance } = this.local): number | null {
    for (const path of socketsOf(instance).controls) {
      const control = `ControlPath=${path}`;
      const { stderr } = Bun.spawnSync(["ssh", "-F", "none", "-o", control, "-O", "check", "m1"]);
      const pid = /pid=(\d+)/.exec(stderr.toString())?.[1];
      if (pid !== undefined) return Number(pid);
    }
    return null;
  }

  /** Kills the ssh master, which must exist. */
  killMaster(): void {
    if (!this.endMaster()) throw new Error("there is no ssh master");
  }

  /** @returns whether there was one to kill: it may have ended by itself */
  endMaster(): boolean {
    const pid = this.masterPid();
    if (pid !== null) process.kill(pid, "SIGKILL");
    return pid !== null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.endMaster();
    await this.local[Symbol.asyncDispose]();
    await this.remote[Symbol.asyncDispose]();
    await this.sshd[Symbol.asyncDispose]();
  }
}
