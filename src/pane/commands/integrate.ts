/**
 * Gives an inner shell our integration and a separate secret, by one typed line (docs/protocol.md, Shells
 * inside the shell). From its next prompt on, exec types into this shell, and its commands are exact. The
 * line is typed like any typed command; its exit code only explains why nothing was done. The proof of the
 * integration is the shell's prompt with the secret, which it read from a file.
 */
import { Wait } from "../../base/deadline.ts";
import type { Step } from "../../protocol/commands.ts";
import { WshError } from "../../protocol/errors.ts";
import { adoptCommand, adoptRefusals } from "../../shell/adopt-line.ts";
import { shellKind } from "../../shell/plan.ts";
import type { IntegratedShell } from "../ports.ts";
import type { ChildKey, ChildShell, ChildShells } from "./child-shells.ts";
import type { ExecPort, ExecRequest } from "./exec-port.ts";
import type { TypedExec } from "./typed-exec.ts";

/** How long the line may take to run, and the shell to show its next prompt, in ms each. */
const MAX_ADOPT_MS = 5_000;
/** UTF-8 bytes of the line's output in an error. */
const SHOWN_BYTES = 300;

export interface IntegratePort {
  readonly shells: ChildShells;
  /** A key for one shell; null without files to give to shells. */
  readonly newKey: (() => ChildKey) | null;
}

export class ShellIntegrator {
  constructor(
    private readonly exec: ExecPort,
    private readonly typed: TypedExec,
    private readonly port: IntegratePort,
  ) {}

  /**
   * @throws WshError no_shell_integration, invalid_request, and those of a typed command, having changed nothing
   */
  async integrate(kind: IntegratedShell, request: ExecRequest, deadline: number, warnings: string[]): Promise<void> {
    const { clock } = this.exec;
    const until = Math.max(deadline, clock.now() + MAX_ADOPT_MS);
    const syntax = kind === "fish" ? "fish" : "sh";
    const { newKey, shells } = this.port;
    if (newKey === null)
      throw integrationError("integration is off for this session (shell_integration, WSH_SHELL_INTEGRATION)");
    const { state } = await this.typed.awaitPromptScreen(request, until);
    const local = state.state === "prompt" ? state.foreground : null;
    if (local !== null && shellKind(local.name) !== kind) {
      throw new WshError("invalid_request", `the shell there is '${local.name}', not '${kind}'`);
    }
    const key = newKey();
    const child: ChildShell = { nonce: key.nonce, kind, pid: local?.pid ?? null };
    let isAdopted = false;
    shells.add(child, local === null ? (state.foreground?.pid ?? null) : null);
    try {
      key.offer();
      const command = adoptCommand(kind, { script: key.script(kind), key: key.path });
      const step: Step = { command };
      const line = { ...request, onTimeout: "interrupt", outputLimit: SHOWN_BYTES } as const;
      const result = await this.typed.runStep(step, syntax, line, until, warnings);
      if (result.state !== "finished") throw integrationError(`the line that loads it did not end: ${result.state}`);
      if (result.exit_code !== 0) throw integrationError(refusalReason(kind, result.exit_code, result.output));
      if (!(await this.awaitPrompt(child, request.signal)))
        throw integrationError(`the ${kind} there did not show its prompt`);
      isAdopted = true;
    } finally {
      key.withdraw();
      if (!isAdopted) {
        shells.remove(child);
        this.exec.log.handleShellLeft(child);
      }
    }
  }

  /** Waits for the shell's prompt. */
  private async awaitPrompt(child: ChildShell, signal: AbortSignal | undefined): Promise<boolean> {
    const { log, clock } = this.exec;
    const holds = (): boolean => log.shell.child === child && log.phase === "prompt";
    if (holds()) return true;
    const wait = new Wait<boolean>({ clock, ms: MAX_ADOPT_MS, signal }, holds);
    wait.own(log.on({ prompt: () => void (holds() && wait.end(true)), exited: () => wait.end(false) }));
    return await wait.promise;
  }
}

function refusalReason(kind: IntegratedShell, code: number | null, output: string): string {
  if (code === adoptRefusals.unreadable) {
    return "this session's files are not readable there: the shell belongs to another user or machine";
  }
  if (code === adoptRefusals.otherShell) return `the shell there is not ${kind}`;
  if (code === adoptRefusals.loaded) return "the shell there has already loaded the integration, with another secret";
  return `the line that loads it ended with ${code ?? "no exit code"}${output === "" ? "" : `: ${output.trim()}`}`;
}

function integrationError(why: string): WshError {
  return new WshError("no_shell_integration", `the nested shell was not integrated: ${why}`, {
    hint: "Use {typed} for single commands there, or {run}.",
  });
}
