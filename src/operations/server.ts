/** Operations of the server itself (docs/protocol.md, Operations). */
import * as v from "valibot";
import { operation } from "./define.ts";
import { NothingSchema, TagFilterSchema } from "./sessions.ts";
import { IdleInputSchema, IdleOutputSchema } from "./terminal.ts";

/** A server as `/servers` lists it: only the server that is asked. */
const ServerEntrySchema = v.object({
  hostname: v.string(),
  address: v.pipe(v.string(), v.description("'local': the server that answers")),
  health: v.pipe(v.picklist(["healthy"]), v.description("whether it answers")),
  role: v.pipe(v.picklist(["member"]), v.description("what it is to this server")),
  sessions: v.pipe(v.number(), v.description("running ones")),
  /** New at each start. */
  server_id: v.string(),
});

export const serverOperations = [
  operation({
    name: "servers.list",
    scope: "server",
    access: "observe",
    summary: "The servers whose sessions this one reaches: itself",
    input: NothingSchema,
    output: v.array(ServerEntrySchema),
    errors: [],
    http: [{ method: "GET", path: "/servers" }],
    ws: [],
  }),
  operation({
    name: "servers.get",
    scope: "server",
    access: "observe",
    summary: "One server, by its hostname",
    input: v.object({ hostname: v.pipe(v.string(), v.description("as /servers lists it")) }),
    output: ServerEntrySchema,
    errors: ["server_not_found"],
    http: [{ method: "GET", path: "/servers/:hostname" }],
    ws: [],
  }),
  operation({
    name: "server.info",
    scope: "server",
    access: "observe",
    summary: "Hostname, version and identity of the server",
    input: NothingSchema,
    output: v.object({
      hostname: v.string(),
      version: v.string(),
      /** New at each start. */
      server_id: v.string(),
      pid: v.number(),
      uptime_ms: v.number(),
      persistent: v.boolean(),
      sessions: v.number(),
      addresses: v.array(v.string()),
      limits: v.record(v.string(), v.number()),
    }),
    errors: [],
    http: [{ method: "GET", path: "/server/info" }],
    ws: ["server_info"],
  }),
  operation({
    name: "server.persist.get",
    scope: "server",
    access: "observe",
    summary: "Whether the server stays when its last session ends",
    input: NothingSchema,
    output: v.object({ persistent: v.boolean() }),
    errors: [],
    http: [{ method: "GET", path: "/server/persist" }],
    ws: [],
  }),
  operation({
    name: "server.persist.set",
    scope: "server",
    access: "admin",
    summary: "Make the server persistent or ephemeral",
    input: v.object({ persistent: v.boolean() }),
    output: v.object({ persistent: v.boolean() }),
    errors: [],
    http: [
      { method: "PUT", path: "/server/persist" },
      { method: "POST", path: "/server/persist", alias: true },
    ],
    ws: ["set_server_mode"],
  }),
  operation({
    name: "server.stop",
    scope: "server",
    access: "admin",
    summary: "End every session and the server",
    input: NothingSchema,
    output: v.object({ sessions: v.number() }),
    errors: [],
    http: [{ method: "POST", path: "/server/stop" }],
    ws: [],
  }),
  operation({
    name: "idle.any",
    scope: "server",
    access: "observe",
    summary: "Wait until one of several sessions is idle",
    input: v.object({
      ...IdleInputSchema.entries,
      last_session: v.optional(v.pipe(v.string(), v.description("the session that last_generation belongs to"))),
      tag: TagFilterSchema,
    }),
    output: v.object({ session: v.string(), ...IdleOutputSchema.entries }),
    errors: ["no_sessions", "idle_timeout", "invalid_cursor", "invalid_format"],
    http: [
      { method: "GET", path: "/idle" },
      { method: "GET", path: "/quiesce", alias: true },
    ],
    ws: ["await_any_idle"],
  }),
] as const;
