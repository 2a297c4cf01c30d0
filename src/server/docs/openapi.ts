/**
 * The OpenAPI 3.1 document of the HTTP API, made from the operation table: paths, parameters, bodies, results, errors
 * and access. The rest (WebSockets, MCP, metrics, these documents) is described by hand below. Created once, at the
 * first request.
 */
import type { HttpBinding, Operation } from "../../operations/define.ts";
import type { JsonSchema } from "../../operations/json-schema.ts";
import { type OperationName, sections } from "../../operations/table.ts";
import { entriesOf } from "../../operations/unknown-fields.ts";
import { type ErrorCode, statusOf } from "../../protocol/errors.ts";
import { isRecord } from "../../protocol/json.ts";
import { VERSION } from "../../protocol/version.ts";
import { otherPaths } from "./other-paths.ts";
import { componentSchemas, fieldSchema, isRequired, jsonSchema } from "./schemas.ts";

/** Sections of the routes besides operations (other-paths.ts). */
const otherSections = [
  { title: "Streams", description: "WebSockets, MCP and documents." },
  { title: "Login", description: "Logging in a browser." },
];

/** Errors of every operation besides its own. */
const commonErrors: readonly ErrorCode[] = ["auth_required", "auth_invalid", "access_denied", "rate_limited"];
const sessionErrors: readonly ErrorCode[] = ["session_not_found", "session_unavailable"];

export function openApiDocument(basePrefix: string): JsonSchema {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { title, operations } of sections) {
    for (const operation of operations as readonly Operation<OperationName>[]) {
      for (const [index, binding] of operation.http.entries()) {
        if (binding.alias === true) continue;
        const path = binding.path.replace(/:(\w+)/g, "{$1}");
        const described = { tags: [title], ...describe(operation, binding, index) };
        paths[path] = { ...paths[path], [binding.method.toLowerCase()]: described };
      }
    }
  }
  for (const [path, methods] of Object.entries(otherPaths)) paths[path] = { ...paths[path], ...methods };
  return {
    openapi: "3.1.0",
    info: {
      title: "wsh",
      version: VERSION,
      description: "Terminals for people and programs: every session over HTTP, WebSocket and MCP.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: basePrefix === "" ? "/" : basePrefix }],
    security: [{ bearer: [] }],
    tags: [...sections, ...otherSections].map(({ title, description }) => ({ name: title, description })),
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description:
            "`wsh token` prints the instance's own token; `wsh token create` creates others. Not needed on the Unix socket.",
        },
      },
      schemas: { ...componentSchemas(), Error: errorSchema },
    },
  };
}

const errorSchema: JsonSchema = {
  description: "The answer to every refused request. Some codes carry further fields.",
  type: "object",
  properties: {
    error: {
      type: "object",
      description: "the error",
      properties: {
        code: { type: "string", description: "for programs; stable" },
        message: { type: "string", description: "the cause, with the offending value" },
        hint: { type: "string", description: "the remedy" },
      },
      required: ["code", "message", "hint"],
    },
  },
  required: ["error"],
};

