/**
 * A real shell on a real PTY, started as the launch plan says, with its output and the marks found in it. The test owns
 * the HOME directory and disposes of the shell; the tester's own configuration is not read.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { bashVersion } from "../../../src/pane/bash-version.ts";
import { integrationFiles } from "../../../src/shell/integration.ts";
import { planShell, type ShellKind } from "../../../src/shell/plan.ts";
import { prepareFish } from "../fish-home.ts";

/** Limit of every wait that would otherwise hang; generous, since the machine may be busy. */
const DEADLINE_MS = 20_000;

export const NONCE = "n0nce";

export interface Mark {
  readonly kind: "A" | "B" | "C" | "D" | "E" | "7" | "P";
  /** With D. */
  readonly exit?: string;
  readonly id?: string;
  /** With E (as escaped) and 7. */
  readonly text?: string;
  readonly verified: boolean;
  /** Index in `output` behind the mark. */
  readonly end: number;
  readonly begin: number;
}

export interface ShellOptions {
  readonly login?: boolean;
  /** Files below HOME. */
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly integration?: boolean;
  /** Name of the directory that holds our scripts. */
  readonly scripts?: string;
  /** fish's queries of its terminal need no answers; the size is 80 × 24 by default. */
  readonly cols?: number;
}

export class ShellTerminal implements AsyncDisposable {
  output = "";
  readonly #decoder = new TextDecoder();
  readonly #changed = new Set<() => void>();
  #process: Bun.Subprocess | undefined;

  private constructor(
    readonly home: string,
    readonly kind: ShellKind,
  ) {}

  static start(shell: ShellKind, options: ShellOptions = {}): ShellTerminal {
    const home = mkdtempSync(join(tmpdir(), `shell-${shell}-`));
    const self = new ShellTerminal(home, shell);
    prepareFish(home);
    const scriptsDir = join(home, options.scripts ?? "ws scripts");
    for (const file of integrationFiles()) write(join(scriptsDir, file.name), file.text);
    for (const [name, text] of Object.entries(options.files ?? {})) write(join(home, name), text);
    const env: Record<string, string> = {
      HOME: home,
      PATH: process.env.PATH ?? "/usr/bin:/bin",
      TERM: "xterm-256color",
      LANG: "C.UTF-8",
      USER: "tester",
      LOGNAME: "tester",
      XDG_CONFIG_HOME: join(home, ".config"),
      XDG_DATA_HOME: join(home, ".local/share"),
      ...options.env,
    };
    const keyFile = join(home, "key");
    write(keyFile, `${NONCE}\n`);
    const plan = planShell(
      { shell, loginShell: options.login ?? false, integration: options.integration ?? true },
      {
        env,
        scriptsDir,
        keyFile,
        accountShell: null,
        bashVersion,
        findExecutable: (name) => Bun.which(name),
      },
    );
    if (!plan.ok) throw plan.error;
    const childEnv = { ...env, ...plan.set };
    for (const name of plan.unset) delete childEnv[name];
    self.#process = Bun.spawn([plan.file, ...plan.args], {
      ...(plan.argv0 === undefined ? {} : { argv0: plan.argv0 }),
      cwd: home,
      env: childEnv,
      terminal: {
        cols: options.cols ?? 80,
        rows: 24,
        data: (_terminal: unknown, bytes: Uint8Array) => {
          self.output += self.#decoder.decode(new Uint8Array(bytes), { stream: true });
          for (const wake of [...self.#changed]) wake();
        },
      },
    });
    return self;
  }

  get marks(): readonly Mark[] {
    return findMarks(this.output);
  }

  /** Kinds of the marks from `since` on as one string, OSC 7 and E left out: "ABCDAB". */
  sequence(since = 0): string {
    return this.marks
      .filter((mark) => mark.begin >= since && "ABCD".includes(mark.kind))
      .map((mark) => mark.kind)
      .join("");
  }

  write(text: string | Uint8Array): void {
    this.#process?.terminal?.write(text);
  }

