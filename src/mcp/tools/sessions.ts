/** Tools on whole sessions: creating, listing, ending and changing them. */
import * as v from "valibot";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { described, optional } from "../../protocol/fields.ts";
import { CreateSessionSchema } from "../../protocol/session.ts";
import { sideFrom } from "../../protocol/size.ts";
import { listedSession, shownSession } from "./shown-session.ts";
import { type Ask, done, reads, requireField, TargetField, tool } from "./tool.ts";

const {
  server: _server,
  name_prefix: _prefix,
  stdin: _stdin,
  private: _private,
  port: _port,
  idle_limit: _idleLimit,
  owner_bound: _ownerBound,
  opened: _opened,
  ...createFields
} = CreateSessionSchema.entries;
const CreateParameters = v.object(createFields);

const createSessionTool = {
  name: "wsh_create_session",
  title: "Create a session",
  description:
    "Start a shell, or command, in a new terminal that outlives the call: for state that carries over, servers, programs " +
    "with a screen.",
  core: true,
  access: "operate",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  parameters: CreateParameters,
  schemaOverrides: {
    name: { type: "string", description: "default: the next free number" },
    command: { type: "string", description: "instead of a shell" },
    rows: { type: "integer", default: 24 },
    cols: { type: "integer", default: 80, description: "width" },
    cwd: { type: "string" },
    shell: { type: "string", description: "default: $SHELL" },
    tags: { type: "array", items: { type: "string" }, description: "labels" },
    env: { type: "object" },
    worktree: { type: "string", description: "branch, in a git worktree" },
    place: { type: "object", description: 'on any machine with these tags: {"tags": ["gpu"]}' },
    if_exists: { enum: ["error", "attach"], type: "string", default: "error", description: "attach: return that one" },
  },
  output: v.object({
    session: v.string(),
    id: v.string(),
    name: v.string(),
    pid: v.nullable(v.number()),
    rows: v.number(),
    cols: v.number(),
    tags: v.array(v.string()),
    output_cursor: v.number(),
    warnings: v.optional(v.array(v.string())),
  }),
  run: async (parameters, ask) => {
    const { id, name, pid, rows, cols, tags, output_cursor, warnings } = await ask("sessions.create", parameters);
    return { session: name, id, name, pid, rows, cols, tags, output_cursor, ...defined({ warnings }) };
  },
} as const satisfies Parameters<typeof tool<typeof CreateParameters>>[0];

/** `place` is listed only when there are other machines. */
export const createSession = tool({ ...createSessionTool, unlisted: ["place"] });
export const createSessionAnywhere = tool(createSessionTool);

export const listSessions = tool({
  name: "wsh_list_sessions",
  title: "List sessions",
  description:
    "The sessions that run, with state, command, directory, tags, idle time, attached people; with session all of that one.",
  core: true,
  ...reads,
  parameters: v.object({
    session: v.optional(TargetField),
    tag: v.optional(v.union([v.string(), v.array(v.string())])),
    all: optional(v.boolean(), "also ended ones that are still readable", false),
  }),
  schemaOverrides: { tag: { type: "string" } },
  output: v.union([v.array(v.looseObject({})), v.looseObject({})]),
  run: async ({ session, tag, all }, ask) =>
    session === undefined
      ? (await ask("sessions.list", { tag: tag ?? [], all, server: "local" })).map(listedSession)
      : shownSession(await ask("session.get", {}, session)),
});

const actions = {
  kill: async (session: string, ask: Ask) => {
    // An ended session is not killed, and its end remains unchanged.
    const { state, exit_code, signal } = await ask("session.get", {}, session);
    const { ended } = await ask("session.kill", {}, session);
    if (state === "exited") return { status: "had_ended", session, exit_code, signal };
    return { status: "killed", session, ended };
  },
  detach: async (session: string, ask: Ask) => {
    const { detached } = await ask("session.detach", {}, session);
    return { status: "detached", session, detached };
  },
  restart: async (session: string, ask: Ask) => {
    const { pid, state } = await ask("session.restart", {}, session);
    return { status: "restarted", session, pid, state };
  },
  reset: async (session: string, ask: Ask) => {
    return { status: "reset", session, ...(await ask("session.reset", {}, session)) };
  },
  clear: async (session: string, ask: Ask) => {
    const { output_cursor } = await ask("session.clear", {}, session);
    return { status: "cleared", session, output_cursor };
  },
};

