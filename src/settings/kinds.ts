/**
 * The kinds of settings: each makes a setting with its description. The checks are plain functions and not schemas:
 * schemas of a hundred settings would cost every process a quarter of a megabyte (measured).
 */

/** How a setting's text (environment, flag) becomes its value. */
type SettingKind = "integer" | "boolean" | "choice" | "text" | "list" | "table";

/** A setting's kind, values, origin and description. */
export interface SettingFacts {
  readonly kind: SettingKind;
  readonly doc: string;
  /** The unit of a number. */
  readonly unit?: string;
  /** The environment variable that sets it. */
  readonly env?: string;
  /**
   * Replaces a wrong value in the file, and an unknown one in a wrong file, where the default would reveal, permit or
   * delete more than the user may want.
   */
  readonly ifWrong?: string | number;
  /** The valid values as text, for messages: "an integer from 1 to 9". */
  readonly expected: string;
}

export interface Setting<T = unknown> extends SettingFacts {
  readonly default: T;
  isValid(value: unknown): value is T;
  /** The first wrong entry of a list, and what is wrong; null: the list itself is. */
  faultIn?(value: unknown): EntryFault | null;
}

export interface EntryFault {
  /** Its place, from 0. */
  readonly entry: number;
  /** The key within it; absent: the whole entry. */
  readonly key?: string;
  readonly text: string;
}

type Extra = Pick<SettingFacts, "unit" | "env" | "ifWrong">;

export function integer(initial: number, min: number, max: number, doc: string, extra: Extra = {}): Setting<number> {
  const isValid = (value: unknown): value is number =>
    typeof value === "number" && Number.isInteger(value) && value >= min && value <= max;
  return { kind: "integer", doc, expected: `an integer from ${min} to ${max}`, default: initial, isValid, ...extra };
}

export function boolean(initial: boolean, doc: string, extra: Extra = {}): Setting<boolean> {
  return { kind: "boolean", doc, expected: "true or false", default: initial, isValid: isBoolean, ...extra };
}

export function choice<const T extends readonly [string, ...string[]]>(
  options: T,
  initial: T[number],
  doc: string,
  extra: Extra = {},
): Setting<T[number]> {
  const isValid = (value: unknown): value is T[number] => options.some((option) => option === value);
  return { kind: "choice", doc, expected: `one of ${options.join(", ")}`, default: initial, isValid, ...extra };
}

export function text(
  initial: string,
  pattern: RegExp,
  expected: string,
  doc: string,
  extra: Extra = {},
): Setting<string> {
  return { kind: "text", doc, expected, default: initial, isValid: isMatching(pattern), ...extra };
}

export function list(pattern: RegExp, expected: string, doc: string): Setting<readonly string[]> {
  const isItem = isMatching(pattern);
  const isValid = (value: unknown): value is string[] => Array.isArray(value) && value.every(isItem);
  return { kind: "list", doc, expected, default: [], isValid };
}

const variableName = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

export function variables(doc: string): Setting<Readonly<Record<string, string>>> {
  const expected = 'a table of variables, such as EDITOR = "vim"';
  return { kind: "table", doc, expected, default: {}, isValid: isVariables };
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === "boolean";
}

function isMatching(pattern: RegExp): (value: unknown) => value is string {
  return (value): value is string => typeof value === "string" && pattern.test(value);
}

function isVariables(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(
    ([name, text]) => variableName.test(name) && typeof text === "string" && !text.includes("\0"),
  );
}
