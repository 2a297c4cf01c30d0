/**
 * Arrays where an object belongs. The schemas take any object for an object, arrays too: `[]` would be one without
 * fields, and what it holds would be lost without a word. Pure; walks the input once, beside the schema.
 */
import type * as v from "valibot";

/** Schemas of objects, by valibot's names. */
const objects: ReadonlySet<string> = new Set(["object", "loose_object", "strict_object", "record"]);

/** Where in the input an array stands for an object (`env`, `items.0.style`, `` for all of it); null when nowhere. */
export function misplacedArray(schema: v.GenericSchema, input: unknown, path = ""): string | null {
  if (objects.has(schema.type) && Array.isArray(input)) return path;
  if (typeof input !== "object" || input === null) return null;
  const at = (key: string): string => (path === "" ? key : `${path}.${key}`);
  if ("wrapped" in schema && isSchema(schema.wrapped)) return misplacedArray(schema.wrapped, input, path);
  if ("item" in schema && isSchema(schema.item) && Array.isArray(input)) {
    const { item } = schema;
    return first(input.entries(), ([index, value]) => misplacedArray(item, value, at(String(index))));
  }
  if (!("entries" in schema) || typeof schema.entries !== "object" || schema.entries === null) return null;
  const fields: Readonly<Record<string, unknown>> = { ...input };
  return first(Object.entries(schema.entries), ([name, entry]) =>
    isSchema(entry) ? misplacedArray(entry, fields[name], at(name)) : null,
  );
}

function isSchema(value: unknown): value is v.GenericSchema {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "schema";
}

function first<T>(items: Iterable<T>, look: (item: T) => string | null): string | null {
  for (const item of items) {
    const found = look(item);
    if (found !== null) return found;
  }
  return null;
}
