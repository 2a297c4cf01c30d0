/** Tools on commands: running them to their end, waiting for conditions, reading output, querying the state. */
import * as v from "valibot";
import { inputSchema, outputSchema } from "../../operations/table.ts";
import { StepResultSchema } from "../../protocol/commands.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { execRules, requireCombinable } from "../../protocol/option-rules.ts";
import { shownExec, shownParallel } from "./shown-exec.ts";
import { drives, reads, SessionField, TargetField, tool } from "./tool.ts";

/** Parameters that are listed after those of every call. */
const lastFields = ["mode", "show", "beside", "keep", "port", "cwd", "env", "stdin"] as const;
const freshInput = inputSchema("exec.fresh");
const { asking_ms: _asking, output_limit, ...execFields } = v.omit(freshInput, lastFields).entries;
/** Time for which a command waits for input before its caller gets the result, in ms: longer than an answer takes. */
const ASKING_MS = 5_000;
/** Default bytes of a command's output, in UTF-8: 1,000 tokens, and less for each of several at once. */
const OUTPUT_BYTES = 4_096;
const PARALLEL_OUTPUT_BYTES = 1_024;
/** Default lines of a failed command among several: errors are at the end. */
const PARALLEL_TAIL = 10;
/** The forms of a condition are described once, in wsh_wait. */
const conditions = { type: "array", items: { anyOf: [{ type: "string" }, { type: "object" }] } } as const;
const { clear_line, create, typed, integrate } = inputSchema("exec").entries;
const { wait_ms: _waitMs, line_numbers: _numbers, ...outputFields } = inputSchema("output.get").entries;

const execOutput = v.object({
  ...outputSchema("exec").entries,
  session: v.optional(v.string()),
  steps: v.optional(v.array(v.partial(StepResultSchema))),
});

export const exec = tool({
  name: "wsh_exec",
  title: "Run a command",
  description:
    "Run shell commands to their end: exit_code (null: unknown, not success), own output. Without session: in a terminal of " +
    "its own, to kill only after background. With session: at that shell's prompt, keeping directory and variables. " +
    "Say at once what to show: grep, head, tail see the whole output; wsh_get_output has what is omitted. " +
    'A server: background: true, until: [{"type":"port","port":3000}] answers when it listens or has ended. ' +
    "state running: it still runs, or waits_for says what it asks (answer with wsh_run_command). Never send it again: " +
    "wsh_wait for command_finished.",
  core: true,
  ...drives,
  parameters: v.object({
    session: v.optional(SessionField),
    ...execFields,
    output_limit,
    create,
    clear_line,
    typed,
    integrate,
    ...v.pick(freshInput, lastFields).entries,
  }),
  schemaOverrides: {
    command: { type: "string", description: "shell text, or steps" },
    steps: {
      type: "array",
      items: { type: "object" },
      description: "{command, name?, grep?, context?, head?, tail?, output?}",
    },
    stop_on_error: { type: "boolean", default: true, description: "skip steps after a failed one" },
    grep: { type: "string", description: "only matching lines (RE2), numbered" },
    context: { type: "integer", description: "lines around a match" },
    until: { ...conditions, description: "with background: conditions as of wsh_wait" },
    max_wait_ms: { type: "integer", default: 30_000, description: "longest wait, up to 300000" },
    background: { type: "boolean", description: "answer at once, or with until" },
    on_timeout: {
      enum: ["leave", "interrupt", "kill"],
      type: "string",
      default: "leave",
      description: "past max_wait_ms",
    },
    output: { enum: ["all", "on_failure", "none"], description: "default all; parallel: on_failure, 10 lines" },
    output_limit: {
      type: "integer",
      description: `bytes of output (default ${OUTPUT_BYTES}; parallel ${PARALLEL_OUTPUT_BYTES})`,
    },
    create: { type: "boolean", description: "make the session, with a shell, if missing" },
    clear_line: { type: "boolean", description: "discard text at the prompt" },
    typed: { enum: ["sh", "fish"], description: "type into a nested shell (ssh, container)" },
    integrate: { enum: ["bash", "zsh", "fish"], description: "integrate the nested shell first" },
    mode: {
      enum: ["sequence", "parallel", "pipeline"],
      default: "sequence",
      description: "no session: 10 steps at once; each reads the one before",
    },
    show: { type: "boolean", description: "parallel: in panes beside the person" },
    beside: { type: "string", description: "show: beside this pane" },
    keep: { enum: ["none", "failed", "all"], description: "show: panes kept at their end" },
    port: { const: "free", description: "new session: a free port, in PORT" },
    cwd: { type: "string", description: "default: yours; with session: a created one" },
    env: { type: "object", description: "variables, as cwd" },
    stdin: { type: "string", description: "no session: its input" },
  },
  output: execOutput,
  reportsProgress: true,
  run: async (
    {
      session,
      clear_line,
      create,
      typed,
      integrate,
      mode,
      show,
      beside,
      keep,
      port,
      cwd,
      env,
      stdin,
      output_limit: asked,
      ...rest
    },
    ask,
  ) => {
    const defaultLimit = mode === "parallel" ? PARALLEL_OUTPUT_BYTES : OUTPUT_BYTES;
    const limit = asked ?? (rest.until === undefined ? defaultLimit : undefined);
    const modes = { parallel: mode === "parallel", pipeline: mode === "pipeline", keep: keep !== "none" };
    requireCombinable(execRules, { session, clear_line, create, typed, integrate, stdin, show, beside, ...modes });
    if (session === undefined) {
      const fields = {
        ...rest,
        output_limit: limit,
        port,
        cwd,
        env,
        stdin,
        mode,
        show,
        beside,
        keep,
        asking_ms: ASKING_MS,
      };
      if (mode !== "parallel") return shownExec(await ask("exec.fresh", fields), cwd);
      const isFiltered = [rest, ...(rest.steps ?? [])].some(({ grep, head, tail }) => grep ?? head ?? tail);
      const end = isFiltered || asked !== undefined ? {} : { tail: PARALLEL_TAIL };
      const result = await ask("exec.fresh", { ...fields, ...end, output: rest.output ?? "on_failure" });
      return shownParallel(result, rest.steps, cwd);
    }
    const atPrompt = { clear_line, create, port, cwd, env, typed, integrate, asking_ms: ASKING_MS };
    return shownExec(await ask("exec", { ...rest, ...atPrompt, output_limit: limit }, session));
  },
});

