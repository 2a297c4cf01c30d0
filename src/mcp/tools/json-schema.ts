/**
 * JSON Schemas for tools/list, made from valibot schemas. They only describe: the operation parses, so that its
 * failures carry code and hint. Every model pays for the list in tokens, so inputs contain only what a call needs, and
 * outputs only names, with a type for those that are always present. Pure; called once per tool, when the module loads.
 */
import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import type * as v from "valibot";
import { descriptionOf, inputJsonSchema, type JsonSchema } from "../../operations/json-schema.ts";
import { isRecord } from "../../protocol/json.ts";

/** The schema of an input: types, choices, defaults, and a description of every field. */
export function describeInput(
  schema: v.ObjectSchema<v.ObjectEntries, undefined>,
  overrides: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  const { properties, ...json } = reduceInput(inputJsonSchema(schema));
  const described = Object.entries(isRecord(properties) ? properties : {}).map(([name, property]) => {
    const own = overrides[name];
    if (own !== undefined) return [name, own];
    const entry = schema.entries[name];
    const description = entry === undefined ? undefined : descriptionOf(entry);
    return [name, description === undefined ? property : { ...(isRecord(property) ? property : {}), description }];
  });
  return { ...json, properties: Object.fromEntries(described) };
}

/** The schema of an output: names, types of fields that are always present, nested values by type alone. */
export function describeOutput(schema: v.GenericSchema): JsonSchema {
  return reduceOutput(inputJsonSchema(schema), 0);
}

/** A schema for the SDK that describes its value and accepts everything. */
export function describing(json: JsonSchema): StandardSchemaWithJSON<unknown, unknown> {
  return {
    "~standard": {
      version: 1,
      vendor: "wsh",
      validate: (value) => ({ value }),
      jsonSchema: { input: () => ({ ...json }), output: () => ({ ...json }) },
    },
  };
}

/** Bounds that no caller reaches by accident: an operation that gets such a value reports its limits. */
const NOT_FOR_CALLERS = new Set([
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minimum",
  "maximum",
  "pattern",
  "propertyNames",
]);

function reduceInput(schema: JsonSchema): JsonSchema {
  const nullable = withoutNullType(schema);
  if (nullable !== schema) return reduceInput(nullable);
  const entries = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    if (NOT_FOR_CALLERS.has(key)) return [];
    // A map's values: hosts that convert schemas to a strict form reject the tool for them; the description is enough.
    if (key === "additionalProperties" && isRecord(value)) return [];
    // An absent list and an empty one are equivalent.
    if (key === "default" && Array.isArray(value) && value.length === 0) return [];
    // An absent switch is off.
    if (key === "default" && value === false) return [];
    if (key === "required" && Array.isArray(value) && value.length === 0) return [];
    if (key === "properties" && isRecord(value)) {
      return [[key, Object.fromEntries(Object.entries(value).map(([k, p]) => [k, isRecord(p) ? reduceInput(p) : p]))]];
    }
    if (Array.isArray(value) && (key === "anyOf" || key === "oneOf")) {
      return [[key, value.map((item) => (isRecord(item) ? reduceInput(item) : item))]];
    }
    return [[key, key === "items" && isRecord(value) ? reduceInput(value) : value]];
  });
  return Object.fromEntries(entries);
}

/** `null` is accepted for an absent value but not advertised. */
function withoutNullType(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema;
  if (!Array.isArray(anyOf)) return schema;
  const others = anyOf.filter((item) => !(isRecord(item) && item.type === "null"));
  if (others.length === anyOf.length) return schema;
  const [only] = others;
  return others.length === 1 && isRecord(only) ? { ...rest, ...only } : { ...rest, anyOf: others };
}

function reduceOutput(schema: JsonSchema, depth: number): JsonSchema {
  const { type, properties, items, anyOf, required } = schema;
  if (Array.isArray(anyOf)) {
    const options = anyOf.filter(isRecord).map((option) => reduceOutput(option, depth));
    const types = options.map((option) => option.type);
    const areNames = options.every((option) => Object.keys(option).length === 1 && typeof option.type === "string");
    if (areNames) return { type: [...new Set(types)] };
    return depth === 0 ? { anyOf: options } : {};
  }
  if (type === undefined) return Array.isArray(schema.enum) ? { type: "string" } : {};
  if (depth > 1 || (depth > 0 && type === "object")) return { type };
  if (type === "array") return isRecord(items) && depth === 0 ? { type, items: reduceOutput(items, 1) } : { type };
  if (type !== "object" || !isRecord(properties)) return { type };
  const always = new Set(Array.isArray(required) ? required : []);
  const inner = Object.entries(properties).map(([key, value]) => [
    key,
    isRecord(value) && always.has(key) ? reduceOutput(value, depth + 1) : {},
  ]);
  return { type, properties: Object.fromEntries(inner) };
}