export const manageSession = tool({
  name: "wsh_manage_session",
  title: "Manage a session",
  description:
    "kill (its programs too), rename (new_name), add_tags, remove_tags (tags), resize (rows, cols), signal (to the " +
    "foreground program), restart, clear (screen and history), reset (modes), detach (people), buffer (copied texts: " +
    "lists, reads buffer, stores text).",
  core: true,
  access: "operate",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  parameters: v.object({
    session: v.union([TargetField, v.array(TargetField)]),
    action: described(
      v.picklist([
        "kill",
        "rename",
        "detach",
        "add_tags",
        "remove_tags",
        "resize",
        "signal",
        "restart",
        "clear",
        "reset",
        "buffer",
      ]),
      "what to do",
    ),
    new_name: optional(v.string(), "for rename"),
    buffer: optional(v.string(), "its name"),
    text: optional(v.string(), "to store"),
    tags: v.optional(v.array(v.string())),
    rows: v.optional(sideFrom(1)),
    cols: v.optional(sideFrom(2)),
    force: optional(v.boolean(), "resize while people are attached", false),
    signal: optional(v.string(), "INT, TERM, HUP, KILL …"),
  }),
  schemaOverrides: {
    session: { type: ["string", "array"], items: { type: "string" }, description: "kill: or several" },
    rows: { type: "integer" },
    cols: { type: "integer" },
  },
  output: v.object({
    success: v.boolean(),
    status: v.optional(v.string()),
    session: v.optional(v.string()),
    sessions: v.optional(v.array(v.looseObject({}))),
  }),
  run: async ({ session: given, action, new_name, tags, rows, cols, force, signal, buffer, text }, ask) => {
    if (typeof given !== "string") return killAll(given, action, ask);
    const session = given;
    switch (action) {
      case "rename": {
        const { name } = await ask("session.update", { name: requireField(new_name, action, "new_name") }, session);
        return { ...done, status: "renamed", session: name, old_name: session, new_name: name };
      }
      case "add_tags": {
        const updated = await ask("session.update", { add_tags: requireTags(tags, action) }, session);
        return { ...done, status: "tags_added", session, tags: updated.tags };
      }
      case "remove_tags": {
        const updated = await ask("session.update", { remove_tags: requireTags(tags, action) }, session);
        return { ...done, status: "tags_removed", session, tags: updated.tags };
      }
      case "resize": {
        const size = { rows: requireField(rows, action, "rows"), cols: requireField(cols, action, "cols"), force };
        return { ...done, status: "resized", session, ...(await ask("session.resize", size, session)) };
      }
      case "buffer":
        if (text !== undefined) return { ...done, ...(await ask("buffer.set", { buffer, text }, session)) };
        if (buffer !== undefined) return { ...done, ...(await ask("buffer.get", { buffer }, session)) };
        return { ...done, buffers: await ask("buffer.list", {}, session) };
      case "signal": {
        const sent = await ask("session.signal", { signal: requireField(signal, action, "signal") }, session);
        return { ...done, status: "signalled", session, signal: sent.signal };
      }
      default:
        return { ...done, ...(await actions[action](session, ask)) };
    }
  },
});

/** Each result is reported separately; nothing is ended before every permission has been given. */
async function killAll(names: readonly string[], action: string, ask: Ask): Promise<object> {
  if (action !== "kill") throw new WshError("invalid_request", `'${action}' takes one session`);
  let refused: string | null = null;
  const results = new Map<string, object>();
  for (const session of names.length > 1 ? names : []) {
    const error = await ask("session.kill", {}, session, true).then(() => null, WshError.from);
    // The call itself reports a missing session.
    if (error?.code !== "access_denied") continue;
    refused = session;
    results.set(session, failedKill(session, error));
    break;
  }
  const kill = (session: string) => actions.kill(session, ask).catch((thrown: unknown) => failedKill(session, thrown));
  const sessions = await Promise.all(
    names.map((session) => results.get(session) ?? (refused === null ? kill(session) : skippedAfter(session, refused))),
  );
  return { success: sessions.every((result) => !("code" in result)), sessions };
}

/** With the way out, as a single call's error has it. */
function failedKill(session: string, thrown: unknown) {
  const { code, message, hint } = WshError.from(thrown).bodyAt("mcp");
  return { status: "failed", session, code, message, hint };
}

function skippedAfter(session: string, refused: string) {
  return failedKill(session, new WshError("access_denied", `nothing is ended, since '${refused}' was refused`));
}

function requireTags(tags: string[] | undefined, action: string): string[] {
  return requireField(tags !== undefined && tags.length > 0 ? tags : undefined, action, "tags");
}
