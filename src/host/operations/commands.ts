/** Session operations on commands: the domain decides, these put its answers into the form of the wire. */

import { decodeInput } from "../../keys/typed-input.ts";
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import { cutOutput } from "../../pane/text/kept-lines.ts";
import type { ProcessFacts } from "../../platform/foreground.ts";
import { type CommandRecord, type ExecResult, type StepResult, stepsOf } from "../../protocol/commands.ts";
import { condition } from "../../protocol/conditions.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Session } from "../../session/session.ts";
import type { HandlerContext, SessionHandlers } from "./context.ts";
import { commandOutput, output, recordOf } from "./output-page.ts";

/** A person counts as typing for this long after a key, in ms. */
const TYPING_MS = 3_000;
/** How long a program that was interrupted or killed at its deadline has to end, in ms. */
const STOP_MS = 2_000;

export const commandHandlers: Pick<
  SessionHandlers,
  | "run"
  | "exec"
  | "process.wait"
  | "commands.stop"
  | "wait"
  | "output.get"
  | "status.get"
  | "commands.list"
  | "commands.get"
  | "commands.output"
> = {
  run: told(run),
  exec: told(exec),
  "process.wait": told(processWait),
  wait: told(wait),
  "commands.stop": stopCommand,
  "output.get": output,
  "status.get": status,
  "commands.list": (session, { limit }) => {
    const records = session.commands.recorder.list();
    return records.slice(Math.max(0, records.length - limit));
  },
  "commands.get": (session, { id }) => recordOf(session, id),
  "commands.output": (session, input) => commandOutput(session, input.id, input),
};

async function wait(
  session: Session,
  input: ParsedInput<"wait">,
  { signal }: HandlerContext,
): Promise<OperationOutput<"wait">> {
  const { since } = input;
  const outcome = await session.commands.wait({
    anyOf: input.any_of.map(condition),
    commandId: input.command_id,
    since: typeof since === "object" ? (since[session.name] ?? since[session.pane.id]) : since,
    maxWaitMs: input.max_wait_ms,
    signal,
  });
  const { match, groups, lineId, command } = outcome;
  return {
    session: session.name,
    decided_by: outcome.decidedBy,
    state: outcome.state?.state ?? session.program.state(),
    output_cursor: outcome.outputCursor,
    ...(match === undefined ? {} : { match }),
    ...(groups === undefined ? {} : { groups: [...groups] }),
    ...(lineId === undefined ? {} : { line_id: lineId }),
    ...(command === undefined ? {} : { command }),
  };
}

async function run(
  session: Session,
  input: ParsedInput<"run">,
  { signal }: HandlerContext,
): Promise<OperationOutput<"run">> {
  const { terminal } = session.pane;
  const parts = decodeInput(
    { data: input.input, encoding: "utf8", keys: input.keys, submit: input.submit, paste: false },
    terminal.modes,
  );
  const outcome = await session.commands.run({
    input: new Uint8Array(Buffer.concat(parts)),
    timeoutMs: input.timeout_ms,
    maxWaitMs: input.max_wait_ms,
    outputLimit: input.output_limit,
    signal,
  });
  const { command } = outcome;
  const result = await terminal.atRest(() => ({
    screen: terminal.screen(input.format),
    generation: session.activity.generation,
    decided_by: outcome.decidedBy,
    output: outcome.output.text,
    omitted_lines: outcome.output.omittedLines,
    output_cursor: outcome.outputCursor,
    ...(command === null ? {} : endOf(command, session.commands.cwd())),
    ...(outcome.warnings.length === 0 ? {} : { warnings: [...outcome.warnings] }),
  }));
  if (outcome.decidedBy !== "timeout") return result;
  throw new WshError("idle_timeout", `what was typed has not ended within ${input.max_wait_ms} ms`, result);
}

/** The shell's directory now: what a command was started in is known to who started it. */
function endOf(command: CommandRecord, cwd: string | null): Partial<OperationOutput<"run">> {
  const { exit_code, signal, duration_ms, id } = command;
  return { exit_code, signal, duration_ms, cwd: cwd ?? command.cwd, command_id: id };
}