  /** Resolves with the first result of `condition` that is not empty. */
  async until<T>(what: string, condition: () => T | null | undefined | false): Promise<T> {
    const end = Date.now() + DEADLINE_MS;
    for (;;) {
      const value = condition();
      if (value !== null && value !== undefined && value !== false) return value;
      if (Date.now() > end) throw new Error(`no ${what} in:\n${JSON.stringify(this.output.slice(-3000))}`);
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, 250);
      this.#changed.add(resolve);
      await promise;
      clearTimeout(timer);
      this.#changed.delete(resolve);
    }
  }

  /** A prompt whose B comes at or after `since`; returns its end. */
  prompt(since = 0): Promise<number> {
    return this.until("prompt", () => this.marks.find((mark) => mark.kind === "B" && mark.begin >= since)?.end);
  }

  /** Types a line at the prompt and waits for the next prompt; returns the marks and the output between C and D. */
  async run(
    line: string | Uint8Array,
  ): Promise<{ marks: readonly Mark[]; sequence: string; exit: string | undefined; text: string }> {
    const since = this.output.length;
    this.write(typeof line === "string" ? `${line}\r` : line);
    await this.until("end of command", () => {
      const later = this.marks.filter((mark) => mark.begin >= since);
      const done = later.find((mark) => mark.kind === "D");
      return done !== undefined && later.some((mark) => mark.kind === "B" && mark.begin >= done.end);
    });
    const marks = this.marks.filter((mark) => mark.begin >= since);
    const done = marks.find((mark) => mark.kind === "D");
    const start = marks.find((mark) => mark.kind === "C");
    const text = start && done ? findText(this.output.slice(start.end, done.begin)) : "";
    return { marks, sequence: this.sequence(since), exit: done?.exit, text };
  }

  /** Waits for `text` to appear behind `since`. */
  see(text: string, since = 0): Promise<true> {
    return this.until(JSON.stringify(text), () => this.output.includes(text, since));
  }

  async exited(): Promise<number> {
    return (await this.#process?.exited) ?? -1;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process?.kill("SIGKILL");
    await this.#process?.exited;
    this.#process?.terminal?.close();
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** Text without escape sequences; CRLF as LF. */
export function findText(output: string): string {
  return output
    .replace(/\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)/g, "")
    .replace(/\x1b\[[0-9;?>=]*[@-~]/g, "")
    .replace(/\x1b[()][A-Z0-9]|\x1b[=>]/g, "")
    .replaceAll("\r\n", "\n")
    .replaceAll("\r", "");
}

/**
 * The visible output while a person types `lines` one after another, with and without integration.
 * @param files files of a home whose prompt is "@@ "
 */
export async function transcripts(
  program: ShellKind,
  files: Readonly<Record<string, string>>,
  lines: readonly string[],
): Promise<{ bare: string; ours: string }> {
  const [bare = "", ours = ""] = await Promise.all(
    [false, true].map(async (integration) => {
      await using shell = ShellTerminal.start(program, { integration, files });
      const prompts = () => findText(shell.output).split("@@ ").length - 1;
      for (const [done, line] of lines.entries()) {
        await shell.until("prompt", () => prompts() > done);
        shell.write(`${line}\r`);
      }
      await shell.until("last prompt", () => prompts() > lines.length);
      return findText(shell.output).replaceAll(shell.home, "HOME");
    }),
  );
  return { bare, ours };
}

function findMarks(output: string): Mark[] {
  const marks: Mark[] = [];
  for (const match of output.matchAll(/\x1b\](133|633|7);([^\x07\x1b]*)(?:\x07|\x1b\\)/g)) {
    const begin = match.index;
    const end = begin + match[0].length;
    const body = match[2] ?? "";
    if (match[1] === "7") {
      marks.push({ kind: "7", text: body, verified: false, begin, end });
      continue;
    }
    const [kind, ...rest] = body.split(";");
    if (match[1] === "633" && (kind === "E" || kind === "P")) {
      marks.push({ kind, text: rest[0] ?? "", verified: rest[1] === NONCE, begin, end });
    } else if (match[1] === "133" && (kind === "A" || kind === "B" || kind === "C" || kind === "D")) {
      const id = rest.find((part) => part.startsWith("id="))?.slice(3);
      const exit = kind === "D" ? rest[0] : undefined;
      marks.push({
        kind,
        ...(id === undefined ? {} : { id }),
        ...(exit === undefined ? {} : { exit }),
        verified: rest.includes(`wsh=${NONCE}`),
        begin,
        end,
      });
    }
  }
  return marks;
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, text, { mode: 0o600 });
}
