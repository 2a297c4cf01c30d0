/** Operations on whole sessions: create, list, rename, end (docs/protocol.md, Sessions). */

import * as v from "valibot";
import { CopyModeActSchema } from "../protocol/copy-mode.ts";
import { described, optional } from "../protocol/fields.ts";
import { HooksSchema } from "../protocol/hooks.ts";
import { checkNewName, checkSessionName, isMachineName, normalizeTags, parsePlace } from "../protocol/names.ts";
import { requireProgram } from "../protocol/program-text.ts";
import {
  CreatedSessionSchema,
  CreateSessionSchema,
  EndedField,
  SessionInfoSchema,
  UpdateSessionSchema,
} from "../protocol/session.ts";
import { requireSignal } from "../protocol/signals.ts";
import { sideFrom } from "../protocol/size.ts";
import { drivesPane, operation } from "./define.ts";

export const NothingSchema = v.object({});

/** `a,b` in a query, or an array. */
export const TagFilterSchema = optional(
  v.pipe(
    v.union([
      v.pipe(
        v.string(),
        v.transform((text) => text.split(",")),
      ),
      v.array(v.string()),
    ]),
    v.transform((tags) => tags.map((tag) => tag.trim()).filter((tag) => tag !== "")),
  ),
  "only sessions with one of these tags (comma separated in a query)",
  [],
);

const ServerSchema = optional(
  v.string(),
  "only of this server (GET /servers); default: this one and the added ones, with a tag the fleet's too",
);

/** Longest message at a terminal, in characters: more than its last row shows. */
const MAX_MESSAGE = 1_000;

/** `machine/name` starts the session there, and `machine/` without a name. @throws WshError invalid_session_name */
function requireName(text: string, check: (name: string) => string): void {
  const { machine, target } = parsePlace(text);
  if (machine === null || !isMachineName(machine)) check(text);
  else if (target !== "") check(target);
}

