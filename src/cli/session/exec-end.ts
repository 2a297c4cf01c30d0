/**
 * The end of a command of `wsh exec`: asks its session, prints the result, sets the exit code, and handles an unknown
 * result.
 */

import { exitCode } from "../../attach/outcome.ts";
import { pause } from "../../base/deadline.ts";
import { RETRY_MS } from "../../cluster/repeated-request.ts";
import type { OperationOutput } from "../../operations/table.ts";
import { intervals } from "../../platform/intervals.ts";
import { type CommandRecord, MAX_OUTPUT_LIMIT } from "../../protocol/commands.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { MAX_WAIT_MS } from "../../protocol/wait-times.ts";
import { complain, print, printJson, printRendered } from "../print.ts";
import type { SessionClient } from "./client.ts";
import type { ExecOptions, PipelineStep } from "./exec-options.ts";

/** Exit codes besides the command's own, as in timeout(1) and docker. */
export const TIMED_OUT = 124;
export const UNKNOWN = 125;
/** With --until: the command ended first, or cannot become ready. */
const NOT_READY = 1;

type ExecResult = OperationOutput<"exec">;

/** Prints a typed command's output, and returns its exit code. */
export async function printTyped(result: ExecResult, { json }: ExecOptions): Promise<void> {
  const { state, exit_code, signal, output = "" } = result;
  for (const warning of result.warnings ?? []) complain(warning);
  const cut = state === "running" || state === "interrupted" || state === "killed";
  process.exitCode = cut ? TIMED_OUT : state === "finished" ? exitCode(exit_code ?? null, signal ?? null) : UNKNOWN;
  if (json === true) return printJson(result);
  await printRendered(output === "" ? "" : `${output.trimEnd()}\n`);
}

/** Prints the identifier of a command that runs in the background, or the reason why it is not ready. */
export async function printReady(ready: ExecResult, { json, until = [] }: ExecOptions, name: string): Promise<void> {
  const { decided_by: by, exit_code, signal, output = "", reason } = ready;
  const isRunning = ready.state === "running";
  for (const warning of ready.warnings ?? []) complain(warning);
  const isMet = until.some((each) => (typeof each === "string" ? each : each.type) === by);
  if (!isMet) {
    const ended = exitCode(exit_code ?? null, signal ?? null);
    process.exitCode = by === "timeout" ? TIMED_OUT : isRunning || ended === 0 ? NOT_READY : ended;
    complain(reason ?? (by === "timeout" ? "timed out before the command was ready" : "the command has ended"));
  }
  if (json === true) return printJson(ready);
  if (!isMet && output !== "") process.stderr.write(`${output.trimEnd()}\n`);
  if (isMet || isRunning) await print(`${name}\n`);
}

/** The command's record, at its end or at the end of the wait. */
export async function untilFinished(session: SessionClient, id: number, signal: AbortSignal): Promise<CommandRecord> {
  // A wait on another machine is short, because it continues for its whole time while that machine is away.
  const max_wait_ms = session.machine === null ? MAX_WAIT_MS : intervals.peerAgain;
  const wait = { any_of: ["command_finished" as const], command_id: id, max_wait_ms };
  while (!signal.aborted) {
    const { decided_by } = await session.call("wait", wait, signal);
    if (decided_by !== "timeout") break;
  }
  return session.call("commands.get", { id });
}

/**
 * On another machine, perhaps only the connection was lost: then the command and its output continue there.
 */
export async function endedAfterLoss(
  session: SessionClient,
  thrown: unknown,
  signal: AbortSignal,
  look: () => Promise<CommandRecord>,
): Promise<CommandRecord> {
  if (session.machine === null || !isUnreachable(thrown)) throw thrown;
  for (const until = performance.now() + intervals.peerAgain; ; await pause(RETRY_MS, signal)) {
    try {
      return await look();
    } catch (again) {
      if (!isUnreachable(again) || signal.aborted || performance.now() > until) throw again;
    }
  }
}

function isUnreachable(thrown: unknown): boolean {
  const { code } = WshError.from(thrown);
  return code === "session_unavailable" || code === "machine_unreachable";
}

/** The result that `exec` would have returned. @param stopped how it was stopped at the deadline */
export async function resultOf(
  session: SessionClient,
  { id }: Pick<CommandRecord, "id">,
  stopped: "interrupted" | "killed" | undefined,
  { isFiltered, json, grep, context, head, tail, output }: ExecOptions,
): Promise<PipelineStep> {
  // Output already printed is not requested again.
  const shown = isFiltered === true || json === true ? output : "none";
  const filter = { grep, context, head, tail, output: shown, output_limit: MAX_OUTPUT_LIMIT };
  const result = await session.call("commands.result", {
    id,
    ...defined({ stopped }),
    ...filter,
  });
  return { ...result, session: session.name };
}

/** The stage of the request whose answer was lost: the start of the command, or a later one. */
export interface StartedExec {
  /** The session's name as the person wrote it. */
  readonly name: string;
  /** Null: it is unknown whether the command was started. */
  readonly id: number | null;
  readonly command: string;
}

/**
 * After the loss of a connection to another machine, prints that it is unknown whether the command was
 * started or how it ended, and how to resume it. Rethrows any other error.
 */
export async function reportUnknown(
  { name, id, command }: StartedExec,
  { json, resume }: ExecOptions,
  thrown: unknown,
): Promise<void> {
  const { code, message, details } = WshError.from(thrown);
  const isUnknown = code === "outcome_unknown" || (id !== null && code === "machine_unreachable");
  if (!isUnknown) throw thrown;
  const request = typeof details.request === "string" ? details.request : undefined;
  const what =
    id === null ? "the command may or may not be running" : `command ${id} was started; its result is unknown`;
  complain(`${what}: ${message}`);
  // A forgotten request cannot be resumed.
  const again = id === null ? request && `${request} -- '${command.replaceAll("'", "'\\''")}'` : `${id}`;
  if (again !== undefined) complain(`to resume it: wsh exec ${name} --resume ${again}`);
  const result = { state: "unknown", command_id: id, request: request ?? resume ?? null, reason: message };
  if (json === true) await printJson(result);
}
