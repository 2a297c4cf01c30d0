/** Output and exit code of `wsh exec` for a call's answer. */
import { codeOf } from "../../attach/outcome.ts";
import type { OperationOutput } from "../../operations/table.ts";
import { complain, print, printJson, printRendered } from "../print.ts";
import type { ExecOptions } from "./exec-options.ts";

/** Exit codes besides the command's own, as in timeout(1) and docker. */
export const TIMED_OUT = 124;
export const UNKNOWN = 125;
/** With --until: it ended first, or cannot become ready. */
const NOT_READY = 1;

type Ready = OperationOutput<"exec">;

/** Prints a typed command's output, and returns its exit code. */
export async function sayTyped(result: Ready, { json }: ExecOptions): Promise<void> {
  const { state, exit_code, signal, output = "" } = result;
  for (const warning of result.warnings ?? []) complain(warning);
  const cut = state === "running" || state === "interrupted" || state === "killed";
  process.exitCode = cut ? TIMED_OUT : state === "finished" ? codeOf(exit_code ?? null, signal ?? null) : UNKNOWN;
  if (json === true) return printJson(result);
  await printRendered(output === "" ? "" : `${output.trimEnd()}\n`);
}

/** Prints what names a command that runs in the background, or says why it is not ready. */
export async function sayReady(ready: Ready, { json, until = [] }: ExecOptions, name: string): Promise<void> {
  const { decided_by: by, exit_code, signal, output = "", reason } = ready;
  const runs = ready.state === "running";
  for (const warning of ready.warnings ?? []) complain(warning);
  const holds = until.some((each) => (typeof each === "string" ? each : each.type) === by);
  if (!holds) {
    const ended = codeOf(exit_code ?? null, signal ?? null);
    process.exitCode = by === "timeout" ? TIMED_OUT : runs || ended === 0 ? NOT_READY : ended;
    complain(reason ?? (by === "timeout" ? "timed out before the command was ready" : "the command has ended"));
  }
  if (json === true) return printJson(ready);
  if (!holds && output !== "") process.stderr.write(`${output.trimEnd()}\n`);
  if (holds || runs) await print(`${name}\n`);
}
