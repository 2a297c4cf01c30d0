/** A server of ssh for tests. */
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { pathOf } from "./programs.ts";
import { until } from "./until.ts";

/** A server of ssh on the loopback interface, with keys of its own, for this account. */
export class Sshd implements AsyncDisposable {
  private constructor(
    private readonly dir: string,
    private readonly port: number,
    private readonly process: Bun.Subprocess,
  ) {}

  static async start(): Promise<Sshd> {
    const dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-sshd-"));
    for (const key of ["host", "user"]) {
      Bun.spawnSync(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", join(dir, key)]);
    }
    fs.copyFileSync(join(dir, "user.pub"), join(dir, "authorized"));
    fs.mkdirSync("/run/sshd", { recursive: true });
    const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const { port } = listener;
    listener.stop(true);
    const options = ["StrictModes=no", "UsePAM=no", "PidFile=none", `AuthorizedKeysFile=${dir}/authorized`];
    const process = Bun.spawn(
      [pathOf("sshd") ?? "sshd", "-D", "-e", "-f", "/dev/null", "-p", `${port}`, "-h", join(dir, "host")].concat(
        ["ListenAddress=127.0.0.1", ...options].flatMap((option) => ["-o", option]),
      ),
      { stderr: "ignore" },
    );
    const sshd = new Sshd(dir, port, process);
    await until("sshd", async () => Bun.spawnSync(["sh", "-c", sshd.command("true")]).success || null);
    return sshd;
  }

  command(remote: string): string {
    const options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "BatchMode=yes"];
    const given = options.map((option) => `-o ${option}`).join(" ");
    return `ssh -tt -F none -i ${this.dir}/user -p ${this.port} ${given} 127.0.0.1 '${remote}'`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.process.kill();
    await this.process.exited;
    fs.rmSync(this.dir, { recursive: true });
  }
}