async function exec(session: Session, input: ParsedInput<"exec">, { signal }: HandlerContext): Promise<ExecResult> {
  const { steps, warnings } = await session.commands.exec({
    steps: stepsOf(input),
    stopOnError: input.stop_on_error,
    maxWaitMs: input.max_wait_ms,
    onTimeout: input.on_timeout,
    background: input.background,
    clearLine: input.clear_line,
    outputLimit: input.output_limit,
    signal,
  });
  const noted = warnings.length === 0 ? {} : { warnings: [...warnings] };
  if (input.steps !== undefined) {
    return { session: session.name, output_cursor: session.program.outputCursor, steps: [...steps], ...noted };
  }
  const [only] = steps;
  if (only === undefined) throw new WshError("internal_error", "exec ran no step");
  return { ...only, ...noted, session: session.name };
}

/** The session's own program, from its start to its end: everything that it printed is its output. */
async function processWait(
  session: Session,
  input: ParsedInput<"process.wait">,
  { signal }: HandlerContext,
): Promise<StepResult> {
  const outcome = await session.commands.wait({ anyOf: [{ type: "exited" }], maxWaitMs: input.max_wait_ms, signal });
  const over = session.exit !== null;
  // In the background nobody waits, however soon it ends.
  if (input.max_wait_ms === 0) session.lifetime.keepLonger();
  if (!over && (outcome.decidedBy === "cancelled" || input.on_timeout === "leave")) session.lifetime.keepLonger();
  if (outcome.decidedBy === "cancelled") throw new WshError("cancelled", "the wait was cancelled; the program goes on");
  if (!over && input.on_timeout !== "leave") await stopProgram(session, input.on_timeout);
  const record = session.commands.recorder.last();
  const kept = record === null ? null : session.commands.recorder.output(record.id);
  const cut = cutOutput(kept ?? { head: [], tail: [], omitted: 0 }, input.output_limit);
  const { exit } = session;
  const stopped = input.on_timeout === "interrupt" ? "interrupted" : "killed";
  return {
    state: exit === null ? "running" : over ? "finished" : stopped,
    exit_code: exit?.code ?? null,
    signal: exit?.signal ?? null,
    output: cut.text,
    omitted_lines: cut.omittedLines,
    duration_ms: record?.duration_ms ?? null,
    cwd: session.pane.startCwd,
    command_id: record?.id ?? null,
    output_cursor: session.program.outputCursor,
  };
}

/** Ends the session's own program and waits for that, unless it takes no notice. */
async function stopProgram(session: Session, how: "interrupt" | "kill"): Promise<void> {
  session.pane.signal(how === "interrupt" ? "SIGINT" : "SIGKILL", "foreground");
  const { decidedBy } = await session.commands.wait({ anyOf: [{ type: "exited" }], maxWaitMs: STOP_MS });
  if (decidedBy === "timeout") session.lifetime.keepLonger();
}

async function stopCommand(
  session: Session,
  { id, how }: ParsedInput<"commands.stop">,
): Promise<OperationOutput<"commands.stop">> {
  const record = recordOf(session, id);
  if (record.state === "running") {
    if (session.program.runsOneCommand) await stopProgram(session, how);
    else await session.commands.stop(id, how);
  }
  return recordOf(session, id);
}

/** The answer tells of the program's end, if that has come. */
function told<I, O>(
  handler: (session: Session, input: I, context: HandlerContext) => Promise<O>,
): (session: Session, input: I, context: HandlerContext) => Promise<O> {
  return (session, input, context) => handler(session, input, context).finally(() => session.lifetime.endTold());
}

function status(session: Session): OperationOutput<"status.get"> {
  const { terminal } = session.pane;
  const program = session.commands.state();
  const { modes } = terminal;
  return {
    alive: session.exit === null,
    state: program.state,
    why: program.why,
    decided_from: program.decidedFrom,
    relay: program.relay !== null,
    foreground: foregroundOf(program.foreground),
    cwd: session.commands.cwd() ?? terminal.cwd ?? session.pane.startCwd,
    title: terminal.title,
    idle_ms: session.activity.idleMs(),
    last_command: session.commands.recorder.last(),
    human_typing: session.typedWithin(TYPING_MS),
    modes: {
      alternate_screen: terminal.alternate,
      bracketed_paste: modes.bracketedPaste,
      application_cursor: modes.applicationCursor,
      mouse: modes.mouseTracking !== "none",
    },
    shell_integration: session.program.integration(),
    output_cursor: session.program.outputCursor,
    exit_code: session.exit?.code ?? null,
    signal: session.exit?.signal ?? null,
  };
}

function foregroundOf(facts: ProcessFacts | null): OperationOutput<"status.get">["foreground"] {
  return facts === null ? null : { pid: facts.pid, name: facts.name, command_line: facts.args.join(" ") };
}
