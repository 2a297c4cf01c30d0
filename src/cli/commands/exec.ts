/**
 * `wsh exec`: prints a command's output as it comes, and returns its exit code. In a session the command runs at the
 * shell's prompt; otherwise it gets its own session, which stays readable for a while.
 */
import { type Command, Option } from "commander";
import { exitCode } from "../../attach/outcome.ts";
import type { Instance } from "../../instance/paths.ts";
import type { SessionSpec } from "../../launch/session-spec.ts";
import type { OperationOutput } from "../../operations/table.ts";
import { ownDirectory } from "../../platform/directory.ts";
import { MAX_OUTPUT_LIMIT, NO_PAGERS } from "../../protocol/commands.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { parsePlace } from "../../protocol/names.ts";
import { execRules } from "../../protocol/option-rules.ts";
import type { SessionInfo } from "../../protocol/session.ts";
import { skippedStep } from "../../protocol/steps.ts";
import { MAX_WAIT_MS } from "../../protocol/wait-times.ts";
import { shellText } from "../../shell/quoting.ts";
import { collect, freePort, requireOptions, seconds, UsageError, variables, wholeNumber } from "../arguments.ts";
import { collectCondition } from "../conditions.ts";
import { instanceOf } from "../instance.ts";
import { complain, print, printJson, printRendered, whenReaderGoes } from "../print.ts";
import { cliCaller, SessionClient } from "../session/client.ts";
import {
  endedAfterLoss,
  printReady,
  printTyped,
  reportUnknown,
  resultOf,
  type StartedExec,
  TIMED_OUT,
  UNKNOWN,
  untilFinished,
} from "../session/exec-end.ts";
import type { ExecOptions, PipelineStep } from "../session/exec-options.ts";
import { abortAfter, endWithProcess, onInterrupt } from "../session/exec-signals.ts";
import { ExecStream } from "../session/exec-stream.ts";
import { checkFilter, incompleteText } from "../session/filtered-output.ts";
import { openOrCreate } from "../session/open-or-create.ts";
import { startSession } from "../session/start.ts";
import { paneAround } from "../session/surrounding-session.ts";
import { splitAtDashes } from "../shell-words.ts";

/** Exit code after a second Ctrl+C has ended the wait. */
const INTERRUPTED = 130;

/** Longest title that a command gives its pane, in characters. */
const TITLE_LENGTH = 60;

