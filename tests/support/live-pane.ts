/** A shell on a real pseudo terminal with the command domain on top: what a session's host joins, without transports. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { type CommandLimits, Commands } from "../../src/pane/commands/commands.ts";
import { InputGate } from "../../src/pane/input-gate.ts";
import type { ShellKind } from "../../src/pane/ports.ts";
import { PaneText } from "../../src/pane/text/terminal-text.ts";
import { WshError } from "../../src/protocol/errors.ts";
import type { PtyExit } from "../../src/pty/port.ts";
import { execInput } from "../../src/shell/exec-input.ts";
import { integrationFiles } from "../../src/shell/integration.ts";
import { planShell } from "../../src/shell/plan.ts";
import { TerminalModel } from "../../src/terminal/model.ts";
import { defaultProfile } from "../../src/terminal/profile.ts";
import { watched } from "./silence.ts";

/** ICANON and ECHO of termios c_lflag on Linux. */
const ICANON = 2;
const ECHO = 8;
const encoder = new TextEncoder();

export interface LiveOptions {
  readonly shell?: string;
  readonly integration?: boolean;
  /** Lines of the shell's rc file. */
  readonly rc?: string;
  readonly cols?: number;
  readonly historyLines?: number;
  readonly limits?: CommandLimits;
  /** False: as on a system whose kernel does not tell what programs wait for. */
  readonly facts?: boolean;
}

export class LiveCommands implements AsyncDisposable {
  readonly home = fs.mkdtempSync(path.join(os.tmpdir(), "wsh-commands-"));
  readonly commands: Commands;
  readonly model: TerminalModel;
  readonly text: PaneText;
  private readonly watched = watched(systemClock);
  readonly activity = this.watched.activity;
  readonly child: Bun.Subprocess;
  readonly input = new InputGate(async (bytes) => void this.terminal.write(bytes));
  private readonly terminal: Bun.Terminal;
  private exit: PtyExit | null = null;

