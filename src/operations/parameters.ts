/** An operation's parameters, for completion while typing: names, descriptions, and values if they are a list. Pure. */

import { isRecord } from "../protocol/json.ts";
import type { Operation } from "./define.ts";
import { inputJsonSchema } from "./json-schema.ts";

export interface Parameter {
  readonly name: string;
  readonly required: boolean;
  readonly description: string;
  /** All its values; empty if they cannot be listed. */
  readonly values: readonly string[];
  /** Whether it takes a number or true and false, not a text. */
  readonly isPlain: boolean;
}

/** In the order of the schema, required ones first. */
export function parametersOf({ input }: Pick<Operation, "input">): Parameter[] {
  const schema = inputJsonSchema(input);
  const required = Array.isArray(schema.required) ? schema.required : [];
  const properties = isRecord(schema.properties) ? Object.entries(schema.properties) : [];
  const all = properties.map(([name, property]): Parameter => {
    const choices = choicesOf(property);
    const description = isRecord(property) && typeof property.description === "string" ? property.description : "";
    return {
      name,
      required: required.includes(name),
      description: description === "" ? describedIn(property) : description,
      values: choices.values ?? [],
      isPlain: choices.isPlain,
    };
  });
  return all.toSorted((a, b) => Number(b.required) - Number(a.required));
}

function describedIn(property: unknown): string {
  const parts = isRecord(property) && Array.isArray(property.anyOf) ? property.anyOf : [];
  return (
    parts.map((part) => (isRecord(part) ? part.description : undefined)).find((each) => typeof each === "string") ?? ""
  );
}

/** Values of a JSON schema: null if they are not a list. */
function choicesOf(schema: unknown): { readonly values: readonly string[] | null; readonly isPlain: boolean } {
  if (!isRecord(schema)) return { values: null, isPlain: false };
  const parts = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(parts)) {
    const each = parts.filter((part) => !(isRecord(part) && part.type === "null")).map(choicesOf);
    const values = each.flatMap((part) => part.values ?? []);
    return {
      values: each.every((part) => part.values !== null) ? values : null,
      isPlain: each.every((part) => part.isPlain),
    };
  }
  if (Array.isArray(schema.enum)) return { values: schema.enum.map(String), isPlain: true };
  if (schema.const !== undefined) return { values: [String(schema.const)], isPlain: true };
  if (schema.type === "boolean") return { values: ["true", "false"], isPlain: true };
  return { values: null, isPlain: schema.type === "number" || schema.type === "integer" };
}