function describe(operation: Operation<OperationName>, binding: HttpBinding, index: number): JsonSchema {
  const inPath = new Set([...binding.path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? ""));
  const entries = Object.entries(entriesOf(operation.input) ?? {}).filter(
    ([name]) => binding.fixed?.[name] === undefined,
  );
  // The name in the path is the session's; a body field of that name is the operation's own (a rename).
  const others = entries.filter(([name]) => !inPath.has(name) || (name === "name" && operation.scope !== "server"));
  const source = binding.from ?? (binding.method === "GET" || binding.method === "DELETE" ? "query" : "json");
  const parameters = [
    ...[...inPath].map((name) => pathParameter(operation, name)),
    ...(source === "query" ? others.map(([name, entry]) => queryParameter(operation, name, entry)) : []),
  ];
  return {
    operationId: operationId(operation.name, index),
    summary: operation.summary,
    "x-access": operation.access,
    ...(operation.ws.length === 0 ? {} : { "x-websocket-method": operation.ws[0] }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBody(operation, source, others),
    responses: responses(operation, binding, source),
  };
}

function operationId(name: string, index: number): string {
  const camel = name.replace(/[._](\w)/g, (_, letter: string) => letter.toUpperCase());
  return index === 0 ? camel : `${camel}${index + 1}`;
}

function pathParameter(operation: Operation<OperationName>, name: string): JsonSchema {
  if (name === "name") {
    const description =
      "the session: its name, NAME:WINDOW, NAME:WINDOW.PANE, or an id: @s3 (session), @w5 (window), @7 (pane)";
    return { name, in: "path", required: true, description, schema: { type: "string" } };
  }
  const entry = entriesOf(operation.input)?.[name];
  const schema = entry === undefined ? { type: "string" } : fieldSchema(name, entry, operation.name);
  const { description, ...type } = schema as { description?: string };
  return { name, in: "path", required: true, description: description ?? "id", schema: type };
}

function queryParameter(
  operation: Operation<OperationName>,
  name: string,
  entry: Parameters<typeof isRequired>[0],
): JsonSchema {
  const { description, ...schema } = fieldSchema(name, entry, operation.name) as {
    description?: string;
    anyOf?: JsonSchema[];
  };
  // Lists are comma-separated here.
  const isList = schema.anyOf?.some((option) => option.type === "array") === true;
  return {
    name,
    in: "query",
    required: isRequired(entry),
    description: description ?? name,
    schema: isList ? { type: "string" } : schema,
  };
}

function requestBody(
  operation: Operation<OperationName>,
  source: string,
  entries: readonly (readonly [string, Parameters<typeof isRequired>[0]])[],
): JsonSchema {
  if (source === "raw") {
    const content = { "application/octet-stream": { schema: { type: "string", format: "binary" } } };
    return { requestBody: { description: "bytes to type, unchanged", content } };
  }
  if (source !== "json" || entries.length === 0) return {};
  const required = entries.filter(([, entry]) => isRequired(entry)).map(([name]) => name);
  const schema = {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, entry]) => [name, fieldSchema(name, entry, operation.name)])),
    ...(required.length === 0 ? {} : { required }),
  };
  return { requestBody: { required: required.length > 0, content: { "application/json": { schema } } } };
}

function responses(operation: Operation<OperationName>, binding: HttpBinding, source: string): JsonSchema {
  const output = withPane(operation, jsonSchema(operation.output, operation.name));
  const hasCursor = "properties" in output && "output_cursor" in (output.properties as JsonSchema);
  const headers = hasCursor
    ? {
        headers: {
          "Wsh-Output-Cursor": { description: "place in the output", schema: { type: "integer" } },
          "Wsh-Pane": { description: "as `pane`, where there is no body", schema: { type: "string" } },
          "Wsh-Warning": { description: "as `warnings`, where there is no body", schema: { type: "string" } },
        },
      }
    : {};
  const status = String(binding.status ?? 200);
  const success =
    status === "204"
      ? { description: "Done.", ...headers }
      : { description: "Done.", ...headers, content: { "application/json": { schema: output } } };
  const codes: ErrorCode[] = [
    "invalid_request",
    ...commonErrors,
    ...(operation.scope !== "server" ? sessionErrors : []),
    ...operation.errors,
  ];
  const byStatus = new Map<string, Set<string>>();
  const add = (at: number, code: string): void => {
    byStatus.set(String(at), (byStatus.get(String(at)) ?? new Set()).add(code));
  };
  for (const code of codes) add(statusOf(code), code);
  if (source === "json") {
    add(415, "invalid_request");
    add(422, "invalid_request");
    add(413, "payload_too_large");
  }
  const refusals = [...byStatus].map(([at, names]) => [at, errorResponse([...names])] as const);
  return Object.fromEntries([[status, success], ...refusals.sort(([a], [b]) => Number(a) - Number(b))]);
}

/** An answer about one pane names it if the target did not and the session has several. */
function withPane({ scope }: Operation<OperationName>, output: JsonSchema): JsonSchema {
  if (scope !== "pane" || !isRecord(output.properties)) return output;
  const pane = { type: "string", description: "the pane, if the target does not name one" };
  return { ...output, properties: { ...output.properties, pane } };
}

function errorResponse(codes: readonly string[]): JsonSchema {
  return {
    description: codes.map((code) => `\`${code}\``).join(", "),
    content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
  };
}