export function register(program: Command): void {
  program
    .command("exec [words...]")
    .usage("[options] [NAME] -- COMMAND…")
    .description(
      "Run a command at a session's prompt, print its output, and exit with its code " +
        `(128+n by signal n, ${TIMED_OUT} timeout, ${UNKNOWN} unknown). Without NAME: in a new session.\n` +
        "One word after -- is shell text; several are arguments. Ctrl+C interrupts it.",
    )
    .option("--timeout <seconds>", "stop waiting after this (default: never)", seconds)
    .addOption(
      new Option("--on-timeout <what>", "action on timeout").choices(["leave", "interrupt", "kill"]).default("leave"),
    )
    .option("--background", "do not wait: print the id, or the session's name")
    .option("--until <condition>", "in the background until port=3000, text=ready, …", collectCondition)
    .option("--create", "with NAME: create the session if it does not exist")
    .addOption(
      new Option("--typed <syntax>", "with NAME: type into a nested shell, ssh, a container; print at the end").choices(
        ["sh", "fish"],
      ),
    )
    .addOption(
      new Option("--integrate <shell>", "with NAME: make a nested shell's commands exact").choices([
        "bash",
        "zsh",
        "fish",
      ]),
    )
    .option("--clear-line", "with NAME: discard the text at the prompt")
    .option("--resume <id>", "with NAME: resume waiting for a command or request")
    .option("--cwd <dir>", "without NAME or with --create: start directory")
    .option("--env <name=value>", "likewise: a variable (repeatable)", collect)
    .option("--port <free>", "likewise: a free TCP port of its own, in PORT", freePort)
    .option("-i, --stdin", "without NAME: pass standard input to the command")
    .option("--pipeline", "each word is a command, reading the one before")
    .option("--show", "run in a pane beside NAME's, or beside this one")
    .option("--keep <which>", "with --show: panes to keep: none, failed, all", keptPanes)
    .option("--grep <pattern>", "print only matching lines (RE2) with their numbers")
    .option("-C, --context <n>", "with --grep: lines before and after each match", wholeNumber(0))
    .option("--head <n>", "print only the first N lines, or matches", wholeNumber(1))
    .option("--tail <n>", "print only the last N lines, or matches", wholeNumber(1))
    .addOption(new Option("--output <when>", "when to print the output").choices(["all", "on_failure", "none"]))
    .option("--json", "print only the result, as JSON")
    .action(async (words: string[], given: ExecOptions, command: Command) => {
      const options = { ...given, isFiltered: await checkFilter(given) };
      const instance = instanceOf(command);
      if (options.pipeline === true) return execPipeline(instance, words, options);
      if (options.resume !== undefined && /^\d+$/.test(options.resume)) return execResumed(instance, words, options);
      const { name, text } = wordsOf(words);
      if (options.resume !== undefined) {
        if (parsePlace(name ?? "").machine === null) {
          throw new UsageError("--resume takes the id of a command, or of a request to a session of another machine");
        }
        (await import("../session/remote-request.ts")).resumeRequest(options.resume);
      }
      requireExec(options, options.show === true ? null : name);
      if (options.show === true) return execShown(instance, name, text, options);
      if (name === null) return execFresh(instance, text, options);
      if (options.create !== true && (options.cwd ?? options.env ?? options.port) !== undefined) {
        throw new UsageError("with NAME, --cwd, --env and --port need --create");
      }
      const { session: open, creation } =
        options.create === true
          ? await openOrCreate(instance, name, options)
          : { session: await SessionClient.open(instance, name), creation: {} };
      using session = open;
      const startedExec: { -readonly [K in keyof StartedExec]: StartedExec[K] } = { name, id: null, command: text };
      const started = (id: number): void => {
        startedExec.id = id;
      };
      await execAtPrompt(instance, session, text, { ...options, place: creation }, started).catch((thrown) =>
        unknownEnd(startedExec, options, thrown),
      );
    });
}

/** Follows a command that was started before, from its first line on. */
async function execResumed(instance: Instance, words: readonly string[], options: ExecOptions): Promise<void> {
  const [name, ...rest] = words;
  if (name === undefined || rest.length > 0)
    throw new UsageError("--resume with a command's id takes NAME and no command");
  const id = Number(options.resume);
  using session = await SessionClient.open(instance, name);
  try {
    using stream = wantsOutput(options) ? await ExecStream.open(instance, session, print) : null;
    await watchCommand(instance, session, stream, id, options);
  } catch (thrown) {
    await unknownEnd({ name, id, command: "" }, options, thrown);
  }
}

async function unknownEnd(startedExec: StartedExec, options: ExecOptions, thrown: unknown): Promise<void> {
  await reportUnknown(startedExec, options, thrown);
  process.exitCode = UNKNOWN;
}

/** @throws UsageError */
function requireExec(options: ExecOptions, session: string | null): void {
  const names = { session: "the NAME of a session" };
  requireOptions(execRules, { ...options, clear_line: options.clearLine, session }, names);
}

/** @throws UsageError */
function keptPanes(text: string): ExecOptions["keep"] {
  if (text === "none" || text === "failed" || text === "all") return text;
  throw new UsageError(`invalid value '${text}' for --keep`, "Use none, failed or all.");
}

