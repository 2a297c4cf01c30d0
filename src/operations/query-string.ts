/**
 * Converts query strings, which carry only text, by an operation's schema. Text that does not convert to its field's
 * type stays text, so that validation names it.
 */
import type * as v from "valibot";
import { entriesOf } from "./unknown-fields.ts";

type Kind = "number" | "boolean" | "array" | "text";

interface Node {
  readonly type: string;
  readonly wrapped?: Node;
  readonly pipe?: readonly Node[];
  readonly options?: readonly (Node | string)[];
}

function kindOf(node: Node): Kind {
  if (node.wrapped !== undefined) return kindOf(node.wrapped);
  const first = node.pipe?.[0];
  if (first !== undefined && first !== node && first.type !== node.type) return kindOf(first);
  if (node.type === "number" || node.type === "boolean" || node.type === "array") return node.type;
  if (node.type === "union") {
    const kinds = (node.options ?? []).map((option) => (typeof option === "string" ? "text" : kindOf(option)));
    return kinds.includes("text") ? "text" : (kinds[0] ?? "text");
  }
  return "text";
}

function convert(kind: Kind, text: string): unknown {
  if (kind === "number" && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (kind === "boolean" && (text === "true" || text === "1")) return true;
  if (kind === "boolean" && (text === "false" || text === "0")) return false;
  if (kind === "array") return text.split(",");
  return text;
}

/** Returns the typed input of a query string, without the keys that the schema does not know. */
export function queryInput(schema: v.GenericSchema, query: Readonly<Record<string, string>>): Record<string, unknown> {
  const entries = entriesOf(schema) ?? {};
  const input: Record<string, unknown> = {};
  for (const [key, text] of Object.entries(query)) {
    const entry = Object.hasOwn(entries, key) ? entries[key] : undefined;
    if (entry !== undefined) input[key] = convert(kindOf(entry as unknown as Node), text);
  }
  return input;
}
