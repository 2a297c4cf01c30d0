/** Runs wsh with scarce resources: few descriptors, short files, little memory, full file systems. */

import { isMissing } from "../../support/programs.ts";
import { type Finished, finished, Wsh, type WshOptions } from "../../support/wsh.ts";
import { program } from "../../support/wsh-program.ts";

/** Runs a command of the instance to its end, behind another command such as `sh -c 'ulimit …; exec "$@"' sh`. */
export async function runBehind(wsh: Wsh, prefix: readonly string[], ...args: readonly string[]): Promise<Finished> {
  const child = Bun.spawn([...prefix, ...program, ...args], {
    cwd: wsh.dir,
    env: { ...wsh.env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  return finished(child);
}

/** A command prefix that sets limits first, such as `-n 40`. */
export function limited(...limits: readonly string[]): string[] {
  return ["sh", "-c", `${limits.map((limit) => `ulimit ${limit}; `).join("")}exec "$@"`, "sh"];
}

/** Whether file systems can be mounted in a separate name space here. */
export const canMount: boolean =
  !isMissing("unshare", "nsenter") &&
  process.platform === "linux" &&
  Bun.spawnSync(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]).success;

/** An instance in a separate mount name space, with a small file system at one of its directories. */
export class Enclave implements AsyncDisposable {
  private constructor(
    readonly wsh: Wsh,
    private readonly holder: Bun.Subprocess,
    /** Mount point of the small file system. */
    readonly path: string,
  ) {}

  /** @param bytes of the file system, as mount(8) takes it */
  static async open(pathOf: (wsh: Wsh) => string, bytes: string, options: WshOptions = {}): Promise<Enclave> {
    const wsh = new Wsh(options);
    const path = pathOf(wsh);
    const script = 'mkdir -p "$0" && mount -t tmpfs -o size=$1,mode=700 none "$0" && echo mounted && exec sleep 10000';
    const holder = Bun.spawn(["unshare", "--mount", "--propagation", "private", "sh", "-c", script, path, bytes], {
      env: { ...wsh.env },
      stdout: "pipe",
    });
    const said = await holder.stdout.getReader().read();
    if (said.done) throw new Error(`no small file system at ${path}`);
    return new Enclave(wsh, holder, path);
  }

  get prefix(): string[] {
    return ["nsenter", `--mount=/proc/${this.holder.pid}/ns/mnt`, "--"];
  }

  /** Runs `wsh ARGS` inside. */
  run(...args: readonly string[]): Promise<Finished> {
    return runBehind(this.wsh, this.prefix, ...args);
  }

  async ok(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(...args);
    if (code !== 0) throw new Error(`wsh ${args.join(" ")} exited with ${code}: ${stderr}`);
    return stdout;
  }

  /** Runs a shell script inside; `$0` is the path of the small file system. */
  shell(script: string): string {
    const { stdout } = Bun.spawnSync([...this.prefix, "sh", "-c", script, this.path], { env: { ...this.wsh.env } });
    return stdout.toString();
  }

  /** Fills the file system. */
  fill(): void {
    this.shell('cat /dev/zero > "$0/filler" 2>&1; while echo x >> "$0/filler"; do :; done 2>&1');
  }

  empty(): void {
    this.shell('rm "$0/filler"');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The sleeping holder is one of the instance's processes.
    await this.wsh[Symbol.asyncDispose]();
    await this.holder.exited;
  }
}