/** @throws UsageError */
function wordsOf(words: readonly string[]): { name: string | null; text: string } {
  const { before, after } = splitAtDashes(words, process.argv);
  const [name, ...rest] = before;
  if (after !== null && rest.length > 0) throw new UsageError(`unexpected argument '${rest[0]}'`);
  const command = after ?? rest;
  if (command.length > 0) return { name: name ?? null, text: shellText(command) };
  throw new UsageError("the command is missing", "Write the command after --, as in: wsh exec dev -- make.");
}

async function execAtPrompt(
  instance: Instance,
  session: SessionClient,
  command: string,
  options: ExecOptions,
  isStarted: (id: number) => void,
): Promise<void> {
  const { until, typed, integrate } = options;
  const { grep, context, head, tail } = options;
  const filter = { grep, context, head, tail, output: options.output };
  const clear = {
    ...options.place,
    ...(options.clearLine === true ? { clear_line: true } : {}),
    ...defined({ integrate }),
  };
  if (typed !== undefined) {
    const wait = { max_wait_ms: options.timeout ?? MAX_WAIT_MS, on_timeout: options.onTimeout };
    const limit = { output_limit: MAX_OUTPUT_LIMIT };
    return printTyped(await session.call("exec", { command, typed, ...wait, ...limit, ...clear, ...filter }), options);
  }
  if (until !== undefined) {
    const wait = { max_wait_ms: options.timeout ?? MAX_WAIT_MS, on_timeout: options.onTimeout, until: [...until] };
    const ready = await session.call("exec", { command, background: true, ...wait, ...clear, ...filter });
    return printReady(ready, options, `${ready.command_id ?? ""}`);
  }
  // Opened before the command starts, so that its first line is not missed.
  using stream = wantsOutput(options) ? await ExecStream.open(instance, session, print) : null;
  const started = await session.call("exec", {
    command,
    background: true,
    ...clear,
  });
  if (options.json !== true) for (const warning of started.warnings ?? []) complain(warning);
  const { command_id: id } = started;
  if (typeof id === "number") isStarted(id);
  if (typeof id === "number" && options.background === true) {
    return options.json === true ? printJson(started) : print(`${id}\n`);
  }
  if (typeof id === "number") {
    // Other people may see the session: its command is not killed.
    using _gone = whenReaderGoes(async () => {
      if ((await session.call("commands.get", { id })).state === "running") reportStillRunning(session);
    });
    return await watchCommand(instance, session, stream, id, options, started.warnings);
  }
  // The shell rejected the text (a syntax error) and has printed the reason.
  process.exitCode = exitCode(started.exit_code ?? null, started.signal ?? null);
  if (options.json === true) return printJson(started);
  const { output = "" } = started;
  await printRendered(output === "" ? "" : `${output.trimEnd()}\n`);
}

function wantsOutput({ json, background, isFiltered }: ExecOptions): boolean {
  return json !== true && background !== true && isFiltered !== true;
}

/**
 * Runs the only command as the program of a new session. `wsh -c` into a pipe uses this too.
 *
 * @param start the session's options besides the command
 */
export async function execFresh(
  instance: Instance,
  command: string,
  options: ExecOptions,
  { tags = [], ...start }: Partial<SessionSpec["create"]> = {},
): Promise<void> {
  const started = startSession(
    instance,
    {
      name_prefix: "exec-",
      cwd: options.cwd ?? null,
      env: { ...NO_PAGERS, ...variables(options.env ?? []) },
      rows: 24,
      cols: 80,
      ...defined({ port: options.port }),
      // Processes left by an agent's command end with the agent.
      ...(cliCaller.agent === undefined ? {} : { owner_bound: true }),
      ...(options.stdin === true ? { stdin: await Bun.stdin.text() } : {}),
      ...start,
      command,
      tags: ["exec", ...tags],
    },
    "number",
    { isFollowed: wantsOutput(options), stdinPath: options.stdinPath, stdoutPath: options.stdoutPath },
  );
  using _ended = endWithProcess(instance, options, async () => (await started).info.id);
  const { info } = await started;
  // From now on the session's end is the command's end, whatever caused it.
  const ending = { endSubject: `session '${info.name}'` };
  return await followFresh(instance, info, options).catch((thrown) => reportEnd(ending, thrown));
}

