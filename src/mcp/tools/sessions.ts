/** Tools on whole sessions: creating, listing, ending and changing them. */
import * as v from "valibot";
import { CreateSessionSchema } from "../../protocol/session.ts";
import { sideFrom } from "../../protocol/size.ts";
import { listedSession, shownSession } from "./shown-session.ts";
import { type Ask, done, needed, SessionField, tool } from "./tool.ts";

const {
  server: _server,
  name_prefix: _prefix,
  stdin: _stdin,
  private: _private,
  ...createFields
} = CreateSessionSchema.entries;
const CreateParameters = v.object(createFields);
const TagsField = v.optional(v.pipe(v.array(v.string()), v.description("for add_tags and remove_tags")));

const creating = {
  name: "wsh_create_session",
  title: "Create a session",
  description:
    "Start a shell, or `command`, in a new terminal that outlives the call. Use it when state must carry over " +
    "(directory, environment, login), for servers and for programs with a screen. For one command use wsh_exec instead.",
  core: true,
  access: "operate",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  parameters: CreateParameters,
  described: {
    tags: { type: "array", items: { type: "string" }, description: "labels" },
    env: { type: "object", description: "variables over the default ones" },
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
  }),
  run: async (parameters, ask) => {
    const { id, name, pid, rows, cols, tags, output_cursor } = await ask("sessions.create", parameters);
    return { session: name, id, name, pid, rows, cols, tags, output_cursor };
  },
} as const satisfies Parameters<typeof tool<typeof CreateParameters>>[0];

/** `place` is listed only when there are other machines. */
export const createSession = tool({ ...creating, unlisted: ["place"] });
export const createSessionAnywhere = tool(creating);

export const listSessions = tool({
  name: "wsh_list_sessions",
  title: "List sessions",
  description:
    "The sessions that run, with state, command, directory, tags, idle time and attached people; with `session` all of that one. " +
    "Use it to find a session before acting on it.",
  core: true,
  access: "observe",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  parameters: v.object({
    session: v.optional(SessionField),
    tag: v.optional(
      v.pipe(v.union([v.string(), v.array(v.string())]), v.description("only sessions with one of these tags")),
    ),
    all: v.optional(
      v.pipe(
        v.boolean(),
        v.description("ended ones too, readable for 1 min (10 where a result left output out, or came before the end)"),
      ),
      false,
    ),
  }),
  output: v.union([v.array(v.looseObject({})), v.looseObject({})]),
  run: async ({ session, tag, all }, ask) =>
    session === undefined
      ? (await ask("sessions.list", { tag: tag ?? [], all, server: "local" })).map(listedSession)
      : shownSession(await ask("session.get", {}, session)),
});

const actions = {
  kill: async (session: string, ask: Ask) => {
    const { ended } = await ask("session.kill", {}, session);
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
  clear: async (session: string, ask: Ask) => {
    const { output_cursor } = await ask("session.clear", {}, session);
    return { status: "cleared", session, output_cursor };
  },
};

export const manageSession = tool({
  name: "wsh_manage_session",
  title: "Manage a session",
  description:
    "kill ends the session and its programs. rename (new_name), add_tags and remove_tags (tags), resize (rows, cols; " +
    "refused while people are attached, unless force), " +
    "signal (signal, to the foreground program), restart (same command again), clear (screen and history), " +
    "detach (disconnects people; the session lives on).",
  core: true,
  access: "operate",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  parameters: v.object({
    session: SessionField,
    action: v.pipe(
      v.picklist(["kill", "rename", "detach", "add_tags", "remove_tags", "resize", "signal", "restart", "clear"]),
      v.description("what to do"),
    ),
    new_name: v.optional(v.pipe(v.string(), v.description("for rename"))),
    tags: TagsField,
    rows: v.optional(v.pipe(sideFrom(1), v.description("for resize"))),
    cols: v.optional(v.pipe(sideFrom(2), v.description("for resize"))),
    force: v.optional(v.pipe(v.boolean(), v.description("for resize: even while a person is attached")), false),
    signal: v.optional(v.pipe(v.string(), v.description("for signal: INT, TERM, HUP, KILL …"))),
  }),
  output: v.object({ success: v.boolean(), status: v.string(), session: v.string() }),
  run: async ({ session, action, new_name, tags, rows, cols, force, signal }, ask) => {
    switch (action) {
      case "rename": {
        const { name } = await ask("session.update", { name: needed(new_name, action, "new_name") }, session);
        return { ...done, status: "renamed", session: name, old_name: session, new_name: name };
      }
      case "add_tags": {
        const updated = await ask("session.update", { add_tags: someTags(tags, action) }, session);
        return { ...done, status: "tags_added", session, tags: updated.tags };
      }
      case "remove_tags": {
        const updated = await ask("session.update", { remove_tags: someTags(tags, action) }, session);
        return { ...done, status: "tags_removed", session, tags: updated.tags };
      }
      case "resize": {
        const size = { rows: needed(rows, action, "rows"), cols: needed(cols, action, "cols"), force };
        return { ...done, status: "resized", session, ...(await ask("session.resize", size, session)) };
      }
      case "signal": {
        const sent = await ask("session.signal", { signal: needed(signal, action, "signal") }, session);
        return { ...done, status: "signalled", session, signal: sent.signal };
      }
      default:
        return { ...done, ...(await actions[action](session, ask)) };
    }
  },
});

function someTags(tags: string[] | undefined, action: string): string[] {
  return needed(tags !== undefined && tags.length > 0 ? tags : undefined, action, "tags");
}
