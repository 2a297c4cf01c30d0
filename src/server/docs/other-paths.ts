/** Paths of the HTTP API that are not operations, as the OpenAPI document describes them. */
import type { JsonSchema } from "../../operations/json-schema.ts";
import { loginPaths } from "./login-paths.ts";

const session: JsonSchema = {
  name: "name",
  in: "path",
  required: true,
  description: "the session: its name, or an id: @s3 (session), @w5 (window), @7 (pane)",
  schema: { type: "string" },
};
const ticket: JsonSchema = {
  name: "ticket",
  in: "query",
  required: false,
  description: "instead of a token, for browsers: from POST /auth/ws-ticket",
  schema: { type: "string" },
};
const upgraded: JsonSchema = {
  "101": { description: "The connection becomes a WebSocket." },
  "426": error("`invalid_request`: the request is not a WebSocket handshake"),
  "429": error("`resource_limit_reached`, `rate_limited`"),
};

function error(description: string): JsonSchema {
  return { description, content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } } };
}

function text(type: string, description: string): JsonSchema {
  return { "200": { description, content: { [type]: { schema: { type: "string" } } } } };
}

function get(id: string, summary: string, responses: JsonSchema, more: JsonSchema = {}): JsonSchema {
  return { get: { operationId: id, tags: ["Streams"], summary, ...more, responses } };
}

const anyObject: JsonSchema = { type: "object", description: "see docs/protocol.md, Links" };

const notFound = { "404": error("`session_not_found`") };

export const otherPaths: Readonly<Record<string, JsonSchema>> = {
  "/health": get(
    "health",
    "Whether the server answers; never takes a token",
    {
      "200": {
        description: "It does.",
        content: {
          "application/json": {
            schema: {
              type: "object",
              properties: { status: { const: "ok", description: "always ok" } },
              required: ["status"],
            },
          },
        },
      },
    },
    { security: [] },
  ),
  ...loginPaths,
  "/auth/ws-ticket": {
    post: {
      operationId: "createTicket",
      tags: ["Streams"],
      summary: "A ticket that opens one WebSocket within 30 seconds, in the caller's name",
      responses: {
        "200": {
          description: "The ticket.",
          content: {
            "application/json": {
              schema: {
                type: "object",
                properties: { ticket: { type: "string", description: "32 characters" } },
                required: ["ticket"],
              },
            },
          },
        },
        "429": error("`resource_limit_reached`"),
      },
    },
  },
  "/sessions/{name}/ws/raw": get(
    "rawStream",
    "WebSocket: the program's output as binary frames; input is sent the same way",
    { ...upgraded, ...notFound },
    {
      parameters: [
        session,
        ticket,
        {
          name: "snapshot",
          in: "query",
          required: false,
          description: "1: send the current screen first",
          schema: { enum: ["0", "1"] },
        },
      ],
    },
  ),
  "/sessions/{name}/ws/json": get(
    "sessionStream",
    "WebSocket: methods and events of one session as JSON",
    { ...upgraded, ...notFound },
    { parameters: [session, ticket] },
  ),
  "/sessions/{name}/ws/view": get(
    "viewStream",
    "WebSocket: a web page's terminal of the session: frames, numbered input, its own size",
    { ...upgraded, ...notFound },
    { parameters: [session, ticket] },
  ),
  "/ws/json": get("serverStream", "WebSocket: methods and events of all sessions as JSON", upgraded, {
    parameters: [ticket],
  }),
  "/link": get("link", "Identity of this server, for the server of another machine", {
    "200": { description: "Protocol, version and identity.", content: { "application/json": { schema: anyObject } } },
  }),
  "/link/call": {
    post: {
      operationId: "linkCall",
      tags: ["Streams"],
      summary: "One operation, requested by the server of another machine: `{op, session?, input, caller}`",
      requestBody: { content: { "application/json": { schema: anyObject } } },
      responses: {
        "200": { description: "`{result}`.", content: { "application/json": { schema: anyObject } } },
        "404": error("`unknown_method`, `session_not_found`"),
      },
    },
  },
  "/link/stream": get("linkStream", "WebSocket: the socket of a session process, for another machine", upgraded, {
    parameters: [
      {
        name: "target",
        in: "query",
        required: true,
        description: "the session, window or pane",
        schema: { type: "string" },
      },
      ticket,
    ],
  }),
  "/mcp": {
    post: {
      operationId: "mcp",
      tags: ["Streams"],
      summary: "Model Context Protocol, Streamable HTTP",
      requestBody: {
        content: { "application/json": { schema: { type: "object", description: "a JSON-RPC message" } } },
      },
      responses: {
        "200": {
          description: "The answer.",
          content: {
            "application/json": { schema: { type: "object", description: "a JSON-RPC message" } },
            "text/event-stream": { schema: { type: "string" } },
          },
        },
        "202": { description: "Accepted, without an answer." },
      },
    },
  },
  "/metrics": get("metrics", "Metrics of the server for Prometheus", text("text/plain", "Exposition format 0.0.4.")),
  "/openapi.json": get("openapiJson", "This document as JSON", {
    "200": { description: "OpenAPI 3.1.", content: { "application/json": { schema: { type: "object" } } } },
  }),
  "/openapi.yaml": get("openapiYaml", "This document as YAML", text("text/yaml", "OpenAPI 3.1.")),
  "/docs": get("docs", "This document as a web page", {
    "200": {
      description: "HTML where it is accepted, Markdown otherwise.",
      content: { "text/html": { schema: { type: "string" } }, "text/markdown": { schema: { type: "string" } } },
    },
  }),
};
