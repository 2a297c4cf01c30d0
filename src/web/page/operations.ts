/**
 * The server's operations, from its own description: names, descriptions and fields, so that the page offers every
 * operation generically. Loaded when the palette is first opened.
 */
import { signal } from "@preact/signals";
import type { Server } from "../connection/server.ts";

export interface FormField {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  readonly kind: "text" | "number" | "flag" | "choice" | "json";
  readonly choices: readonly string[];
}

interface ServerOperation {
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly needsSession: boolean;
  readonly fields: readonly FormField[];
}

export const operations = signal<readonly ServerOperation[]>([]);
let loading: Promise<void> | null = null;

export function loadOperations(server: Server): Promise<void> {
  loading ??= server
    .json<Document>("openapi.json")
    .then((document) => {
      operations.value = operationsOf(document);
    })
    .catch(() => {
      loading = null;
    });
  return loading;
}

type Schema = Readonly<Record<string, unknown>>;
interface Described {
  readonly summary?: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema?: Schema;
  }[];
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> };
}
interface Document {
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

const METHODS: ReadonlySet<string> = new Set(["get", "post", "put", "patch", "delete"]);

function operationsOf({ paths = {}, components }: Document): ServerOperation[] {
  const resolved = (schema: Schema | undefined): Schema => {
    const reference = schema?.$ref;
    if (typeof reference !== "string") return schema ?? {};
    return components?.schemas?.[reference.split("/").at(-1) ?? ""] ?? {};
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, described]) => {
      if (!METHODS.has(method) || described.summary === undefined || path.includes("/ws/")) return [];
      const inPlace = (described.parameters ?? []).filter((each) => each.in !== "header");
      const body = resolved(described.requestBody?.content?.["application/json"]?.schema);
      const required: ReadonlySet<unknown> = new Set(Array.isArray(body.required) ? body.required : []);
      const properties = Object.entries(Object(body.properties)).map(([name, schema]) =>
        fieldOf(name, resolved(Object(schema)), required.has(name)),
      );
      const parameters = inPlace
        .filter(({ name }) => name !== "name")
        .map(({ name, schema, required: isRequired = false, description = "" }) =>
          fieldOf(name, { description, ...resolved(schema) }, isRequired),
        );
      return [
        {
          method: method.toUpperCase(),
          path,
          summary: described.summary,
          needsSession: path.includes("{name}"),
          fields: [...parameters, ...properties],
        },
      ];
    }),
  );
}

function fieldOf(name: string, schema: Schema, required: boolean): FormField {
  const variants = Array.isArray(schema.anyOf) ? schema.anyOf.map(Object) : [schema];
  const variant: Schema = variants.find((each: Schema) => each.type !== "null") ?? schema;
  const description = String(schema.description ?? variant.description ?? "");
  const choices = Array.isArray(variant.enum) ? variant.enum.map(String) : [];
  const { type } = variant;
  const kind =
    choices.length > 0
      ? "choice"
      : type === "boolean"
        ? "flag"
        : type === "number" || type === "integer"
          ? "number"
          : type === "string"
            ? "text"
            : "json";
  return { name, description, required, kind, choices };
}

/** The value of a field from a person's text; undefined: omitted. @throws SyntaxError for invalid JSON */
export function fieldValue({ kind }: FormField, typed: string): unknown {
  if (typed === "") return undefined;
  switch (kind) {
    case "number":
      return Number(typed);
    case "flag":
      return typed === "true";
    case "json":
      return JSON.parse(typed);
    default:
      return typed;
  }
}

/** Calls an operation over HTTP. @returns the server's answer as text @throws Refusal of the server */
export async function perform(
  server: Server,
  { method, path }: ServerOperation,
  target: string,
  values: Readonly<Record<string, unknown>>,
): Promise<string> {
  const remaining = { ...values };
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = name === "name" ? target : String(remaining[name] ?? "");
    delete remaining[name];
    return encodeURIComponent(value);
  });
  const isQuery = method === "GET" || method === "DELETE";
  const query = new URLSearchParams(Object.entries(remaining).map(([name, value]) => [name, String(value)])).toString();
  const response = await server.request(
    filled.slice(1) + (isQuery && query !== "" ? `?${query}` : ""),
    isQuery ? { method } : { method, body: JSON.stringify(remaining), headers: { "Content-Type": "application/json" } },
  );
  const text = await response.text();
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
