/** Tools on commands: running them to their end, waiting for conditions, reading output, querying the state. */
import * as v from "valibot";
import { inputSchema, outputSchema } from "../../operations/table.ts";
import { StepResultSchema } from "../../protocol/commands.ts";
import { WshError } from "../../protocol/errors.ts";
import { shownExec, shownParallel } from "./shown-exec.ts";
import { SessionField, tool } from "./tool.ts";

const fresh = inputSchema("exec.fresh").entries;
const { mode, cwd, env, stdin, asking_ms: _asking, ...execFields } = fresh;
/** How long a command may wait for input until its caller is told, in ms: longer than another caller takes to answer. */
const ASKING_MS = 5_000;
/** The forms of a condition are said once, in the description of wsh_wait. */
const conditions = { type: "array", items: { anyOf: [{ type: "string" }, { type: "object" }] } } as const;
const onlyWithoutSession = { mode, cwd: v.optional(described(cwd.wrapped)), env, stdin };
const { clear_line, create, typed, integrate } = inputSchema("exec").entries;
const { wait_ms: _waitMs, line_numbers: _numbers, ...outputFields } = inputSchema("output.get").entries;

/** The default directory through `wsh mcp` needs a description. */
function described<S extends v.GenericSchema<string>>(schema: S) {
  return v.pipe(schema, v.description("directory to run in (default: yours)"));
}

const execOutput = v.object({
  ...outputSchema("exec").entries,
  session: v.optional(v.string()),
  steps: v.optional(v.array(v.partial(StepResultSchema))),
});

export const exec = tool({
  name: "wsh_exec",
  title: "Run a command",
  description:
    "Run a shell command and return exit_code, its own output and duration when it ends. grep, head and tail see all of " +
    "that. Without session: in a terminal of its own. With session: at that shell's prompt, keeping its directory and variables. steps runs several; in parallel, output " +
    "defaults to on_failure. " +
    'A server: background: true with until: [{"type":"port","port":3000}] answers when it listens, or has ended. ' +
    "state running means that the wait is over, or that the command asks for something (waits_for: answer with " +
    "wsh_run_command), and it still runs: do not send it again, wsh_wait for command_finished.",
  core: true,
  access: "operate",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  parameters: v.object({
    session: v.optional(SessionField),
    ...execFields,
    clear_line,
    create,
    typed,
    integrate,
    ...onlyWithoutSession,
  }),
  described: {
    until: {
      ...conditions,
      description: "background: answer when the first of these holds (any_of of wsh_wait), or the command ends",
    },
  },
  output: execOutput,
  waits: true,
  run: async (
    {
      session,
      clear_line: clearLine,
      create: makes,
      typed: kind,
      integrate: inside,
      mode: order,
      cwd: directory,
      env: variables,
      stdin: text,
      ...rest
    },
    ask,
  ) => {
    const own = {
      ...(directory === undefined ? {} : { cwd: directory }),
      ...(variables === undefined ? {} : { env: variables }),
      ...(text === undefined ? {} : { stdin: text }),
    };
    const shell = {
      ...(kind === undefined ? {} : { typed: kind }),
      ...(inside === undefined ? {} : { integrate: inside }),
    };
    const atPrompt = Object.entries({ clear_line: clearLine, create: makes, ...shell });
    const [needing] = atPrompt.find(([, given]) => given) ?? [];
    if (session === undefined && needing !== undefined) {
      throw new WshError("invalid_request", `'${needing}' needs the name of a 'session'`);
    }
    if (session === undefined) {
      const fields = { ...rest, ...own, mode: order, asking_ms: ASKING_MS };
      if (order !== "parallel") return shownExec(await ask("exec.fresh", fields));
      return shownParallel(await ask("exec.fresh", { ...fields, output: rest.output ?? "on_failure" }));
    }
    const misplaced = [...Object.keys(own), ...(order === "parallel" ? ["mode"] : [])];
    if (misplaced.length > 0) {
      throw new WshError("invalid_request", `'${misplaced.join("', '")}' cannot be used together with 'session'`, {
        hint: "Leave session out, or say it in the command itself (cd, VAR=value, < file).",
      });
    }
    const inSession = { clear_line: clearLine, create: makes, ...shell };
    return shownExec(await ask("exec", { ...rest, ...inSession, asking_ms: ASKING_MS }, session));
  },
});

const { session: _any, ...waitOutput } = outputSchema("wait").entries;

export const wait = tool({
  name: "wsh_wait",
  title: "Wait for a condition",
  description:
    "Wait for the first of any_of: command_finished, prompt, waiting_for_input, password, exited, bell, or " +
    '{"type":"text","text"}, {"type":"regex","pattern"}, {"type":"idle","ms"}, {"type":"port","port"}, ' +
    '{"type":"agent","state"}. In one session, several, or a tag. ' +
    "text, regex, bell and command_finished count only after since. " +
    "decided_by says which; timeout is an ordinary answer.",
  core: true,
  access: "observe",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  parameters: v.object({ session: v.optional(SessionField), ...inputSchema("wait.any").entries }),
  described: {
    any_of: { ...conditions, description: "what to wait for" },
    since: {
      anyOf: [{ type: "integer" }, { type: "object" }],
      description: "output_cursor, or one per session {name: cursor}: only later output counts (default: now)",
    },
    tag: {
      anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }],
      description: "sessions with this tag, or one of these",
    },
  },
  output: v.object({ session: v.nullable(v.string()), ...waitOutput }),
  waits: true,
  run: async ({ session, sessions, tag, ...rest }, ask) => {
    if (session === undefined)
      return ask("wait.any", { ...rest, tag, ...(sessions === undefined ? {} : { sessions }) });
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
    "Text that was printed: since an output_cursor, of one command (command_id), or the newest lines. " +
    "grep (RE2), range, head and tail see all that a command of wsh_exec printed; incomplete says what is not kept. " +
    "Long text is cut in the middle (omitted_lines).",
  core: true,
  access: "observe",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  parameters: v.object({ session: SessionField, ...outputFields }),
  output: outputSchema("output.get"),
  run: async ({ session, ...rest }, ask) => ask("output.get", rest, session),
});

export const getStatus = tool({
  name: "wsh_get_status",
  title: "What is it doing",
  description:
    "State of a session (prompt, running, waiting_for_input, password, fullscreen, exited) and how it is known, foreground " +
    "program, directory, last command, whether a person is typing. Without session: the server, its limits and uptime.",
  core: true,
  access: "observe",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  parameters: v.object({ session: v.optional(SessionField) }),
  output: v.looseObject({ state: v.optional(v.string()), output_cursor: v.optional(v.number()) }),
  run: async ({ session }, ask) => (session === undefined ? ask("server.info", {}) : ask("status.get", {}, session)),
});
