/**
 * A person's terminal: tmux as the outer terminal, driven by keys and read as a screen, so that tests assert what
 * a person would see. Each has its own tmux server.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { parentOf } from "../processes.ts";
import { isMissing } from "../programs.ts";
import { until } from "../until.ts";
import type { Wsh } from "../wsh.ts";
import { program } from "../wsh-program.ts";
import { TmuxControl } from "./tmux-control.ts";

export const hasTmux: boolean = !isMissing("tmux");

export interface PersonOptions {
  readonly cols?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Markers around the exit code of a command typed with `run`. */
const DONE = "exit-code";

export class PersonTerminal implements AsyncDisposable {
  private constructor(
    private readonly wsh: Wsh,
    private readonly control: TmuxControl,
  ) {}

  /** A terminal with a bare shell at its prompt, whose `wsh` is the program under test. */
  static async open(wsh: Wsh, { cols = 80, rows = 24, env = {} }: PersonOptions = {}): Promise<PersonTerminal> {
    const tmux = ["tmux", "-S", join(wsh.dir, `tmux-${randomBytes(4).toString("hex")}`), "-f", "/dev/null"];
    // Without the tester's TMUX; the session gets the terminal's environment.
    const own = { PATH: wsh.env.PATH ?? "", TERM: "xterm-256color", LANG: "C.UTF-8", HOME: wsh.env.HOME ?? "" };
    const shell = `env PS1='outer> ' bash --norc --noprofile`;
    const set = Object.entries({ ...wsh.env, ...env }).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    const start = ["new-session", "-d", ...set, "-x", String(cols), "-y", String(rows), shell];
    const started = Bun.spawn([...tmux, ...start], { cwd: wsh.dir, env: own, stdout: "ignore", stderr: "pipe" });
    if ((await started.exited) !== 0) throw new Error(`tmux: ${await new Response(started.stderr).text()}`);
    const self = new PersonTerminal(wsh, new TmuxControl(tmux, { cwd: wsh.dir, env: own }));
    await self.type(`wsh() { ${program.map((word) => `'${word}'`).join(" ")} "$@"; }`);
    await self.clear();
    return self;
  }

  /** Types a line and Enter. */
  async type(line: string): Promise<void> {
    await this.tmux("send-keys", "-l", "--", line);
    await this.keys("Enter");
  }

  /** Runs a command that shows a session with a shell, and waits for that shell's prompt. */
  async enter(line: string): Promise<void> {
    await this.run(line);
    await this.sees(/^\$$/m);
  }

  /** Clears screen and scrollback, at the bare shell's prompt. */
  async clear(): Promise<void> {
    await this.type("clear; printf '\\033[3J'");
    await until("the terminal to be clear", async () => (await this.all()).trim() === "outer>");
  }

  /** The terminal's own colours, which it reports when queried: `fg=#102030,bg=#f0f1f2`. */
  async style(style: string): Promise<void> {
    await this.tmux("set-option", "-w", "window-style", style);
    await this.tmux("set-option", "-w", "window-active-style", style);
  }

  /** Presses keys by tmux's names: C-\, Escape, Up, a. */
  async keys(...names: readonly string[]): Promise<void> {
    await this.tmux("send-keys", ...names);
  }

  /** Sends bytes as the terminal would: mouse reports, answers, sequences. */
  async bytes(text: string): Promise<void> {
    await this.tmux("send-keys", "-H", ...[...Buffer.from(text)].map((byte) => byte.toString(16)));
  }

  /** Pastes a file as the terminal does. */
  async paste(path: string): Promise<void> {
    await this.tmux("load-buffer", path);
    await this.tmux("paste-buffer", "-p", "-r");
  }

  /** Types a command into the bare shell, followed by a report of its exit code; see `exitCode`. */
  async run(command: string): Promise<void> {
    await this.type(`${command}; echo "${DONE}=$?"`);
  }

  /** The exit code of the command that `run` started, once it has ended. */
  async exitCode(): Promise<number> {
    const pattern = new RegExp(`^${DONE}=(\\d+)$`, "m");
    const screen = await this.sees(pattern);
    return Number(pattern.exec(screen)?.[1]);
  }

  /** Detaches with the prefix key; messages of an earlier detach may still be on the screen. */
  async detach(): Promise<void> {
    await this.keys("C-\\", "C-\\");
    await this.sees((screen) => /(?:^|\n)outer>\s*$/.test(screen));
  }

  screen(): Promise<string> {
    return this.tmux("capture-pane", "-p");
  }

  /** History and screen. */
  all(): Promise<string> {
    return this.tmux("capture-pane", "-p", "-S", "-");
  }

  /** A tmux variable of the terminal, such as `alternate_on` or `cursor_flag`. */
  async fact(name: string): Promise<string> {
    return (await this.tmux("display-message", "-p", `#{${name}}`)).trim();
  }

  /** Waits until the screen matches; returns the screen. */
  sees(wanted: string | RegExp | ((screen: string) => boolean)): Promise<string> {
    let screen = "";
    const found = until(`the terminal to show ${wanted}`, async () => {
      screen = await this.screen();
      if (typeof wanted === "function") return wanted(screen) ? screen : null;
      return (typeof wanted === "string" ? screen.includes(wanted) : wanted.test(screen)) ? screen : null;
    });
    return found.catch((error) => {
      throw new Error(`${error.message}; it shows:\n${screen.trimEnd()}`);
    });
  }

  async resize(cols: number, rows: number): Promise<void> {
    await this.tmux("resize-window", "-x", String(cols), "-y", String(rows));
  }

  /** Stops the terminal (it reads nothing and answers nothing) and continues it. */
  async freezer(): Promise<(signal: "SIGSTOP" | "SIGCONT") => void> {
    const server = Number(await this.fact("pid"));
    return (signal) => void process.kill(server, signal);
  }

  /** The pid of the `wsh` that runs in the terminal's foreground. */
  async clientPid(): Promise<number> {
    const shell = Number(await this.fact("pane_pid"));
    const parent = process.platform === "linux" ? parentOf : parentByPs;
    return until("the terminal's wsh", () => {
      return this.wsh.processes().find(({ pid, command }) => {
        return pid !== shell && command.startsWith(program.join(" ")) && parent(pid) === shell;
      })?.pid;
    });
  }

  private tmux(...args: readonly string[]): Promise<string> {
    return this.control.run(args);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.control.end();
  }
}

/** A parent on a system without /proc, too. */
function parentByPs(pid: number): number | null {
  const { stdout } = Bun.spawnSync(["ps", "-o", "ppid=", "-p", String(pid)]);
  return Number(stdout.toString()) || null;
}
