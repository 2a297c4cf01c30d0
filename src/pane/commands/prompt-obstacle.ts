/**
 * Explains why a pane's shell will show no prompt, if the reason is visible: the shell has become another
 * program, its startup files run a program that waits, or the terminal has no room for a prompt. Without this
 * check, exec would wait for a prompt for as long as a slow start may take.
 */

import type { Clock } from "../../base/clock.ts";
import { WshError } from "../../protocol/errors.ts";
import type { ExecTarget } from "../ports.ts";
import type { ProgramState } from "../state/classify.ts";
import type { StateObserver } from "../state/observer.ts";
import type { CommandLog } from "./command-log.ts";

/**
 * Wait before the first prompt after which a program counts as an obstacle, in ms: startup files also ask the
 * terminal questions, but read its answers at once.
 */
const OBSTACLE_MS = 500;

interface ObstaclePort {
  readonly clock: Clock;
  readonly observer: StateObserver;
  readonly log: CommandLog;
  readonly target: ExecTarget;
}

/** The error for the caller; null while a prompt may still appear. */
export function obstacleTo(port: ObstaclePort, state: ProgramState): WshError | null {
  const { log, target } = port;
  if (log.isActive) return readsUnseen(log, state) ? noPromptDrawn(target.shell) : null;
  if (target.inactiveReason !== null) return withoutIntegration(target.inactiveReason);
  const name = target.replacedBy;
  if (name !== null) {
    const message = `the session's shell has become '${name}' (exec), which has no shell integration`;
    const hint = target.shell === null ? undefined : `Use {integrate} ${target.shell} to make commands there exact, or`;
    const run = "{run}, which infers the command's end from the terminal.";
    return new WshError("no_shell_integration", message, {
      process: name,
      hint: hint ? `${hint} ${run}` : `Use ${run}`,
    });
  }
  if (!waits(state)) return null;
  const process = state.foreground?.name ?? "a program";
  const message = `the shell has not reached its first prompt: '${process}' is running (${state.state}: ${state.why})`;
  return new WshError("not_at_prompt", message, { running: process, process, state: state.state });
}

export function withoutIntegration(reason: string): WshError {
  return new WshError("no_shell_integration", `the session has no shell integration: ${reason}`);
}

/** Calls back once when there is an obstacle, until disposed. */
export function watchObstacle(port: ObstaclePort, onObstacle: () => void): Disposable {
  const { clock, observer, log, target } = port;
  let standing: Disposable | null = null;
  const watch = observer.watch((state) => {
    const stands = log.isActive ? readsUnseen(log, state) : waits(state);
    if (!log.isActive && (target.inactiveReason ?? target.replacedBy) !== null) onObstacle();
    else if (stands && standing === null) standing = clock.after(OBSTACLE_MS, onObstacle);
    else if (!stands) {
      standing?.[Symbol.dispose]();
      standing = null;
    }
  });
  return {
    [Symbol.dispose]() {
      standing?.[Symbol.dispose]();
      watch[Symbol.dispose]();
    },
  };
}

/** The shell takes keys, but no prompt end was seen: without room for a prompt, zsh and fish draw none. */
function readsUnseen({ phase }: CommandLog, state: ProgramState): boolean {
  if (phase !== "drawing" && phase !== "ended") return false;
  return state.settled && (state.state === "prompt" || state.state === "waiting_for_input");
}

/** A fish whose drawing was interrupted shows no prompt until the next line. */
function noPromptDrawn(shell: ExecTarget["shell"]): WshError {
  const isFish = shell === "fish";
  const interrupted = isFish ? ", or Ctrl+C interrupted its drawing" : "";
  const elsewhere = shell === "bash" ? ", or its standard error is redirected (exec 2>FILE)" : "";
  const why = `the terminal may be too small for it${interrupted}${elsewhere}`;
  const message = `the shell reads its input but has not drawn a prompt: ${why}`;
  const enter = isFish ? "Press Enter, make" : "Make";
  return new WshError("not_at_prompt", message, {
    hint: `${enter} the terminal larger with {resize}, or type into the shell with {run}.`,
  });
}

function waits(state: ProgramState): boolean {
  return state.state !== "exited" && (state.state === "running" ? state.relay !== null : state.settled);
}