/**
 * Runs the steps one after another. Each step reads the standard output of the previous one; a failing step
 * ends the pipeline.
 */
async function execPipeline(instance: Instance, words: readonly string[], options: ExecOptions): Promise<void> {
  const { before, after } = splitAtDashes(words, process.argv);
  const steps = after ?? before;
  if (steps.length < 2) throw new UsageError("--pipeline needs at least two commands, each as one word");
  if (after !== null && before.length > 0) throw new UsageError("--pipeline cannot be used with NAME");
  requireExec(options, null);
  const { inPipeline } = await import("../../launch/pipeline.ts");
  const results = await inPipeline<string, PipelineStep>(instance, steps, {
    run: async (step, index, { stdin_path: stdinPath, stdout_path: stdoutPath } = {}) => {
      const stdin = index === 0 && options.stdin === true;
      // A step's output is the next step's input; it is printed only if the step fails.
      const isPassedOn = index < steps.length - 1;
      const shown = isPassedOn && options.json !== true ? ({ isFiltered: true, output: "on_failure" } as const) : {};
      // Without a report the step's session was ended, and its result is unknown.
      let result: PipelineStep = { ...skippedStep({}, 0), state: "lost" };
      const report = (reported: PipelineStep): void => {
        result = reported;
      };
      await execFresh(instance, step, { ...options, ...shown, stdin, stdinPath, stdoutPath, report });
      if (process.exitCode && isPassedOn) complain(`'${step}' failed; the following steps were not run`);
      return result;
    },
    skipped: (_, { output_cursor }) => skippedStep({}, output_cursor),
    stops: () => Boolean(process.exitCode),
    cut: complain,
  });
  if (options.json === true) await printJson({ steps: results });
}

/** Runs the command in a pane beside another one, which keeps the focus. */
async function execShown(
  instance: Instance,
  name: string | null,
  command: string,
  options: ExecOptions,
): Promise<void> {
  const beside = name ?? paneAround(process.env)?.pane;
  if (beside === undefined) throw new UsageError("not inside a session: name the session to run beside");
  const { keep = "none", cwd, env } = options;
  // The pane in view, not the session's oldest one.
  using session = await SessionClient.open(instance, /[:@]/.test(beside) ? beside : `${beside}:`);
  const started = session.call("pane.split", {
    command,
    direction: "right",
    title: command.replace(/\s+/g, " ").trim().slice(0, TITLE_LENGTH),
    // The pane stays until its result has been read, however quick the command is.
    keep_after_exit: true,
    cwd: cwd ?? ownDirectory(),
    ...(env === undefined ? {} : { env: variables(env) }),
  });
  using _ended = endWithProcess(instance, options, async () => (await started).pane, "pane.close");
  const { pane } = await started;
  await followFresh(instance, { id: pane, name: pane }, options, "pane.close").catch((thrown) =>
    reportEnd({ endSubject: `pane '${pane}'` }, thrown),
  );
  if (keep === "all" || (keep === "failed" && process.exitCode !== 0)) return;
  using client = await SessionClient.open(instance, pane);
  await client.call("pane.update", { keep_after_exit: false }).catch(() => {});
}

async function followFresh(
  instance: Instance,
  info: Pick<SessionInfo, "id" | "name">,
  options: ExecOptions,
  ending: "session.kill" | "pane.close" = "session.kill",
): Promise<void> {
  using session = await SessionClient.open(instance, info.id);
  const end = (): Promise<unknown> => session.call(ending, {});
  const [record] = await session.call("commands.list", {});
  if (record === undefined) throw new WshError("internal_error", `session '${info.name}' has no record of its command`);
  const { until, grep, context, head, tail, output } = options;
  if (until !== undefined) {
    const wait = { max_wait_ms: options.timeout ?? MAX_WAIT_MS, on_timeout: options.onTimeout, until: [...until] };
    const ready = await session.call("process.wait", { ...wait, grep, context, head, tail, output });
    return printReady({ ...ready, session: info.name }, options, info.name);
  }
  if (options.background === true) {
    const outcome = await session.call("process.wait", { max_wait_ms: 0 });
    return options.json === true ? printJson({ ...outcome, session: info.name }) : print(`${info.name}\n`);
  }
  using stream = wantsOutput(options) ? await ExecStream.open(instance, session, print) : null;
  // As in a pipe, a program whose reader is gone is ended.
  using _gone = whenReaderGoes(end);
  await watchCommand(instance, session, stream, record.id, options);
}

