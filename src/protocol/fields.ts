/**
 * Fields of schemas, in the form for operations and tools: each has the description that documents and tool lists
 * print.
 */
import * as v from "valibot";

type Described<S extends v.GenericSchema> = v.SchemaWithPipe<
  readonly [S, v.DescriptionAction<v.InferOutput<S>, string>]
>;

/** A schema with its description. */
export function described<S extends v.GenericSchema>(schema: S, text: string): Described<S> {
  return v.pipe(schema, v.description<v.InferOutput<S>, string>(text));
}

/** A field that may be absent; its value is then `absent`. */
export function optional<S extends v.GenericSchema>(schema: S, text: string): v.OptionalSchema<Described<S>, undefined>;
export function optional<S extends v.GenericSchema, const D extends v.Default<Described<S>, undefined>>(
  schema: S,
  text: string,
  absent: D,
): v.OptionalSchema<Described<S>, D>;
export function optional<S extends v.GenericSchema>(schema: S, text: string, absent?: v.InferInput<S>) {
  return v.optional(described(schema, text), absent);
}

/** Whole numbers of at least `min`. */
export const integerFrom = (min: number) => v.pipe(v.number(), v.integer(), v.minValue(min));

/** Whole numbers from `min` to `max`. */
export const integerBetween = (min: number, max: number) => v.pipe(integerFrom(min), v.maxValue(max));
