/** Paths of the HTTP API that are not operations, for the OpenAPI document. */
import type { JsonSchema } from "../../operations/json-schema.ts";

type Fields = Readonly<Record<string, JsonSchema>>;

const text = (description: string): JsonSchema => ({ type: "string", description });
const string: JsonSchema = { type: "string" };
const json = (schema: JsonSchema): JsonSchema => ({ "application/json": { schema } });
const answer = (description: string, content?: JsonSchema): JsonSchema =>
  content === undefined ? { description } : { description, content };
const error = (description: string): JsonSchema => answer(description, json({ $ref: "#/components/schemas/Error" }));

/** An object with all of these fields. */
function object(properties: Fields): JsonSchema {
  return json({ type: "object", properties, required: Object.keys(properties) });
}

/**
 * @param answers by status, or the description of the only success @param more additional properties of the operation
 */
function route(
  method: "get" | "post",
  id: string,
  summary: string,
  answers: Fields,
  more: JsonSchema = {},
): JsonSchema {
  return { [method]: { operationId: id, tags: ["Streams"], summary, ...more, responses: answers } };
}

/** One step of a browser's login. @param body null: there is none @param created whether it answers 201 */
function login(id: string, summary: string, body: Fields | null, result: Fields, created = false): JsonSchema {
  const answers = {
    [created ? "201" : "200"]: answer("Done.", object(result)),
    "403": error("`auth_invalid`, `access_denied`, `origin_not_allowed`, `host_not_allowed`"),
    "429": error("`rate_limited`, `resource_limit_reached`"),
  };
  const requestBody = body === null ? {} : { requestBody: { content: object(body) } };
  return route("post", id, summary, answers, { tags: ["Login"], security: [], ...requestBody });
}

const query = (name: string, description: string, schema: JsonSchema, required = false): JsonSchema => ({
  name,
  in: "query",
  required,
  description,
  schema,
});

const session: JsonSchema = {
  name: "name",
  in: "path",
  required: true,
  description: "the session: its name, or an id: @s3 (session), @w5 (window), @7 (pane)",
  schema: string,
};
const ticket = query("ticket", "instead of a token, for browsers: from POST /auth/ws-ticket", string);

/** A WebSocket. @param parameters the first one is the session, if it belongs to one */
function socket(id: string, summary: string, parameters: readonly JsonSchema[]): JsonSchema {
  const answers = {
    "101": answer("The connection becomes a WebSocket."),
    "426": error("`invalid_request`: the request is not a WebSocket handshake"),
    "429": error("`resource_limit_reached`, `rate_limited`"),
  };
  const ofOne = parameters[0] === session ? { "404": error("`session_not_found`") } : {};
  return route("get", id, `WebSocket: ${summary}`, { ...answers, ...ofOne }, { parameters });
}

const device = text("id of the browser's key");
const linked = json({ type: "object", description: "see docs/protocol.md, Links" });
const message = json({ type: "object", description: "a JSON-RPC message" });

export const otherPaths: Fields = {
  "/health": route(
    "get",
    "health",
    "Whether the server answers; never takes a token",
    { "200": answer("The server answers.", object({ status: { const: "ok", description: "always ok" } })) },
    { security: [] },
  ),
  "/auth/code": login("createLoginCode", "A code that logs in one browser; over the Unix socket only", null, {
    code: { type: ["string", "null"], description: "32 characters; null: the server does not use logins" },
    expires_in_s: { type: ["number", "null"], description: "lifetime in s" },
    page: text("address of the page on this machine; the server starts to listen there if needed"),
  }),
  "/auth/device": login(
    "registerDevice",
    "Registers the key of a browser with a code",
    {
      code: text("as created by the command line"),
      key: text("public key of P-256, the uncompressed point in base64"),
    },
    { device, name: text("the browser's name in lists") },
    true,
  ),
  "/auth/challenge": login(
    "createChallenge",
    "The challenge that a browser signs",
    { device },
    { nonce: text("signed once, within 60 s") },
  ),
  "/auth/session": login(
    "createLogin",
    "A token for a browser with a signed challenge",
    { device, nonce: text("the challenge"), signature: text("ECDSA with SHA-256, r and s in base64") },
    {
      token: text("as Authorization: Bearer"),
      expires_in_s: { type: "number", description: "lifetime in s" },
      access: text("its access"),
      name: text("of the browser"),
    },
  ),
  "/auth/me": route(
    "get",
    "getMe",
    "The caller's token and its access",
    {
      "200": answer(
        "The token and its access.",
        object({
          name: text("of the token or browser"),
          access: { enum: ["observe", "operate", "admin"], description: "its access" },
          session: { type: ["string", "null"], description: "id of the only session it gives access to; null: all" },
          expires_at: {
            type: ["number", "null"],
            description: "end of its lifetime, Unix time in ms; null: unlimited",
          },
        }),
      ),
    },
    { tags: ["Login"] },
  ),
  "/auth/ws-ticket": route(
    "post",
    "createTicket",
    "A ticket that opens one WebSocket within 30 seconds, in the caller's name",
    {
      "200": answer("The ticket.", object({ ticket: text("32 characters") })),
      "429": error("`resource_limit_reached`"),
    },
  ),
  "/sessions/{name}/ws/raw": socket("rawStream", "the program's output as binary frames; input is sent the same way", [
    session,
    ticket,
    query("snapshot", "1: send the current screen first", { enum: ["0", "1"] }),
  ]),
  "/sessions/{name}/ws/json": socket("sessionStream", "methods and events of one session as JSON", [session, ticket]),
  "/sessions/{name}/ws/view": socket(
    "viewStream",
    "a web page's terminal of the session: frames, numbered input, its own size",
    [session, ticket],
  ),
  "/ws/json": socket("serverStream", "methods and events of all sessions as JSON", [ticket]),
  "/link": route("get", "link", "Identity of this server, for the server of another machine", {
    "200": answer("Protocol, version and identity.", linked),
  }),
  "/link/call": route(
    "post",
    "linkCall",
    "One operation, requested by the server of another machine: `{op, session?, input, caller}`",
    { "200": answer("`{result}`.", linked), "404": error("`unknown_method`, `session_not_found`") },
    { requestBody: { content: linked } },
  ),
  "/link/stream": socket("linkStream", "the socket of a session process, for another machine", [
    query("target", "the session, window or pane", string, true),
    query("process", "`pane`: of the process that runs the target's pane, not of its session's", string),
    ticket,
  ]),
  "/mcp": route(
    "post",
    "mcp",
    "Model Context Protocol, Streamable HTTP",
    {
      "200": answer("The answer.", { ...message, "text/event-stream": { schema: string } }),
      "202": answer("Accepted, without an answer."),
    },
    { requestBody: { content: message } },
  ),
  "/metrics": route("get", "metrics", "Metrics of the server for Prometheus", {
    "200": answer("Exposition format 0.0.4.", { "text/plain": { schema: string } }),
  }),
  "/openapi.json": route("get", "openapiJson", "This document as JSON", {
    "200": answer("OpenAPI 3.1.", json({ type: "object" })),
  }),
  "/openapi.yaml": route("get", "openapiYaml", "This document as YAML", {
    "200": answer("OpenAPI 3.1.", { "text/yaml": { schema: string } }),
  }),
  "/docs": route("get", "docs", "This document as a web page", {
    "200": answer("HTML where it is accepted, Markdown otherwise.", {
      "text/html": { schema: string },
      "text/markdown": { schema: string },
    }),
  }),
};
