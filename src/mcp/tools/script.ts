/** The tool that runs a program on terminals. */
import * as v from "valibot";
import { present } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { integerBetween, optional } from "../../protocol/fields.ts";
import { DEFAULT_WAIT_MS, WaitMsSchema } from "../../protocol/wait-times.ts";
import type { ProgramRun } from "../script/program-run.ts";
import { type RunCaller, Runs } from "../script/runs.ts";
import { drives, parseParameters, TargetField, tool } from "./tool.ts";

/** Bytes of a program's output in one answer. */
const OUTPUT_BYTES = 4_096;
const MAX_OUTPUT_BYTES = 262_144;
/** Longest program, in characters. */
const MAX_CODE = 262_144;

const Parameters = v.object({
  code: optional(v.pipe(v.string(), v.maxLength(MAX_CODE)), "the program"),
  session: optional(TargetField, "`t` is its terminal"),
  resume: optional(v.string(), "a script_id to wait on"),
  stop: optional(v.boolean(), "resume: end it"),
  max_wait_ms: v.optional(WaitMsSchema, DEFAULT_WAIT_MS),
  output_limit: v.optional(integerBetween(0, MAX_OUTPUT_BYTES), OUTPUT_BYTES),
});

export const script = tool({
  name: "wsh_script",
  title: "Run a program on terminals",
  description:
    "Many steps in one call: a TypeScript program with terminals only, for dialogs and menus. " +
    'const t = await wsh.open("dev",{create:true,cwd}); wsh.open(): its own. ' +
    "await t.exec(cmd,{grep,timeout}) → {exit_code, output}; t.run(cmd) only starts, t.ended() its exit_code; t.type(text) (\\n is Enter), " +
    't.press("Down","Ctrl+C"), t.paste, t.click(text), t.resize({cols,rows}); t.expect(/re/ or text) what comes → [match, groups]; ' +
    't.waitFor("prompt"|"input"|"password"|"fullscreen"|"exit"|shown text|/re/|{idle,port,screen:(s)=>bool}) → screen; ' +
    "t.screen() → text, rows, cursor, find(text), selected; t.output({since}), t.commands(). Waits end after 15 s ({timeout}); {orEnd:true}: null once the command ends. Never sleep. " +
    "print(result or screen), return: the answer; failures say line, reason, screen. E.g. " +
    'await t.run("git add -p"); while (await t.expect(/Stage this hunk/,{orEnd:true})) await t.type("y\\n"); return (await t.exec("git diff --cached --stat")).output; ' +
    'Or: await t.run("whiptail --menu M 15 40 2 a A b B"); await t.waitFor("Cancel"); while (!(await t.screen()).selected?.text.includes("b")) await t.press("Down"); await t.press("Enter"). ' +
    "Past max_wait_ms: script_id, for resume. Guide: wsh:script.",
  core: true,
  ...drives,
  parameters: Parameters,
  schemaOverrides: {
    max_wait_ms: { type: "integer", default: DEFAULT_WAIT_MS },
    output_limit: {
      type: "integer",
      default: OUTPUT_BYTES,
      description: "bytes of all that is printed",
    },
  },
  output: v.looseObject({ state: v.string() }),
  reportsProgress: true,
  // callScript calls it, since its calls continue after this one.
  run: () => Promise.reject(new WshError("internal_error", "wsh_script is called by its caller's server")),
});

const runs = new Runs();

export interface ScriptCaller extends RunCaller {
  /** The call was cancelled: its program stops. */
  readonly signal: AbortSignal;
}

/** @throws WshError invalid_request, command_not_found, resource_limit_reached */
export async function callScript(given: Readonly<Record<string, unknown>>, caller: ScriptCaller): Promise<object> {
  const { code, session, resume, stop, max_wait_ms, output_limit } = parseParameters(Parameters, given);
  if ((code === undefined) === (resume === undefined)) {
    throw new WshError("invalid_request", "give either 'code' or 'resume'");
  }
  const { id, run } =
    resume === undefined
      ? runs.start(caller, { code: code ?? "", session })
      : { id: resume, run: runs.find(caller.owner, resume) };
  if (stop === true) run.stop();
  await waitForRun(run, max_wait_ms, caller.signal);
  if (caller.signal.aborted) runs.forget(id);
  const answer = describeRun(id, run, output_limit);
  if (run.ended !== null) runs.forget(id);
  return answer;
}

/** Stops the programs of a caller whose connection or session has ended. */
export function endScripts(callerId: string): void {
  runs.endAll(callerId);
}

/** Resolves when the program has ended, the time has passed, or the call was cancelled. */
async function waitForRun(run: ProgramRun, ms: number, signal: AbortSignal): Promise<void> {
  const stopWaiting = Promise.withResolvers<void>();
  const timer = setTimeout(stopWaiting.resolve, ms);
  const aborted = (): void => stopWaiting.resolve();
  signal.addEventListener("abort", aborted, { once: true });
  if (signal.aborted) stopWaiting.resolve();
  await Promise.race([run.finished, stopWaiting.promise]);
  clearTimeout(timer);
  signal.removeEventListener("abort", aborted);
}

function describeRun(id: string, run: ProgramRun, limit: number): object {
  const { ended, currentStep } = run;
  const { text, dropped } = run.takeOutput();
  const output = shorten(text, limit);
  const shown = {
    ...(text === "" ? {} : { output: output.text }),
    ...(output.omitted + dropped > 0 ? { omitted_bytes: output.omitted + dropped } : {}),
  };
  if (ended === null) return { state: "running", script_id: id, ...present({ at: currentStep }), ...shown };
  if (ended.state === "failed") {
    const { line, error } = ended;
    const reason = shorten(error, Math.max(limit, OUTPUT_BYTES)).text;
    return { state: "failed", ...present({ line }), error: reason, ...shown };
  }
  if (ended.state === "stopped" || ended.value === undefined || ended.value === null)
    return { state: ended.state, ...shown };
  const value = shorten(JSON.stringify(ended.value), limit);
  return { state: ended.state, value: value.omitted === 0 ? ended.value : value.text, ...shown };
}

/** Head and tail of a text that exceeds the limit, in bytes of UTF-8. */
function shorten(text: string, limit: number): { readonly text: string; readonly omitted: number } {
  const bytes = Buffer.from(text);
  if (bytes.length <= limit) return { text, omitted: 0 };
  const half = Math.floor(limit / 2);
  const [head, tail] = [bytes.subarray(0, half), bytes.subarray(bytes.length - half)];
  const omitted = bytes.length - 2 * half;
  const clean = (part: Buffer): string => part.toString("utf8").replaceAll("\uFFFD", "");
  return {
    text: `${clean(head)}\n[… ${omitted} bytes omitted: print less, or raise output_limit …]\n${clean(tail)}`,
    omitted,
  };
}
