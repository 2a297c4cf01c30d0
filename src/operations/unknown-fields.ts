/**
 * Finds input fields that the schema does not know. They are ignored, and named in the answer, so that a misspelt
 * option does not seem to work. Pure; walks the input once, beside the schema.
 */
import * as v from "valibot";

const MAX_NAMED = 8;
/** Maximum shown characters of one name. */
const MAX_NAME = 40;

/** Returns the entries of an object's schema, those of all parts of an intersection; null if it has none. */
export function entriesOf(schema: v.GenericSchema): Readonly<Record<string, v.GenericSchema>> | null {
  if (schema.type === "intersect" && "options" in schema && Array.isArray(schema.options)) {
    const parts = schema.options.filter(isSchema).map(entriesOf);
    return parts.includes(null) ? null : Object.assign({}, ...parts);
  }
  if (!("entries" in schema) || typeof schema.entries !== "object" || schema.entries === null) return null;
  return Object.fromEntries(Object.entries(schema.entries).filter((entry) => isSchema(entry[1])));
}

/** Returns the paths of unknown fields (`colour`, `spans.0.blod`), in the input's order. */
export function unknownFields(schema: v.GenericSchema, input: unknown, path = ""): string[] {
  if (typeof input !== "object" || input === null) return [];
  const pathOf = (key: string): string => (path === "" ? key : `${path}.${key}`);
  if ("wrapped" in schema && isSchema(schema.wrapped)) return unknownFields(schema.wrapped, input, path);
  const alternative = alternativeOf(schema, input);
  if (alternative !== null) return unknownFields(alternative, input, path);
  if (Array.isArray(input)) {
    if (!("item" in schema) || !isSchema(schema.item)) return [];
    const { item } = schema;
    return input.flatMap((value, index) => unknownFields(item, value, pathOf(String(index))));
  }
  // A loose object accepts any field.
  if (schema.type !== "object" && schema.type !== "intersect") return [];
  const entries = entriesOf(schema);
  if (entries === null) return [];
  return Object.entries(input).flatMap(([key, value]) => {
    const entry = Object.hasOwn(entries, key) ? entries[key] : undefined;
    return entry === undefined ? [pathOf(key)] : unknownFields(entry, value, pathOf(key));
  });
}

/** The schema that a union, or a lazy schema (a tree's), applies to the input; null for any other schema. */
function alternativeOf(schema: v.GenericSchema, input: unknown): v.GenericSchema | null {
  if (schema.type === "lazy" && "getter" in schema && typeof schema.getter === "function") {
    const made: unknown = schema.getter(input);
    return isSchema(made) ? made : null;
  }
  if (schema.type !== "union" || !("options" in schema) || !Array.isArray(schema.options)) return null;
  return schema.options.filter(isSchema).find((option) => v.is(option, input)) ?? null;
}

/** One sentence per field; after the first few, the number of others. Safe to print: names are the caller's text. */
export function unknownFieldWarnings(fields: readonly string[]): string[] {
  const named = fields.slice(0, MAX_NAMED).map((field) => `unknown field '${printable(field)}' was ignored`);
  return fields.length > MAX_NAMED ? [...named, `and ${fields.length - MAX_NAMED} more`] : named;
}

/** Returns printable ASCII, so that it is valid in a header. */
function printable(name: string): string {
  const cut = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
  return cut.replace(/[^\x20-\x7e]/g, (character) => (character === "…" ? "..." : "?"));
}

export function isSchema(value: unknown): value is v.GenericSchema {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "schema";
}
