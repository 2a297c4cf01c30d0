/**
 * The documentation at /docs: one page, written as Markdown from the OpenAPI document and the WebSocket's events, and
 * as HTML for browsers. Everything is served from here; the style sheet is a separate file, as the content security
 * policy requires. Pure text; generated on request.
 */

import type { JsonSchema } from "../../operations/json-schema.ts";
import { operations } from "../../operations/table.ts";
import { VERSION } from "../../protocol/version.ts";

/** Errors of any request; listed once, at the top. */
const USUAL: readonly string[] = [
  "invalid_request",
  "auth_required",
  "auth_invalid",
  "access_denied",
  "rate_limited",
  "session_not_found",
  "session_unavailable",
  "payload_too_large",
];

const METHODS = ["get", "post", "put", "patch", "delete"] as const;

interface DocumentedPath {
  readonly method: string;
  readonly path: string;
  readonly operation: JsonSchema;
}

export function docsMarkdown(document: JsonSchema): string {
  const parts = partsOf(document);
  const tags = list(document.tags);
  const sections = tags.map((tag) => {
    const own = parts.filter((part) => list(part.operation.tags).includes(tag.name as never));
    return `## ${tag.name}\n\n${tag.description}\n\n${own.map(operationText).join("\n")}`;
  });
  const contents = [...tags.map((tag) => String(tag.name)), "WebSocket methods", "WebSocket events", "Shapes"];
  return [
    `# wsh ${VERSION}`,
    "Every session of this server over HTTP. Send `Authorization: Bearer TOKEN` over TCP (`wsh token` prints it); " +
      "the Unix socket takes none. Bodies are JSON with `Content-Type: application/json`. Refused requests are answered " +
      'with `{"error": {"code", "message", "hint"}}`; below, errors common to all requests (400, 415, 422 ' +
      "`invalid_request`, 401 `auth_required`, 403 `auth_invalid` `access_denied`, 404 `session_not_found`, 413 " +
      "`payload_too_large`, 429 `rate_limited`, 503 `session_unavailable`) are not repeated. The same as [OpenAPI](openapi.json) ([YAML](openapi.yaml)).",
    contents.map((title) => `- [${title}](#${anchor(title)})`).join("\n"),
    ...sections,
    methodsText(),
    eventsText(document),
    shapesText(document),
    "",
  ].join("\n\n");
}

export function docsHtml(markdown: string, basePrefix: string): string {
  const body = Bun.markdown.html(markdown, { tables: true, headings: { ids: true } });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>wsh ${VERSION}</title>
<link rel="stylesheet" href="${basePrefix}/docs/style.css">
</head>
<body>
<main>
${body}</main>
</body>
</html>
`;
}

export const docsStyle = `:root { color-scheme: light dark; --line: #8883; --soft: #8881; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1rem 1.25rem 4rem; }
h1, h2, h3 { line-height: 1.2; }
h2 { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); }
h3 { margin-top: 2rem; }
code { font: 0.9em ui-monospace, monospace; background: var(--soft); padding: 0.1em 0.3em; border-radius: 0.25em; }
table { border-collapse: collapse; width: 100%; margin: 0.5rem 0 1rem; font-size: 0.93em; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.6rem 0.3rem 0; border-bottom: 1px solid var(--line); }
a { color: inherit; }
`;

function partsOf(document: JsonSchema): DocumentedPath[] {
  return Object.entries(record(document.paths)).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = record(item)[method];
      return operation === undefined ? [] : [{ method: method.toUpperCase(), path, operation: record(operation) }];
    }),
  );
}

function operationText({ method, path, operation }: DocumentedPath): string {
  const access = operation["x-access"] === undefined ? "" : ` Access: ${operation["x-access"]}.`;
  const parameters = list(operation.parameters).map((parameter) =>
    row(String(parameter.name), record(parameter.schema), parameter.required === true, parameter.description),
  );
  const content = record(record(operation.requestBody).content);
  const body = record(record(content["application/json"]).schema);
  const fields = propertyRows(body);
  const bytes = "application/octet-stream" in content ? "The body is typed unchanged." : "";
  return [
    `### ${method} ${path}`,
    `${operation.summary}.${access}`,
    ...(parameters.length === 0 ? [] : [table("Parameter", parameters)]),
    ...(fields.length === 0 ? [] : [table("Body", fields)]),
    ...(bytes === "" ? [] : [bytes]),
    ...resultText(record(operation.responses)),
    "",
  ].join("\n\n");
}

