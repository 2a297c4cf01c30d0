/** An ssh server for tests. */
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { freePort } from "./free-ports.ts";
import { pathOf } from "./programs.ts";
import { until } from "./until.ts";

/** Address at which a server listens, and the prefix of its command line: a separate network (network.ts). */
export interface SshdPlace {
  readonly address: string;
  readonly inside: readonly string[];
}

/** An ssh server, on the loopback interface by default, with its own keys, for this account. */
export class Sshd implements AsyncDisposable {
  private constructor(
    private readonly dir: string,
    private readonly port: number,
    private process: Bun.Subprocess,
    private readonly args: readonly string[],
    private readonly address: string,
  ) {}

  /** @param settings further lines of sshd_config, such as `AllowStreamLocalForwarding no` */
  static async start(
    settings: readonly string[] = [],
    { address, inside }: SshdPlace = { address: "127.0.0.1", inside: [] },
  ): Promise<Sshd> {
    const dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-sshd-"));
    for (const key of ["host", "user"]) {
      Bun.spawnSync(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", join(dir, key)]);
    }
    fs.copyFileSync(join(dir, "user.pub"), join(dir, "authorized"));
    fs.mkdirSync("/run/sshd", { recursive: true });
    const port = freePort();
    const options = ["StrictModes=no", "UsePAM=no", "PidFile=none", `AuthorizedKeysFile=${dir}/authorized`];
    // Not the tester's own home, whose shells run that person's rc files. Of two SetEnv ssh uses the first.
    fs.mkdirSync(join(dir, "home"));
    const lines = [...settings, `SetEnv HOME=${join(dir, "home")}`];
    fs.writeFileSync(join(dir, "sshd_config"), lines.map((line) => `${line}\n`).join(""));
    const args = [
      ...inside,
      pathOf("sshd") ?? "sshd",
      "-D",
      "-e",
      "-f",
      join(dir, "sshd_config"),
      "-p",
      `${port}`,
    ].concat(
      ["-h", join(dir, "host")],
      [`ListenAddress=${address}`, ...options].flatMap((option) => ["-o", option]),
    );
    const sshd = new Sshd(dir, port, Bun.spawn(args, { stderr: "ignore" }), args, address);
    await until("sshd", async () => Bun.spawnSync(["sh", "-c", sshd.command("true")]).success || null);
    return sshd;
  }

  command(remote: string): string {
    return `${this.login("-tt ")} '${remote}'`;
  }

  /** The command line that logs in, without a command. */
  login(flags = ""): string {
    const options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "BatchMode=yes"];
    const given = options.map((option) => `-o ${option}`).join(" ");
    return `ssh ${flags}-F none -i ${this.dir}/user -p ${this.port} ${given} ${this.address}`;
  }

  /** An ssh configuration in which this server is the host `name`, without any questions. */
  clientConfig(name: string): string {
    const path = join(this.dir, `${name}.ssh_config`);
    const lines = [
      `Host ${name}`,
      `HostName ${this.address}`,
      `Port ${this.port}`,
      `IdentityFile ${this.dir}/user`,
      "IdentitiesOnly yes",
      "StrictHostKeyChecking no",
      "UserKnownHostsFile /dev/null",
    ];
    fs.writeFileSync(path, lines.map((line) => `${line}\n`).join(""), { mode: 0o600 });
    return path;
  }

  /** Ends the server; with its connections, as when a machine fails. */
  async stop(): Promise<void> {
    const children = Bun.spawnSync(["ps", "-o", "pid=", "--ppid", String(this.process.pid)]).stdout.toString();
    this.process.kill();
    await this.process.exited;
    for (const pid of children.split("\n").map(Number).filter(Boolean)) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended with its server.
      }
    }
  }

  /** Restarts it after `stop`. */
  async again(): Promise<void> {
    this.process = Bun.spawn([...this.args], { stderr: "ignore" });
    await until("sshd", async () => Bun.spawnSync(["sh", "-c", this.command("true")]).success || null);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.process.kill();
    await this.process.exited;
    fs.rmSync(this.dir, { recursive: true });
  }
}
