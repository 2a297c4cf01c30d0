/**
 * Messages between two wsh processes on a session process's socket: a Hello each way, then requests, responses and
 * events as JSON. A connection carries any number of requests and at most one stream (an attached terminal or a
 * subscription).
 */
import * as v from "valibot";
import type { Admission, Caller } from "./caller.ts";
import { defined } from "./defined.ts";
import { RequestKeySchema } from "./requests.ts";
import { SessionInfoSchema } from "./session.ts";

export const HelloSchema = v.object({
  /** PROTOCOL_VERSION of the speaker. */
  wsh: v.number(),
  /** Product version of the speaker. */
  version: v.string(),
  role: v.picklist(["session", "layout", "server", "cli", "attach"]),
  /** Set if the process no longer has a session, only panes of another one. */
  member: v.optional(v.literal(true)),
  /** Describes a session process, so that a list needs no second round trip. */
  info: v.optional(SessionInfoSchema),
});
export type Hello = v.InferOutput<typeof HelloSchema>;

/** The part of a hello that every version understands. */
export const AnyHelloSchema = v.looseObject({ wsh: v.number(), version: v.optional(v.string(), "unknown") });

const CallerSchema = v.pipe(
  v.object({
    kind: v.picklist(["http", "ws", "mcp", "cli"]),
    id: v.string(),
    name: v.optional(v.string()),
    agent: v.optional(v.string()),
    connected: v.boolean(),
    only: v.optional(v.string()),
    program: v.optional(v.number()),
    via: v.optional(
      v.object({
        token: v.string(),
        id: v.optional(v.string()),
        peer: v.nullable(v.string()),
        share: v.optional(v.string()),
      }),
    ),
  }),
  v.transform(
    ({ name, agent, only, program, via, ...caller }): Caller => ({
      ...caller,
      ...defined({ name, agent, only, program }),
      ...(via === undefined ? {} : { via: admission(via) }),
    }),
  ),
);

const AccessSchema = v.picklist(["observe", "operate", "admin"]);
/** A caller for which another process acts. */
export const ActingSchema = v.object({ caller: CallerSchema, access: AccessSchema });

function admission(via: { [field in keyof Admission]: Admission[field] | undefined }): Admission {
  const { token = "", id, peer = null, share } = via;
  return { token, peer, ...defined({ id, share }) };
}

export const RequestSchema = v.object({
  id: v.number(),
  op: v.string(),
  input: v.optional(v.unknown()),
  /** The target as the caller wrote it: a window or pane of the session. */
  target: v.optional(v.pipe(v.string(), v.maxLength(256))),
  caller: CallerSchema,
  access: AccessSchema,
  /** Identifies a repeated request, which is executed once. */
  once: v.optional(RequestKeySchema),
  /** Unix time in ms after which the request is not begun. */
  deadline: v.optional(v.number()),
  /** Whether the caller accepts `waits_for_person` before the response. */
  tells: v.optional(v.boolean()),
});
export type Request = v.InferOutput<typeof RequestSchema>;

export const ResponseSchema = v.union([
  v.object({ id: v.number(), error: v.looseObject({ code: v.string(), message: v.string() }) }),
  v.object({ id: v.number(), result: v.unknown() }),
]);

/** An event before the response of a request that waits for a person's permission, who is asked at the session. */
export const WaitsForPersonSchema = v.object({
  event: v.literal("waits_for_person"),
  request: v.number(),
  session: v.string(),
  /** Unix time in ms at which it is refused; 0: it no longer waits. */
  until: v.number(),
});
export type WaitsForPerson = Pick<v.InferOutput<typeof WaitsForPersonSchema>, "session" | "until">;

export function waitingText({ session, until }: WaitsForPerson): string {
  return `waiting for a person at session '${session}' to allow it, until ${new Date(until).toTimeString().slice(0, 8)}`;
}

export const CancelSchema = v.object({ id: v.number() });

/** Input of `peer.reload`. `ask`: only report the settings, without reading the file. */
export const ReloadSchema = v.object({ ask: v.optional(v.boolean(), false) });

/** An unsolicited report of a session process; `event` names it, the other fields depend on it. */
export const EventSchema = v.looseObject({ event: v.string() });
export type WireEvent = v.InferOutput<typeof EventSchema>;

/**
 * How long a session's info stays valid. A server that watches the session keeps the info, and asks again after a
 * `stale` event, or if the state may have changed without one.
 */
export const ListingSchema = v.object({
  /** Grows with each `stale`: an info with a smaller number than the last `stale` is outdated. */
  change: v.number(),
  pid: v.number(),
  /**
   * How long the state is valid: until the session process reports a change; until a process has run again, by its run
   * count (/proc/PID/schedstat); null: unknown.
   */
  lasting: v.nullable(v.union([v.literal("reported"), v.object({ pid: v.number(), runs: v.string() })])),
});
export type Listing = v.InferOutput<typeof ListingSchema>;

/** Last message of a stream, session process → client. */
export const StreamEndSchema = v.object({
  // A reason that this version does not know still ends the stream.
  reason: v.fallback(
    v.picklist([
      "exited",
      "killed",
      "detached",
      "session_crashed",
      "server_stopped",
      "owner_gone",
      "idle",
      // The pane is now in another session, which the caller may not use.
      "moved_away",
      // The session is now private, and the caller is an AI agent.
      "private",
      // The caller may not type, or no longer: a person has taken an AI agent's permission back.
      "access_denied",
      // For a raw stream: the program does not read its input.
      "input_refused",
    ]),
    "detached",
  ),
  exit_code: v.optional(v.nullable(v.number())),
  signal: v.optional(v.nullable(v.string())),
  name: v.optional(v.string()),
});
export type StreamEnd = v.InferOutput<typeof StreamEndSchema>;

/** Silence after which a peer on a Unix socket counts as hanging, in ms (docs/protocol.md, Between processes). */
export const PEER_TIMEOUT_MS = 5_000;

/** How long a stream searches for its session after a lost connection, in ms, and the interval between attempts. */
export const AGAIN_MS = 3_000;
export const AGAIN_POLL_MS = 100;
