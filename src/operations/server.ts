/** Operations of the server itself (docs/protocol.md, Operations). */
import * as v from "valibot";
import { described, optional } from "../protocol/fields.ts";
import { ServerEntrySchema } from "../protocol/machines.ts";
import { operation } from "./define.ts";
import { NothingSchema, TagFilterSchema } from "./sessions.ts";
import { IdleInputSchema, IdleOutputSchema } from "./terminal.ts";

const HostnameSchema = v.object({ hostname: described(v.string(), "as /servers lists it") });

export const serverOperations = [
  operation({
    name: "servers.list",
    scope: "server",
    access: "observe",
    machineIn: "nowhere",
    forOneSession: true,
    summary: "The servers whose sessions this one reaches: itself, and the added machines",
    input: NothingSchema,
    output: v.array(ServerEntrySchema),
    http: [{ method: "GET", path: "/servers" }],
  }),
  operation({
    name: "servers.get",
    scope: "server",
    access: "observe",
    machineIn: "nowhere",
    forOneSession: true,
    summary: "One server, by its hostname",
    input: HostnameSchema,
    output: ServerEntrySchema,
    errors: ["server_not_found"],
    http: [{ method: "GET", path: "/servers/:hostname" }],
  }),
  operation({
    name: "servers.add",
    scope: "server",
    access: "admin",
    machineIn: "nowhere",
    summary: "Add another machine; the answer says whether it is reachable",
    input: v.object({
      address: described(
        v.pipe(v.string(), v.maxLength(2048)),
        "ssh://[user@]host[:port] (without password prompts), or that of a TLS server",
      ),
      name: optional(v.string(), "its name here; default: the first part of the host"),
      token: optional(v.pipe(v.string(), v.minLength(1), v.maxLength(4096)), "for https: of the server there"),
      ca: optional(
        v.pipe(v.string(), v.maxLength(65_536)),
        "for https: PEM certificates to trust instead of the system's",
      ),
    }),
    output: ServerEntrySchema,
    errors: [
      "invalid_address",
      "invalid_machine_name",
      "invalid_instance_name",
      "machine_conflict",
      "resource_limit_reached",
    ],
    http: [{ method: "POST", path: "/servers", status: 201 }],
  }),
  operation({
    name: "servers.remove",
    scope: "server",
    access: "admin",
    machineIn: "nowhere",
    summary: "Remove an added machine; its programs keep running",
    input: HostnameSchema,
    output: NothingSchema,
    errors: ["machine_not_found"],
    http: [{ method: "DELETE", path: "/servers/:hostname", status: 204 }],
  }),
  operation({
    name: "servers.reload",
    scope: "server",
    access: "admin",
    machineIn: "nowhere",
    summary: "Read the added machines again and reconnect to each",
    input: NothingSchema,
    output: v.array(ServerEntrySchema),
    http: [{ method: "POST", path: "/servers/reload" }],
  }),
  operation({
    name: "server.info",
    scope: "server",
    access: "observe",
    forOneSession: true,
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
    http: [{ method: "GET", path: "/server/persist" }],
  }),
  operation({
    name: "server.persist.set",
    scope: "server",
    access: "admin",
    summary: "Make the server persistent or ephemeral",
    input: v.object({ persistent: v.boolean() }),
    output: v.object({ persistent: v.boolean() }),
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
    ends: "data",
    summary: "End every session and the server",
    input: NothingSchema,
    output: v.object({ sessions: v.number() }),
    http: [{ method: "POST", path: "/server/stop" }],
  }),
  operation({
    name: "idle.any",
    scope: "server",
    access: "observe",
    lasts: "wait",
    summary: "Wait until one of several sessions is idle",
    input: v.object({
      ...IdleInputSchema.entries,
      last_session: optional(v.string(), "the session that last_generation belongs to"),
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
