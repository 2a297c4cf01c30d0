/** A shell in a pane, as its session process makes one, without the process. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Commands } from "../../src/pane/commands/commands.ts";
import { type CommandLimits, defaultCommandLimits } from "../../src/pane/commands/commands-port.ts";
import { Pane } from "../../src/pane/pane.ts";
import { planProgram, wrapProgram } from "../../src/pane/spawn-plan.ts";
import { WshError } from "../../src/protocol/errors.ts";
import { openPty } from "../../src/pty/open.ts";
import { integrationFiles } from "../../src/shell/integration.ts";
import { defaultProfile } from "../../src/terminal/profile.ts";
import { prepareFish } from "./fish-home.ts";

const encoder = new TextEncoder();

export interface LiveOptions {
  readonly shell?: string;
  readonly integration?: boolean;
  /** Lines of the shell's rc file. */
  readonly rc?: string;
  readonly cols?: number;
  readonly historyLines?: number;
  readonly limits?: CommandLimits;
  /** False: as on a system whose kernel does not report what programs wait for. */
  readonly facts?: boolean;
}

export class LivePane implements AsyncDisposable {
  private constructor(
    readonly pane: Pane,
    private readonly home: string,
  ) {}

  /** Starts a shell and waits for its first prompt. */
  static async start(options: LiveOptions = {}): Promise<LivePane> {
    const home = fs.mkdtempSync(path.join(os.tmpdir(), "wsh-pane-"));
    const live = new LivePane(new Pane(await paneOptions(home, options)), home);
    await live.pane.start();
    const outcome = await live.commands.wait({ anyOf: [{ type: "prompt" }], maxWaitMs: 15_000 });
    if (outcome.decidedBy !== "prompt") throw new Error(`no prompt: ${live.screen()}`);
    return live;
  }

  get commands(): Commands {
    return this.pane.commands;
  }

  /** Types like a person at the keyboard. */
  type(text: string): void {
    this.pane.typed(encoder.encode(text), this.pane.flags());
  }

  run(input: string, options: { timeoutMs?: number; maxWaitMs?: number } = {}) {
    return this.commands.run({
      input: { text: encoder.encode(input), enter: null },
      timeoutMs: options.timeoutMs,
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
      byProgram: true,
      outputLimit: 32_768,
      readyLimit: 256,
      ...options,
    });
    const [step] = outcome.steps;
    if (step === undefined) throw new Error("no step");
    return { ...step, warnings: outcome.warnings, steps: outcome.steps };
  }

  /** The line with the cursor, without trailing blanks. */
  cursorLine(): string {
    const { lines, cursor } = this.pane.terminal.screen("plain");
    return String(lines[cursor.row]).trimEnd();
  }

  private screen(): string {
    return this.pane.terminal.screen("plain").lines.join("\n").trimEnd();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pane.lifetime.end();
    this.pane.release(new WshError("session_not_found", "the test is over"));
    fs.rmSync(this.home, { recursive: true, force: true });
  }
}

async function paneOptions(home: string, options: LiveOptions): Promise<ConstructorParameters<typeof Pane>[0]> {
  const nonce = crypto.randomUUID().replaceAll("-", "");
  const scriptsDir = path.join(home, "scripts");
  for (const { name, text } of integrationFiles()) {
    const file = path.join(scriptsDir, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
  }
  prepareFish(home);
  for (const rc of [".bashrc", ".zshrc"]) fs.writeFileSync(path.join(home, rc), `PS1='$ '\n${options.rc ?? ""}\n`);
  const env: Record<string, string> = {
    PATH: process.env.PATH ?? "",
    HOME: home,
    TERM: "xterm-256color",
    LANG: "C.UTF-8",
    PS1: "$ ",
  };
  const keyFile = path.join(home, "key");
  const plan = planProgram(
    { shell: options.shell ?? "bash", caller: { cwd: home, env } },
    { env, scriptsDir, keyFile, loginShell: false, integration: options.integration ?? true },
  );
  const childEnv = { ...env, ...plan.set };
  for (const name of plan.unset) delete childEnv[name];
  const spawn = { cwd: home, env: childEnv, openFiles: null, rows: 24, cols: options.cols ?? 80 };
  return {
    id: "@1",
    command: plan.displayCommand,
    spawn: { ...wrapProgram(plan, null), ...spawn, inputLimitBytes: 1024 * 1024 },
    open: await openPty("bun"),
    nonce,
    keyFile: {
      offer: () => fs.writeFileSync(keyFile, `${nonce}\n`, { mode: 0o600 }),
      withdraw: () => fs.rmSync(keyFile, { force: true }),
    },
    shell: { kind: plan.kind, command: null, integration: plan.integration },
    profile: defaultProfile,
    hideClipboard: false,
    hideTitles: false,
    resetModes: true,
    spool: null,
    historyLines: options.historyLines ?? 10_000,
    historyBytes: 64 * 1024 * 1024,
    commands: options.limits ?? defaultCommandLimits,
    killGraceMs: 100,
    ...(options.facts === false ? { readFacts: () => null } : {}),
  };
}

/** The reason of a rejected promise. (`expect().rejects` of Bun runs a separate loop, in which child exits are missed.) */
export async function failure(promise: Promise<unknown>): Promise<Record<string, unknown>> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof WshError)) throw new Error(`no WshError: ${String(error)}`);
  return { ...error.toBody() };
}
