/**
 * A separate instance of wsh: directories, environment, commands, server. It reads nothing of the tester's
 * configuration, shares nothing with another test, and at the end every process of the instance is gone, hung ones too:
 * they are found by the instance's own directory in their environment.
 */
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { type Instance, resolveInstance } from "../../src/instance/paths.ts";
import type { OperationInput, OperationNameOf, OperationOutput } from "../../src/operations/table.ts";
import type { Intervals } from "../../src/platform/intervals.ts";
import type { SessionInfo } from "../../src/protocol/session.ts";
import { prepareFish } from "./fish-home.ts";
import type { ScreenLook } from "./in-process-commands.ts";
import { PATIENCE_MS, until } from "./until.ts";
import { program } from "./wsh-program.ts";

/** The functions of commands: `check` has them in one file, which loads in a quarter of the time. */
const commands = (): Promise<typeof import("./in-process-commands.ts")> =>
  import(process.env.WSH_TEST_COMMANDS ?? "./in-process-commands.ts");

export interface WshOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Text of config.toml. */
  readonly config?: string;
  /** Shorter intervals than the product's, which a test need not wait for. */
  readonly intervals?: Partial<Intervals>;
  /** Instance name; `t` by default. */
  readonly name?: string;
}

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Output of a process until its end, and its exit code. */
export async function finished(child: Bun.Subprocess<Bun.SpawnOptions.Writable, "pipe", "pipe">): Promise<Finished> {
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}

export class Wsh implements AsyncDisposable {
  /** Holds all directories of the instance; processes start in it. Short, since socket paths are limited. */
  readonly dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-t-"));
  readonly env: Readonly<Record<string, string>>;
  readonly instance: Instance;
  readonly #started: Bun.Subprocess[] = [];