async function watchCommand(
  instance: Instance,
  session: SessionClient,
  stream: ExecStream | null,
  id: number,
  options: ExecOptions,
  printedWarnings: readonly string[] = [],
): Promise<void> {
  const { json = false, timeout = null, onTimeout } = options;
  const aborted = new AbortController();
  using _timer = timeout === null ? null : abortAfter(aborted, timeout);
  let wasLeft = false;
  using _keys = onInterrupt(
    () => void session.call("commands.stop", { id, how: "interrupt" }).catch(() => {}),
    () => {
      wasLeft = true;
      aborted.abort();
    },
  );
  const end = stream === null ? untilFinished(session, id, aborted.signal) : stream.follow(id, aborted.signal);
  const lastRecord = await end
    .catch((thrown) =>
      endedAfterLoss(session, thrown, aborted.signal, () =>
        stream === null ? untilFinished(session, id, aborted.signal) : stream.followAgain(instance, id, aborted.signal),
      ),
    )
    .catch((thrown) => reportEnd(session, thrown));
  if (lastRecord === undefined) return;
  if (stream !== null && stream.omittedLines > 0) {
    complain(`${stream.omittedLines} lines are missing: the output was faster than its reader`);
  }
  const isTimedOut = lastRecord.state === "running";
  // The output is no longer read, so nothing may wait for this process.
  if (isTimedOut) stream?.[Symbol.dispose]();
  const stop = isTimedOut && !wasLeft && onTimeout !== "leave";
  const record: OperationOutput<"commands.stop"> = stop
    ? await session.call("commands.stop", { id, how: onTimeout })
    : lastRecord;
  const running = record.state === "running";
  if (running && session.info?.tags.includes("exec") === true) await session.call("process.wait", { max_wait_ms: 0 });
  if (running) reportStillRunning(session);
  const result = await resultOf(session, record, record.stopped, options);
  const isCut = running || record.stopped !== undefined;
  process.exitCode = wasLeft ? INTERRUPTED : isCut ? TIMED_OUT : codeOfResult(result);
  options.report?.(result);
  if (json) return options.report === undefined ? await printJson(result) : undefined;
  for (const warning of result.warnings ?? []) if (!printedWarnings.includes(warning)) complain(warning);
  if (options.isFiltered !== true) return;
  if (result.incomplete === true) complain(incompleteText(result));
  if (result.output !== "") await printRendered(`${result.output}\n`);
}

function reportStillRunning({ name }: SessionClient): void {
  complain(`the command is still running in session '${name}'`);
}

/** Handles the end of a session or pane during its command, whose result is then unknown. Rethrows anything else. */
function reportEnd({ endSubject }: Pick<SessionClient, "endSubject">, thrown: unknown): undefined {
  const error = WshError.from(thrown);
  if (!["session_unavailable", "session_crashed", "session_not_found"].includes(error.code)) throw thrown;
  const namesEnd = error.message.includes(endSubject);
  complain(
    namesEnd ? `the command's result is unknown: ${error.message}` : `${endSubject} was killed: ${error.message}`,
  );
  process.exitCode = UNKNOWN;
}

function codeOfResult({ state, exit_code, signal }: PipelineStep): number {
  return state === "lost" || state === "replaced" ? UNKNOWN : exitCode(exit_code, signal);
}
