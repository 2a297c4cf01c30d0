/** The kinds of settings: each makes the schema of one, with what is said of it. */
import * as v from "valibot";
import { integerBetween } from "../protocol/fields.ts";

/** How a setting's text (environment, flag) becomes its value. */
type SettingKind = "integer" | "boolean" | "choice" | "text" | "list" | "table";

/** Properties of a setting besides its schema. */
export interface SettingFacts {
  readonly kind: SettingKind;
  readonly doc: string;
  /** The unit of a number. */
  readonly unit?: string;
  /** The environment variable that sets it. */
  readonly env?: string;
  /** Values in words, for messages: "an integer from 1 to 9". */
  readonly expected: string;
}

type Extra = Pick<SettingFacts, "unit" | "env">;

export function integer(initial: number, min: number, max: number, doc: string, extra: Extra = {}) {
  const range = integerBetween(min, max);
  const facts: SettingFacts = { kind: "integer", doc, expected: `an integer from ${min} to ${max}`, ...extra };
  return v.pipe(v.optional(range, initial), v.metadata({ ...facts }));
}

export function boolean(initial: boolean, doc: string, extra: Extra = {}) {
  const facts: SettingFacts = { kind: "boolean", doc, expected: "true or false", ...extra };
  return v.pipe(v.optional(v.boolean(), initial), v.metadata({ ...facts }));
}

export function choice<const T extends readonly [string, ...string[]]>(
  options: T,
  initial: T[number],
  doc: string,
  extra: Extra = {},
) {
  const facts: SettingFacts = { kind: "choice", doc, expected: `one of ${options.join(", ")}`, ...extra };
  return v.pipe(v.optional(v.picklist(options), initial), v.metadata({ ...facts }));
}

export function text(initial: string, pattern: RegExp, expected: string, doc: string, extra: Extra = {}) {
  const facts: SettingFacts = { kind: "text", doc, expected, ...extra };
  return v.pipe(v.optional(v.pipe(v.string(), v.regex(pattern)), initial), v.metadata({ ...facts }));
}

export function list(pattern: RegExp, expected: string, doc: string, extra: Extra = {}) {
  const facts: SettingFacts = { kind: "list", doc, expected, ...extra };
  return v.pipe(v.optional(v.array(v.pipe(v.string(), v.regex(pattern))), []), v.metadata({ ...facts }));
}

export function variables(doc: string) {
  const facts: SettingFacts = { kind: "table", doc, expected: 'a table of variables, such as EDITOR = "vim"' };
  const name = v.pipe(v.string(), v.regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/));
  const table = v.record(name, v.pipe(v.string(), v.regex(/^[^\0]*$/)));
  return v.pipe(v.optional(table, {}), v.metadata({ ...facts }));
}