/** Fields of a successful answer, and the error codes except those of any request. */
function resultText(responses: JsonSchema): string[] {
  const texts: string[] = [];
  const refusals: string[] = [];
  for (const [status, response] of Object.entries(responses)) {
    const { description, content } = record(response);
    if (Number(status) >= 400) {
      const codes = String(description).split(", ");
      const own = codes.filter((code) => !USUAL.includes(code.replaceAll("`", "")));
      if (own.length > 0) refusals.push(`${status} ${own.join(" ")}`);
      continue;
    }
    const schema = record(record(record(content)["application/json"]).schema);
    const rows = propertyRows(schema);
    if (rows.length > 0) texts.push(table(`Result (${status})`, rows));
    else if (Object.keys(schema).length === 0) texts.push(`Result: ${status}. ${description}`);
    else texts.push(`Result: ${status}, ${typeText(schema)}`);
  }
  return refusals.length === 0 ? texts : [...texts, `Errors: ${refusals.join(" · ")}`];
}

function methodsText(): string {
  const rows = operations.flatMap(({ name, ws, summary, access, scope }) =>
    ws.length === 0 ? [] : [`| \`${ws.join("`, `")}\` | ${cell(summary)} | ${access} | ${scope} | \`${name}\` |`],
  );
  return [
    "## WebSocket methods",
    'Send `{"id", "method", "params"}`; the answer is `{"id", "method", "result"}` or `{"id", "method", "error"}`. On ' +
      "`/ws/json` methods of a session take `session` beside `method`. Parameters and results are those of the HTTP " +
      "operation. `subscribe` takes a Subscription (see Shapes), `subscribe_window` a WindowSubscription, `subscribe_machines` a MachinesSubscription; each replaces the " +
      "one before it; its events are listed below.",
    `| method | what it does | access | scope | operation |\n|---|---|---|---|---|\n${rows.join("\n")}`,
  ].join("\n\n");
}

function eventsText(document: JsonSchema): string {
  const schemas = record(record(document.components).schemas);
  const texts = ["SessionEvent", "WindowEvent", "LifecycleEvent"].flatMap((name) => {
    const schema = record(schemas[name]);
    const options = list(schema.anyOf ?? schema.oneOf);
    return [
      String(schema.description),
      ...options.map((option) => {
        const event = record(record(option.properties).event);
        return `### ${event.const ?? name}\n\n${table("Field", propertyRows(option))}`;
      }),
    ];
  });
  return ["## WebSocket events", ...texts].join("\n\n");
}

function shapesText(document: JsonSchema): string {
  const schemas = Object.entries(record(record(document.components).schemas));
  const texts = schemas.flatMap(([name, schema]) => {
    const rows = propertyRows(record(schema));
    if (name.endsWith("Event")) return [];
    const shape = rows.length > 0 ? table("Field", rows) : typeText(record(schema));
    return [`### ${name}`, String(record(schema).description ?? ""), shape];
  });
  return ["## Shapes", ...texts].join("\n\n");
}

function propertyRows(schema: JsonSchema): string[] {
  const required = new Set(list<string>(schema.required));
  return Object.entries(record(schema.properties)).map(([name, property]) =>
    row(name, record(property), required.has(name), record(property).description),
  );
}

function table(title: string, rows: readonly string[]): string {
  return `| ${title} | type | meaning |\n|---|---|---|\n${rows.join("\n")}`;
}

function row(name: string, schema: JsonSchema, required: boolean, description: unknown): string {
  const initial = schema.default === undefined ? "" : ` Default: \`${JSON.stringify(schema.default)}\`.`;
  const meaning = typeof description === "string" ? `${description}.` : "";
  const optional = required || initial !== "" ? "" : " Optional.";
  return `| \`${name}\` | ${cell(typeText(schema))} | ${cell(meaning)}${initial || optional} |`;
}

/** A type in a few words; shared shapes are linked. */
function typeText(schema: JsonSchema): string {
  const ref = typeof schema.$ref === "string" ? schema.$ref.split("/").at(-1) : undefined;
  if (ref !== undefined) return `[${ref}](#${anchor(ref)})`;
  const options = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (Array.isArray(options)) return [...new Set(list(options).map(typeText))].join(" or ");
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => `\`${value}\``).join(" or ");
  if (schema.const !== undefined) return `\`${schema.const}\``;
  if (schema.type === "array") return `list of ${typeText(record(schema.items))}`;
  if (Array.isArray(schema.type)) return schema.type.join(" or ");
  return typeof schema.type === "string" ? schema.type : "any";
}

/** Anchors in the form of the HTML's headings. */
function anchor(title: string): string {
  return title.toLowerCase().replace(/[^\w]+/g, "-");
}

/** Escapes text for use in a table. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;").replace(/\s+/g, " ");
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function list<T = JsonSchema>(value: unknown): T[] {
  return Array.isArray(value) ? (value as T[]) : [];
}
