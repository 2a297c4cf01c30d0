/**
 * Finds inputs that JSON permits and schemas accept wrongly: arrays in place of objects (`[]` would be an object
 * without fields, and its items silently lost), infinite numbers (`1e999` is parsed as infinity and forwarded as null),
 * and excessive nesting. Pure; each function walks the input once.
 */
import type * as v from "valibot";
import { isSchema } from "./unknown-fields.ts";

/** Types of object schemas, by valibot's names. */
const objects: ReadonlySet<string> = new Set(["object", "loose_object", "strict_object", "record"]);

/** Path of an array in place of an object (`env`, `items.0.style`, `` for the whole input); null without one. */
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

/** Maximum levels of objects and arrays in an input; ours need five. */
const MAX_DEPTH = 64;

/** Keys that every object has, refused in maps: the schemas would silently drop them. */
const takenKeys: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/**
 * Finds a value that no operation accepts, and its path: an infinite number, too deep nesting, a map's key that schemas
 * drop; null without one.
 */
export function unusable(input: unknown): { readonly path: string; readonly why: string } | null {
  interface Part {
    readonly value: unknown;
    readonly name: string;
    readonly parent: Part | null;
    readonly depth: number;
  }
  const pathOf = (part: Part): string => {
    const names: string[] = [];
    for (let at: Part | null = part; at?.parent != null; at = at.parent) names.unshift(at.name);
    return names.join(".");
  };
  // A list instead of recursion: the input determines the depth.
  const waiting: Part[] = [{ value: input, name: "", parent: null, depth: 0 }];
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    const { value, depth } = part;
    if (typeof value === "number" && !Number.isFinite(value)) {
      return { path: pathOf(part), why: "the number is too large" };
    }
    if (typeof value !== "object" || value === null) continue;
    if (depth >= MAX_DEPTH) return { path: "", why: `nested deeper than ${MAX_DEPTH} levels` };
    for (const [name, inner] of Object.entries(value)) {
      const inside = { value: inner, name, parent: part, depth: depth + 1 };
      // An unknown field of an operation is ignored, as always.
      if (depth > 0 && takenKeys.has(name))
        return { path: pathOf(inside), why: "not allowed as a key (a session has an id)" };
      if (typeof inner !== "string") waiting.push(inside);
    }
  }
  return null;
}

function first<T>(items: Iterable<T>, look: (item: T) => string | null): string | null {
  for (const item of items) {
    const found = look(item);
    if (found !== null) return found;
  }
  return null;
}