  constructor({ env = {}, config, intervals, name = "t" }: WshOptions = {}) {
    const home = join(this.dir, "home");
    fs.mkdirSync(join(home, ".config/wsh"), { recursive: true });
    // A short prompt that shows that a shell is ready, and no history file.
    fs.writeFileSync(join(home, ".bashrc"), "PS1='$ '\nunset HISTFILE\n");
    fs.writeFileSync(join(home, ".bash_profile"), ". ~/.bashrc\n");
    prepareFish(home);
    if (config !== undefined) fs.writeFileSync(join(home, ".config/wsh/config.toml"), config);
    this.env = {
      PATH: process.env.PATH ?? "/usr/bin:/bin",
      HOME: home,
      SHELL: "/bin/bash",
      LANG: "C.UTF-8",
      TERM: "xterm-256color",
      XDG_RUNTIME_DIR: join(this.dir, "run"),
      WSH_SERVER_NAME: name,
      // Tests of the status line set it; in all others the program has every row.
      WSH_STATUS: "off",
      // When Bun compiles, collects and gives memory back: `check` sets it for all processes of tests.
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => /^(BUN_(JSC|GC)|MIMALLOC)_/.test(name))),
      ...(intervals === undefined ? {} : { WSH_TEST_INTERVALS: JSON.stringify(intervals) }),
      ...env,
    };
    fs.mkdirSync(join(this.dir, "run"), { mode: 0o700 });
    this.instance = resolveInstance({ env: this.env });
  }

  /** The command that runs `wsh ARGS`. */
  command(...args: readonly string[]): string[] {
    return [...program, ...args];
  }

  /** Starts `wsh ARGS` without a terminal; ended with the instance if it is still running. */
  spawn(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const child = Bun.spawn([...program, ...args], {
      cwd: this.dir,
      env: { ...this.env, ...env },
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    this.#started.push(child);
    return child;
  }

  /** Runs `wsh ARGS` to its end, with nothing on standard input. */
  run(...args: readonly string[]): Promise<Finished> {
    return this.runWith({}, ...args);
  }

  async runWith(
    { input = "", env = {} }: { input?: string | Uint8Array; env?: Readonly<Record<string, string>> },
    ...args: readonly string[]
  ): Promise<Finished> {
    const child = this.spawn(args, env);
    child.stdin.write(input);
    await child.stdin.end();
    return finished(child);
  }

  /** The output of a command that must succeed. */
  async ok(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(...args);
    if (code !== 0) throw new Error(`wsh ${args.join(" ")} exited with ${code}: ${stderr}`);
    return stdout;
  }

  /** Starts a session in the background, as `wsh new NAME ARGS`: without that command, unless an option needs it. */
  async session(name: string, ...args: readonly string[]): Promise<SessionInfo> {
    const { startHere } = await commands();
    return (await startHere(this, name, args)) ?? JSON.parse(await this.ok("new", name, "--json", ...args));
  }

  /** An operation of a session, without a process of `wsh`: as HTTP, but without a server. */
  async call<N extends OperationNameOf<"pane" | "session" | "layout">>(
    session: string,
    operation: N,
    input: OperationInput<N>,
  ): Promise<OperationOutput<N>> {
    return (await commands()).callHere(this.instance, session, operation, input);
  }

  /** Runs a command that must succeed at a session's prompt. @returns its output, as `wsh exec` prints it */
  async exec(session: string, command: string): Promise<string> {
    const { output, exit_code, state } = await this.call(session, "exec", { command, max_wait_ms: PATIENCE_MS });
    if (exit_code !== 0) throw new Error(`'${command}' in ${session}: ${state}, exit code ${exit_code}: ${output}`);
    return output === "" ? "" : `${output}\n`;
  }

  /** Waits until a session's shell is at its prompt. */
  async prompt(session: string): Promise<void> {
    const { decided_by } = await this.call(session, "wait", { any_of: ["prompt"], max_wait_ms: PATIENCE_MS });
    if (decided_by !== "prompt") throw new Error(`no prompt in ${session}, but ${decided_by}`);
  }

  /** Types a line and Enter into a session, as `wsh send` does. */
  async enter(session: string, data: string): Promise<void> {
    await this.call(session, "input.send", { data, submit: true });
  }

  /** Types text into a session. */
  async type(session: string, data: string): Promise<void> {
    await this.call(session, "input.send", { data });
  }

  /** The records of a session's commands. */
  commands(session: string): Promise<OperationOutput<"commands.list">> {
    return this.call(session, "commands.list", {});
  }

  /** Ends sessions, as `wsh kill` without that command. */
  async kill(...names: readonly string[]): Promise<void> {
    for (const name of names) await this.call(name, "session.kill", {});
  }

  /** As `wsh list --json` prints them; without a command unless there are options. */
  async list(...args: readonly string[]): Promise<SessionInfo[]> {
    if (args.length === 0) return (await commands()).readList(this.instance);
    return JSON.parse(await this.ok("list", "--json", ...args));
  }

  /** The screen of a session, as text. Read without a command if a process has it, since tests read it often. */
  async screen(name: string): Promise<string> {
    using look = await this.#look(name);
    return (await look.read()) ?? this.ok("screen", name);
  }

  /** Waits until a session's screen matches; returns the screen. */
  async shows(name: string, wanted: string | RegExp): Promise<string> {
    let screen = "";
    using look = await this.#look(name);
    const found = until(`session ${name} to show ${wanted}`, async () => {
      screen = (await look.read()) ?? (await this.ok("screen", name));
      return (typeof wanted === "string" ? screen.includes(wanted) : wanted.test(screen)) ? screen : null;
    });
    return await found.catch((error) => {
      throw new Error(`${error.message}; it shows:\n${screen.trimEnd()}`);
    });
  }

  async #look(name: string): Promise<ScreenLook> {
    const { ScreenLook } = await commands();
    return new ScreenLook(this.instance, name);
  }

  /** Starts a server in the foreground of this test and waits until it answers. */
  async server(
    ...args: readonly string[]
  ): Promise<{ readonly pid: number; kill(signal: NodeJS.Signals): Promise<void> }> {
    const child = this.spawn(["server", "--bind", "none", ...args]);
    await until("the server to answer", async () => {
      if (child.exitCode !== null) throw new Error(`the server ended: ${await new Response(child.stderr).text()}`);
      return this.isServing();
    });
    return {
      pid: child.pid,
      kill: async (signal) => {
        child.kill(signal);
        await child.exited;
      },
    };
  }

  /** Whether a server answers a new connection. */
  async isServing(): Promise<boolean> {
    return (await this.fetch("/health", { keepalive: false }).catch(() => null))?.ok === true;
  }

  /** Starts a server that listens on a free TCP port, and returns its address. */
  async tcpServer(...args: readonly string[]): Promise<string> {
    await this.server("--bind", "127.0.0.1:0", ...args);
    // It writes its addresses before it answers.
    return JSON.parse(fs.readFileSync(this.instance.infoFile, "utf8")).addresses[0];
  }

  /** A request to the instance's server over its Unix socket. */
  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`http://localhost${path}`, { ...init, unix: this.instance.httpSocket });
  }

  /** Processes of this instance: session processes, server, programs of its sessions. */
  processes(): { readonly pid: number; readonly command: string }[] {
    const mark = `XDG_RUNTIME_DIR=${this.env.XDG_RUNTIME_DIR}`;
    if (process.platform === "darwin") return processesOfMac(mark);
    return fs.readdirSync("/proc").flatMap((entry) => {
      if (!/^\d+$/.test(entry) || Number(entry) === process.pid) return [];
      try {
        // For every process of the machine: as bytes, and its command only if needed.
        if (!fs.readFileSync(`/proc/${entry}/environ`).includes(`${mark}\0`)) return [];
        const command = fs.readFileSync(`/proc/${entry}/cmdline`, "utf8").split("\0").join(" ").trim();
        return [{ pid: Number(entry), command }];
      } catch {
        return []; // ended meanwhile, or another user's
      }
    });
  }

  /** The session processes, oldest first: process ids start again from the beginning. */
  hosts(): number[] {
    return this.processes()
      .filter(({ command }) => command.endsWith(" session-process"))
      .map(({ pid }) => pid)
      .sort((a, b) => startedAt(a) - startedAt(b) || a - b);
  }

  /** Kills the session process that is the `at`th in age; -1 is the newest. Never 0, which is the tests' own group. */
  async killHost(at = 0): Promise<void> {
    const pid = await until("a host", () => this.hosts().at(at));
    process.kill(pid, "SIGKILL");
    await until("the host to be gone", () => isZombie(pid));
  }

  /** Kills the server. */
  async killServer(): Promise<void> {
    const pid = await until("a server", () => this.servers()[0]);
    process.kill(pid, "SIGKILL");
    // Until the process is gone, its lock says that a server runs, and none is started. Its environment goes before that.
    await until("the server to be gone", () => isZombie(pid));
  }

  /** The server processes. */
  servers(): number[] {
    return this.processes()
      .filter(({ command }) => / server( |$)/.test(command))
      .map(({ pid }) => pid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#started) child.kill("SIGKILL");
    await Promise.all(this.#started.map((child) => child.exited));
    // Stopped ones too; repeated until there is none, since a dying server may just have started something.
    await until("the instance's processes to end", async () => {
      const left = this.processes();
      for (const { pid } of left) {
        try {
          process.kill(pid, "SIGKILL");
        } catch {
          // ended meanwhile
        }
      }
      await until("those that were killed to end", () => left.every(({ pid }) => isZombie(pid)), 5_000);
      return left.length === 0;
    });
    fs.rmSync(this.dir, { recursive: true, force: true });
  }
}

/** macOS has no /proc; its ps shows the environment of this user's processes behind their commands. */
function processesOfMac(mark: string): { readonly pid: number; readonly command: string }[] {
  const texts = (...flags: string[]) => {
    const { stdout } = Bun.spawnSync(["ps", "-A", "-ww", ...flags, "-o", "pid=,command="]);
    return new Map(
      [...stdout.toString().matchAll(/^ *(\d+) (.*)$/gm)].map(([, pid, text = ""]) => [Number(pid), text]),
    );
  };
  const commands = texts();
  return [...texts("-E")].flatMap(([pid, text]) =>
    pid !== process.pid && text.split(" ").includes(mark) ? [{ pid, command: (commands.get(pid) ?? "").trim() }] : [],
  );
}

/** Start of a process in ticks since boot; 0 where it is unknown. */
function startedAt(pid: number): number {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
  } catch {
    return 0;
  }
}

function isZombie(pid: number): boolean {
  if (process.platform === "darwin") {
    return /^(?:Z|$)/.test(Bun.spawnSync(["ps", "-o", "stat=", "-p", String(pid)]).stdout.toString());
  }
  try {
    return /^\d+ \(.*\) Z/s.test(fs.readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
}

/** The session process that started a program. */
export function hostOf(pid: number | null): number {
  return Number(/^PPid:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}