  constructor(options: LiveOptions = {}) {
    const { home } = this;
    const nonce = crypto.randomUUID().replaceAll("-", "");
    const scriptsDir = path.join(home, "scripts");
    for (const { name, text } of integrationFiles()) {
      const file = path.join(scriptsDir, name);
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, text);
    }
    for (const rc of [".bashrc", ".zshrc"]) fs.writeFileSync(path.join(home, rc), `PS1='$ '\n${options.rc ?? ""}\n`);
    const env = {
      PATH: process.env.PATH ?? "",
      HOME: home,
      TERM: "xterm-256color",
      LANG: "C.UTF-8",
      PS1: "$ ",
    };
    const keyFile = path.join(home, "key");
    fs.writeFileSync(keyFile, `${nonce}\n`, { mode: 0o600 });
    const plan = planShell(
      { shell: options.shell ?? "bash", loginShell: false, integration: options.integration ?? true },
      {
        env,
        scriptsDir,
        keyFile,
        accountShell: null,
        platform: process.platform,
        findExecutable: (name) => Bun.which(name, { PATH: env.PATH }),
      },
    );
    if (!plan.ok) throw plan.error;
    const size = { rows: 24, cols: options.cols ?? 80 };
    this.model = new TerminalModel(
      {
        ...size,
        historyLines: options.historyLines ?? 10_000,
        historyBytes: 64 * 1024 * 1024,
        nonce,
        profile: defaultProfile,
      },
      {
        reply: (bytes) => void this.input.send(bytes),
        chunk: () => {
          this.activity.record();
          this.text.chunk();
          this.commands.chunk();
        },
        mark: (mark) => {
          this.text.note(mark.offset, mark.position);
          this.commands.mark({
            kind: mark.kind,
            verified: mark.nonce === nonce,
            exitCode: mark.exitCode,
            commandLine: mark.commandLine ?? null,
            params: mark.params,
            offset: mark.offset,
            position: this.text.textPosition(mark.position),
          });
        },
        bell: () => this.commands.bell(),
        title: () => {},
        cwd: () => {},
        alternate: () => {},
        clipboard: () => {},
        reset: () => {},
        retired: (lines) => this.commands.retired(lines),
        erased: (top) => this.commands.erased(top.line),
      },
    );
    this.text = new PaneText(this.model);
    const live = this;
    this.commands = new Commands({
      text: this.text,
      clock: systemClock,
      activity: this.activity,
      program: {
        get pid() {
          return live.exit === null ? live.child.pid : null;
        },
        flags: () => {
          const bits = live.terminal.localFlags;
          return { canonical: (bits & ICANON) !== 0, echo: (bits & ECHO) !== 0 };
        },
        foreground: () => foregroundOf(live.child.pid),
        get exit() {
          return live.exit;
        },
      },
      target: {
        shell: plan.integration.active && plan.kind !== "other" ? (plan.kind satisfies ShellKind) : null,
        integrationReason: plan.integration.active ? null : plan.integration.reason,
        replacedBy: null,
        get bracketedPaste() {
          return live.model.modes.bracketedPaste;
        },
        write: (bytes) => live.input.send(bytes),
        signal: (name) => {
          const group = foregroundOf(live.child.pid);
          if (group !== null) process.kill(-group, name);
        },
        execInput: (command) => execInput(command, plan.kind, { bracketedPaste: live.model.modes.bracketedPaste }),
        hold: () => live.input.hold(),
        get isPasting() {
          return live.input.isPasting;
        },
        get isWriting() {
          return live.input.isWriting;
        },
      },
      cwd: () => this.model.cwd,
      ...(options.limits === undefined ? {} : { limits: options.limits }),
      ...(options.facts === false ? { readFacts: () => null } : {}),
    });
    const childEnv: Record<string, string> = { ...env, ...plan.set };
    for (const name of plan.unset) delete childEnv[name];
    let parsing: Promise<void> = Promise.resolve();
    this.child = Bun.spawn([plan.file, ...plan.args], {
      cwd: home,
      env: childEnv,
      terminal: {
        ...size,
        data: (_terminal, data) => {
          parsing = this.model.write(new Uint8Array(data));
        },
      },
      onExit: (_child, code, signal) => {
        // The last output can still be on its way; what the terminal holds comes with the next turns of the loop.
        setTimeout(() => {
          void parsing.then(() => {
            this.exit = { code, signal: signal === null ? null : String(signal) };
            this.commands.exited(this.exit);
            this.watched.silence.exited();
          });
        }, 30);
      },
    });
    if (this.child.terminal === undefined) throw new Error("no terminal");
    this.terminal = this.child.terminal;
  }

  /** Waits for the first prompt. */
  async ready(): Promise<this> {
    const outcome = await this.commands.wait({ anyOf: [{ type: "prompt" }], maxWaitMs: 15_000 });
    if (outcome.decidedBy !== "prompt") throw new Error(`no prompt: ${this.screen()}`);
    return this;
  }

  /** Types as somebody at the keyboard does. */
  type(text: string): void {
    const bytes = encoder.encode(text);
    this.commands.typing(bytes);
    void this.input.send(bytes);
  }

  run(input: string, options: { timeoutMs?: number; maxWaitMs?: number } = {}) {
    return this.commands.run({
      input: encoder.encode(input),
      timeoutMs: options.timeoutMs ?? 2_000,
      maxWaitMs: options.maxWaitMs ?? 15_000,
      outputLimit: 32_768,
    });
  }

  async exec(command: string, options: Partial<Parameters<Commands["exec"]>[0]> = {}) {
    const outcome = await this.commands.exec({
      steps: [{ command }],
      stopOnError: true,
      maxWaitMs: 15_000,
      onTimeout: "leave",
      background: false,
      clearLine: false,
      outputLimit: 32_768,
      ...options,
    });
    const [step] = outcome.steps;
    if (step === undefined) throw new Error("no step");
    return { ...step, warnings: outcome.warnings, steps: outcome.steps };
  }

  screen(): string {
    return this.model
      .screen("plain")
      .lines.map((line) => (typeof line === "string" ? line : ""))
      .join("\n")
      .trimEnd();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const group = foregroundOf(this.child.pid);
    if (this.exit === null && group !== null && group > 1) {
      try {
        process.kill(-group, "SIGKILL");
      } catch {
        // It has ended by itself.
      }
    }
    this.child.kill("SIGKILL");
    await this.child.exited;
    const gone = new WshError("session_not_found", "the test is over");
    this.commands.dispose(gone);
    this.watched.silence.dispose(gone);
    this.terminal.close();
    this.model.dispose();
    fs.rmSync(this.home, { recursive: true, force: true });
  }
}

/** What a promise was rejected with. (`expect().rejects` of Bun turns a loop of its own, in which child exits are missed.) */
export async function failure(promise: Promise<unknown>): Promise<Record<string, unknown>> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof WshError)) throw new Error(`no WshError: ${String(error)}`);
  return { ...error.toBody() };
}

/** Process group that holds the terminal of a process (field 8 of its stat). */
function foregroundOf(pid: number): number | null {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
    const group = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[5]);
    return group > 0 ? group : null;
  } catch {
    return null;
  }
}
