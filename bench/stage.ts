/**
 * The stage of every measure: a directory with its own instance of wsh and a socket for each peer. The environment is
 * the same for all and hides the tester's configuration. At the end every process started here is killed: it is found by
 * the stage's directory in its environment.
 */
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { until } from "./until.ts";
import { Window } from "./window.ts";

/** History limit of wsh's sessions and of the peers, in lines. */
export const HISTORY_LINES = 10_000;

export class Stage implements AsyncDisposable {
  readonly dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-b-"));
  readonly env: Readonly<Record<string, string>>;
  readonly socket: string;

  /** @param wsh path of the executable */
  constructor(readonly wsh: string) {
    const home = join(this.dir, "home");
    fs.mkdirSync(home);
    fs.writeFileSync(join(home, ".bashrc"), "PS1='ready$ '\nunset HISTFILE\n");
    // The system's profile may set another PATH.
    fs.writeFileSync(join(home, ".bash_profile"), `PATH='${process.env.PATH ?? "/usr/bin:/bin"}'\n. ~/.bashrc\n`);
    fs.writeFileSync(
      join(home, "tmux.conf"),
      `set -g history-limit ${HISTORY_LINES}\nset -g default-terminal tmux-256color\n`,
    );
    fs.writeFileSync(join(home, "screenrc"), `defscrollback ${HISTORY_LINES}\nstartup_message off\n`);
    fs.mkdirSync(join(this.dir, "run"), { mode: 0o700 });
    this.env = {
      PATH: process.env.PATH ?? "/usr/bin:/bin",
      HOME: home,
      SHELL: "/bin/bash",
      LANG: "C.UTF-8",
      TERM: "xterm-256color",
      XDG_RUNTIME_DIR: join(this.dir, "run"),
      SCREENDIR: join(this.dir, "run"),
    };
    this.socket = join(this.dir, "run/wsh/default.http.sock");
  }

  /** The command of tmux with its own server. */
  tmux(...args: readonly string[]): string[] {
    return ["tmux", "-S", join(this.dir, "tmux"), "-f", join(this.dir, "home/tmux.conf"), ...args];
  }

  screen(...args: readonly string[]): string[] {
    return ["screen", "-c", join(this.dir, "home/screenrc"), ...args];
  }

  spawn(command: readonly string[]) {
    return Bun.spawn([...command], { cwd: this.dir, env: this.env, stdin: "pipe", stdout: "pipe", stderr: "pipe" });
  }

  /** Output of a command that must succeed. */
  async run(...command: readonly string[]): Promise<string> {
    const child = Bun.spawn([...command], {
      cwd: this.dir,
      env: this.env,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, error, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    if (code !== 0) throw new Error(`${command.join(" ")} exited with ${code}: ${error}`);
    return out;
  }

  /** A command in a terminal of its own. */
  window(...command: readonly string[]): Window {
    return new Window(command, { cwd: this.dir, env: this.env });
  }

  /** A server of wsh, answering. */
  async server(): Promise<number> {
    const child = this.spawn([this.wsh, "server", "--bind", "none"]);
    // Leaves no connection open: one costs the server two wake-ups a second (bench/idle.ts).
    const once = { unix: this.socket, keepalive: false };
    await until("the server", async () => (await fetch("http://localhost/health", once).catch(() => null))?.ok);
    return child.pid;
  }

  get(path: string): Promise<Response> {
    return fetch(`http://localhost${path}`, { unix: this.socket });
  }

  async post(path: string, body: unknown): Promise<unknown> {
    const init = { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } };
    const response = await fetch(`http://localhost${path}`, { ...init, unix: this.socket });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
    return answer;
  }

  /** The processes whose command line ends with `ending`, oldest first. */
  pids(ending: string): number[] {
    return this.processes()
      .filter(({ command }) => command.endsWith(ending))
      .map(({ pid }) => pid)
      .sort((a, b) => a - b);
  }

  processes(): { readonly pid: number; readonly command: string }[] {
    return fs.readdirSync("/proc").flatMap((entry) => {
      if (!/^\d+$/.test(entry) || Number(entry) === process.pid) return [];
      try {
        const env = fs.readFileSync(`/proc/${entry}/environ`, "utf8").split("\0");
        const command = fs.readFileSync(`/proc/${entry}/cmdline`, "utf8").split("\0").join(" ").trim();
        return env.includes(`HOME=${this.env.HOME}`) ? [{ pid: Number(entry), command }] : [];
      } catch {
        return []; // ended meanwhile, or another user's
      }
    });
  }

  /** Ends every process, so that the next measure finds none. */
  async clear(): Promise<void> {
    await until("the processes to end", () => {
      for (const { pid } of this.processes()) {
        try {
          process.kill(pid, "SIGKILL");
        } catch {
          // ended meanwhile
        }
      }
      return this.processes().length === 0;
    });
    for (const entry of ["wsh", "tmux"]) fs.rmSync(join(this.dir, "run", entry), { recursive: true, force: true });
    fs.rmSync(join(this.dir, "tmux"), { force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.clear();
    fs.rmSync(this.dir, { recursive: true, force: true });
  }
}

/** Whether a peer can take part. */
export function installed(program: string): boolean {
  return Bun.which(program) !== null;
}