export const sessionOperations = [
  operation({
    name: "sessions.list",
    scope: "server",
    access: "observe",
    machineIn: "server",
    gives: "sessions",
    forOneSession: true,
    inScripts: true,
    summary: "List sessions, oldest first",
    input: v.object({
      tag: TagFilterSchema,
      all: optional(v.boolean(), "include ended sessions within the grace period", false),
      server: ServerSchema,
      all_machines: optional(v.boolean(), "those of the fleet's machines, too", false),
    }),
    output: v.array(SessionInfoSchema),
    errors: ["server_not_found", "machine_unreachable"],
    http: [{ method: "GET", path: "/sessions" }],
    ws: ["list_sessions"],
  }),
  operation({
    name: "sessions.create",
    scope: "server",
    access: "operate",
    machineIn: "server",
    gives: "sessions",
    forAgents: "own",
    makesSessions: true,
    inScripts: true,
    showsAnswer: true,
    summary: "Start a program in a new terminal",
    input: v.object({
      ...CreateSessionSchema.entries,
      on: optional(HooksSchema, "hooks on its events; removed with it"),
    }),
    check: ({ name, tags, if_exists, ...program }) => {
      if (typeof name === "string") requireName(name, if_exists === "attach" ? checkSessionName : checkNewName);
      normalizeTags(tags);
      requireProgram(program);
    },
    output: CreatedSessionSchema,
    errors: [
      "invalid_session_name",
      "invalid_tag",
      "session_name_conflict",
      "max_sessions_reached",
      "session_create_failed",
      "cwd_not_found",
      "unknown_shell",
      "shell_not_found",
      "server_not_found",
      "machine_not_found",
      "machine_busy",
    ],
    http: [{ method: "POST", path: "/sessions", status: 201 }],
    ws: ["create_session"],
  }),
  operation({
    name: "session.get",
    scope: "session",
    access: "observe",
    // In a private session, the answer is only its name.
    forAgents: "any",
    gives: "sessions",
    inScripts: true,
    summary: "One session with its windows and panes",
    input: NothingSchema,
    output: SessionInfoSchema,
    http: [{ method: "GET", path: "/sessions/:name" }],
    ws: ["get_session"],
  }),
  operation({
    name: "session.environment",
    scope: "session",
    access: "operate",
    summary: "Variables of the terminal attached last; null: it has none",
    input: NothingSchema,
    output: v.object({
      variables: described(v.record(v.string(), v.nullable(v.string())), "those of update_environment"),
    }),
    http: [{ method: "GET", path: "/sessions/:name/environment" }],
    ws: ["get_environment"],
  }),
  operation({
    name: "session.update",
    scope: "session",
    access: "operate",
    gives: "sessions",
    summary: "Rename, add and remove tags; all or nothing",
    input: UpdateSessionSchema,
    check: ({ name, add_tags }) => {
      if (name !== undefined) checkSessionName(name);
      normalizeTags(add_tags);
    },
    output: SessionInfoSchema,
    errors: ["invalid_session_name", "invalid_tag", "session_name_conflict"],
    http: [{ method: "PATCH", path: "/sessions/:name" }],
    ws: ["update_session"],
  }),
  operation({
    name: "session.kill",
    scope: "session",
    access: "operate",
    affects: "session",
    ends: "programs",
    inScripts: true,
    summary: "End the session: SIGHUP, then SIGKILL after kill_grace_ms; answers when its program has ended",
    input: v.object({
      reason: optional(v.picklist(["killed", "server_stopped"]), "reason sent to listeners", "killed"),
    }),
    output: v.object({ ended: EndedField }),
    http: [{ method: "DELETE", path: "/sessions/:name" }],
    ws: ["kill_session"],
  }),
  operation({
    name: "session.clients",
    scope: "session",
    access: "observe",
    summary: "The attached terminals, in the order of attaching",
    input: NothingSchema,
    output: v.array(
      v.object({
        client: described(v.number(), "its number, unique in the session"),
        terminal: described(v.nullable(v.string()), "its device here; null: in a page, or elsewhere"),
        page: described(v.nullable(v.string()), "name of a terminal in a page"),
        rows: v.number(),
        cols: v.number(),
        read_only: described(v.boolean(), "it is read-only"),
        used: described(v.boolean(), "it attached, typed or changed its size last"),
        since: described(v.number(), "Unix time in ms"),
        last_key: described(v.nullable(v.number()), "Unix time in ms; null: no input yet"),
      }),
    ),
    http: [{ method: "GET", path: "/sessions/:name/clients" }],
    ws: ["list_clients"],
  }),
  operation({
    name: "session.detach",
    scope: "session",
    access: "operate",
    summary: "Disconnect attached terminals; the session continues",
    input: v.object({
      which: optional(v.picklist(["all", "used", "others"]), "used: the one used last", "all"),
      client: optional(v.pipe(v.number(), v.integer()), "only this one of session.clients"),
    }),
    output: v.object({ detached: v.number() }),
    errors: ["client_not_found"],
    http: [{ method: "POST", path: "/sessions/:name/detach", status: 204 }],
    ws: ["detach_session"],
  }),
  operation({
    name: "terminal.show",
    scope: "session",
    access: "operate",
    grant: "notify",
    summary:
      "Show a message at the attached terminals, or open a chooser or copy mode at the one used last; " +
      "without a terminal, the next one that attaches opens it",
    input: v.object({
      view: v.optional(v.picklist(["windows", "sessions", "agents", "copy_mode", "go"]), "windows"),
      target: optional(v.string(), "go: the session, window or pane"),
      client: optional(v.pipe(v.number(), v.integer()), "only this one of session.clients"),
      act: optional(CopyModeActSchema, "copy_mode: an action of active copy mode"),
      message: optional(v.pipe(v.string(), v.maxLength(MAX_MESSAGE)), "in place of a view"),
    }),
    output: v.object({ terminals: described(v.number(), "terminals that showed it") }),
    errors: ["session_not_found", "pane_not_found", "nested_session"],
  }),
  operation({
    name: "session.resize",
    scope: "session",
    access: "operate",
    inScripts: true,
    summary:
      "Set the size of the terminal; visible panels are subtracted from what the program sees. " +
      "An attached terminal decides the size itself: then this is refused (size_held) unless forced",
    input: v.object({
      rows: sideFrom(1),
      cols: sideFrom(2),
      force: optional(v.boolean(), "even with attached terminals; lasts until one of them types or resizes", false),
    }),
    output: v.object({ rows: v.number(), cols: v.number() }),
    errors: ["session_ended", "size_held"],
    http: [{ method: "POST", path: "/sessions/:name/resize" }],
    ws: ["resize"],
  }),
  operation({
    name: "session.signal",
    ...drivesPane,
    summary: "Send a signal to the foreground process group",
    input: v.object({
      signal: described(v.union([v.string(), v.pipe(v.number(), v.integer())]), "INT, SIGTERM, 15 …"),
    }),
    check: ({ signal }) => requireSignal(signal),
    output: v.object({ signal: v.string() }),
    errors: ["session_ended"],
    http: [{ method: "POST", path: "/sessions/:name/signal" }],
    ws: ["signal"],
  }),
  operation({
    name: "session.restart",
    scope: "session",
    access: "operate",
    affects: "session",
    ends: "programs",
    gives: "sessions",
    summary: "Restart the same command with the same cwd, size and name; cursors keep increasing",
    input: NothingSchema,
    output: SessionInfoSchema,
    errors: ["session_create_failed"],
    http: [{ method: "POST", path: "/sessions/:name/restart" }],
    ws: ["restart"],
  }),
  operation({
    name: "session.clear",
    scope: "pane",
    access: "operate",
    ends: "data",
    summary: "Clear history and screen",
    input: NothingSchema,
    output: v.object({ output_cursor: v.number() }),
    http: [{ method: "POST", path: "/sessions/:name/clear" }],
    ws: ["clear"],
  }),
  operation({
    name: "session.reset",
    scope: "pane",
    access: "operate",
    summary: "Repair a terminal: switch off modes that a program left on; text and program stay",
    input: NothingSchema,
    output: v.object({
      mended: described(v.array(v.string()), "modes that made the screen wrong"),
      output_cursor: v.number(),
    }),
    http: [{ method: "POST", path: "/sessions/:name/reset" }],
    ws: ["reset"],
  }),
] as const;
