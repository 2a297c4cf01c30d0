/**
 * JSON Schema of the schemas that validate and type the operations, for documents and tool lists. It only describes:
 * transformations and checks that JSON Schema cannot express are omitted, since the operation applies them. Pure.
 * Imported only by code that makes a document or a tool list, so that nothing else loads the converter.
 */
import { type ConversionConfig, toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { isSchema } from "./unknown-fields.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

/** The input that a caller may send. */
export function inputJsonSchema(
  schema: v.GenericSchema,
  references: Pick<ConversionConfig, "definitions" | "overrideRef"> = {},
): JsonSchema {
  const { $schema, $defs, ...json } = toJsonSchema(schema, { typeMode: "input", errorMode: "ignore", ...references });
  return json;
}

/** Returns a field's description from any depth: the converter loses one below a transformation. */
export function descriptionOf(field: v.GenericSchema): string | undefined {
  const inner = "wrapped" in field ? field.wrapped : undefined;
  return v.getDescription(field) ?? (isSchema(inner) ? descriptionOf(inner) : undefined);
}