const { session: _any, ...waitOutput } = outputSchema("wait").entries;

export const wait = tool({
  name: "wsh_wait",
  title: "Wait for a condition",
  description:
    "Wait for the first of any_of: command_finished, prompt, waiting_for_input, password, exited, bell, or " +
    '{"type":"text","text"}, {"type":"regex","pattern"}, {"type":"idle","ms"}, {"type":"port","port"}, ' +
    '{"type":"agent","state"}. ' +
    "text, regex, bell and command_finished count only after since. " +
    "A timeout is ordinary.",
  core: true,
  ...reads,
  parameters: v.object({ session: v.optional(TargetField), ...inputSchema("wait.any").entries }),
  schemaOverrides: {
    any_of: { ...conditions, description: "conditions" },
    command_id: { type: "integer", description: "the command to wait for" },
    since: {
      anyOf: [{ type: "integer" }, { type: "object" }],
      description: "output_cursor, or {session: cursor} (default: now)",
    },
    max_wait_ms: { type: "integer", default: 30_000 },
    sessions: { type: "array", items: { type: "string" }, description: "several" },
    tag: { type: "string", description: "all with a tag; a,b: with either" },
  },
  output: v.object({ session: v.nullable(v.string()), ...waitOutput }),
  reportsProgress: true,
  run: async ({ session, sessions, tag, ...rest }, ask) => {
    if (session === undefined) return ask("wait.any", { ...rest, tag, ...defined({ sessions }) });
    if (sessions === undefined && tag.length === 0) return ask("wait", rest, session);
    throw new WshError("invalid_request", "'session' cannot be used together with 'sessions' or 'tag'", {
      hint: "Name the sessions in one of the three.",
    });
  },
});

export const getOutput = tool({
  name: "wsh_get_output",
  title: "Read output",
  description:
    "Output since an output_cursor, of a command, or the newest lines. " +
    "grep, range, head and tail see all that a command printed; incomplete says what is not kept.",
  core: true,
  ...reads,
  parameters: v.object({ session: TargetField, ...outputFields }),
  schemaOverrides: {
    since: { type: "integer" },
    command_id: { type: "integer" },
    lines: { type: "integer", description: "newest lines (default 100; with grep or command_id: all)" },
    grep: { type: "string" },
    context: { type: "integer" },
    head: { type: "integer" },
    tail: { type: "integer" },
    range: { type: "string", description: "lines of a command: A-B, A-, A" },
    raw: { type: "boolean", description: "of a command: what it wrote, as base64" },
    max_bytes: { type: "integer", default: 32_768, description: "past it head and tail are kept" },
    format: { enum: ["plain", "styled"], type: "string", default: "plain" },
  },
  output: outputSchema("output.get"),
  run: async ({ session, ...rest }, ask) => ask("output.get", rest, session),
});

export const getStatus = tool({
  name: "wsh_get_status",
  title: "Get the state",
  description:
    "State of a session (prompt, running, waiting_for_input, password, fullscreen, exited) and why: foreground program, " +
    "directory, last command, whether a person types. Without session: the server and its limits.",
  core: true,
  ...reads,
  parameters: v.object({ session: v.optional(TargetField) }),
  output: v.looseObject({ state: v.optional(v.string()), output_cursor: v.optional(v.number()) }),
  run: async ({ session }, ask) => (session === undefined ? ask("server.info", {}) : ask("status.get", {}, session)),
});
