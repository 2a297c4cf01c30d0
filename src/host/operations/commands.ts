/** Session operations on commands: the domain decides, these put its answers into the form of the wire. */

import { decodeInput } from "../../keys/typed-input.ts";
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import { cutOutput, grepLines, type KeptLines, tailLines } from "../../pane/text/kept-lines.ts";
import type { ProcessFacts } from "../../platform/foreground.ts";
import { type CommandRecord, type ExecResult, type StepResult, stepsOf } from "../../protocol/commands.ts";
import { condition } from "../../protocol/conditions.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Format } from "../../protocol/screen.ts";
import type { Session } from "../../session/session.ts";
import type { TextRange } from "../../terminal/history/transcript.ts";
import type { HandlerContext, SessionHandlers } from "./handlers.ts";

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

async function output(
  session: Session,
  input: ParsedInput<"output.get">,
  { signal }: HandlerContext,
): Promise<OperationOutput<"output.get">> {
  if (input.command_id !== undefined) return commandOutput(session, input.command_id, input);
  const { terminal } = session.pane;
  const matches = matcher(input.grep);
  if (input.since === undefined) {
    return terminal.atRest(() =>
      terminal.alternate
        ? shown(session, alternateRows(session, input.format, input.lines), input, matches)
        : shown(session, newestLines(session, input.format, input.lines), input, matches),
    );
  }
  if (input.since > session.program.outputCursor) throw invalidCursor(input.since, session.program.outputCursor);
  if (input.wait_ms > 0 && input.since === session.program.outputCursor && session.exit === null) {
    await session.program.outputAfter(input.since, input.wait_ms, signal);
  }
  const { since } = input;
  return terminal.atRest(() => shown(session, session.program.textSince(since, input.format), input, matches));
}

function newestLines(session: Session, format: Format, count: number): TextRange {
  const { terminal } = session.pane;
  const from = { line: Math.max(terminal.firstLine, terminal.lastLine + 1 - count), col: 0 };
  return terminal.text(from, undefined, format);
}

/** What is on the alternate screen, down to the last row that is not blank; its rows are no lines and have no ids. */
function alternateRows(session: Session, format: Format, count: number): Rows {
  const { lines } = session.pane.terminal.screen(format);
  const end = lines.findLastIndex((line) => line.length > 0) + 1;
  return { lines: lines.slice(Math.max(0, end - count), end).map((line) => ({ id: null, line })), dropped: 0 };
}

function commandOutput(
  session: Session,
  id: number,
  input: { format: "plain" | "styled"; grep?: string | undefined; max_bytes: number; tail?: number | undefined },
): OperationOutput<"output.get"> {
  const record = recordOf(session, id);
  const matches = matcher(input.grep);
  const base = {
    output_cursor: session.program.outputCursor,
    exit_code: record.exit_code,
    first_line_id: record.first_line_id,
  };
  if (input.format === "styled") {
    const { terminal } = session.pane;
    const to = record.last_line_id === null ? undefined : { line: record.last_line_id + 1, col: 0 };
    const range = terminal.text({ line: record.first_line_id, col: 0 }, to, "styled");
    return { ...shown(session, range, input, matches), ...base };
  }
  const kept = session.commands.recorder.output(id);
  if (kept === null) throw unknownCommand(session, id);
  const filtered = matches === null ? kept : grepLines(kept, matches);
  const lines: KeptLines = input.tail === undefined ? filtered : tailLines(filtered, input.tail);
  const cut = cutOutput(lines, input.max_bytes);
  const all = [...lines.head, ...lines.tail].reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
  return {
    text: cut.text,
    omitted_bytes: cut.omittedLines === 0 ? 0 : Math.max(0, all - Buffer.byteLength(cut.text)),
    omitted_lines: cut.omittedLines,
    ...base,
  };
}

/** Lines, or rows that are none. */
interface Rows {
  readonly lines: readonly { readonly id: number | null; readonly line: TextRange["lines"][number]["line"] }[];
  readonly dropped: number;
}

/** Lines as a reader gets them: filtered, and cut to head and tail when they are too much. */
function shown(
  session: Session,
  range: Rows,
  input: { format: "plain" | "styled"; max_bytes: number; tail?: number | undefined },
  matches: ((line: string) => boolean) | null,
): OperationOutput<"output.get"> {
  const text = (line: TextRange["lines"][number]["line"]): string =>
    typeof line === "string" ? line : line.map((span) => span.text).join("");
  const matching = matches === null ? range.lines : range.lines.filter(({ line }) => matches(text(line)));
  const lines = input.tail === undefined ? matching : matching.slice(-input.tail);
  const base = {
    output_cursor: session.program.outputCursor,
    first_line_id: lines[0]?.id ?? null,
    exit_code: session.exit?.code ?? null,
    ...(session.pane.terminal.alternate ? { alternate_screen: true } : {}),
  };
  const whole = lines.map(({ line }) => text(line));
  const bytes = whole.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
  if (input.format === "styled") {
    const size = (line: unknown): number => JSON.stringify(line).length;
    let left = input.max_bytes;
    const from = lines.findLastIndex(({ line }) => {
      left -= size(line);
      return left < 0;
    });
    const kept = lines.slice(from + 1);
    return {
      lines: kept.map(({ line }) => line),
      omitted_bytes: whole.slice(0, from + 1).reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0),
      omitted_lines: from + 1 + range.dropped,
      ...base,
    };
  }
  const cut = cutOutput({ head: whole, tail: [], omitted: 0 }, input.max_bytes);
  return {
    text: cut.text,
    omitted_bytes: cut.omittedLines === 0 ? 0 : Math.max(0, bytes - Buffer.byteLength(cut.text)),
    omitted_lines: cut.omittedLines + range.dropped,
    ...base,
  };
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

function recordOf(session: Session, id: number): CommandRecord {
  const record = session.commands.recorder.get(id);
  if (record === null) throw unknownCommand(session, id);
  return record;
}

function unknownCommand(session: Session, id: number): WshError {
  return new WshError("command_not_found", `session '${session.name}' keeps no command ${id}`);
}

function invalidCursor(since: number, now: number): WshError {
  return new WshError("invalid_cursor", `output cursor ${since} is ahead of the output (${now})`);
}

function matcher(grep: string | undefined): ((line: string) => boolean) | null {
  return grep === undefined ? null : (line) => line.includes(grep);
}
