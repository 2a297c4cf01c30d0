/**
 * Sets or removes one server in a JSON file with comments. Only the bytes of the entry change: comments, order, other
 * keys and the file's own indentation stay. A file that does not parse is refused, never repaired.
 */
import { applyEdits, type FormattingOptions, modify, type ParseError, parse, printParseErrorCode } from "jsonc-parser";
import { WshError } from "../../protocol/errors.ts";

/** Hosts that read these files accept comments and trailing commas, and so do we. */
const PARSE_OPTIONS = { allowTrailingComma: true, disallowComments: false, allowEmptyContent: true } as const;

/** The value of a file, {} when it is empty. Throws `invalid_setting` with the line of the first mistake. */
export function readJsonc(text: string): unknown {
  const mistakes: ParseError[] = [];
  const value: unknown = parse(withoutMark(text), mistakes, PARSE_OPTIONS);
  const [first] = mistakes;
  if (first !== undefined) {
    const line = text.slice(0, first.offset).split("\n").length;
    throw new WshError("invalid_setting", `line ${line} is not valid JSON (${printParseErrorCode(first.error)})`, {
      hint: "Correct the file first; it was left as it is.",
    });
  }
  const root = value ?? {};
  if (typeof root !== "object" || Array.isArray(root)) {
    throw new WshError("invalid_setting", "the file does not hold a JSON object", {
      hint: "Correct the file first; it was left as it is.",
    });
  }
  return root;
}

/** The text with the keys of `entry` set in `path`; other keys of an existing entry stay. */
export function setInJsonc(text: string, path: readonly string[], entry: Readonly<Record<string, unknown>>): string {
  const formattingOptions = formatOf(text);
  let result = text.trim() === "" ? `{}${formattingOptions.eol}` : text;
  const existing = at(readJsonc(result), path);
  if (typeof existing !== "object" || existing === null) {
    return applyEdits(result, modify(result, [...path], entry, { formattingOptions }));
  }
  for (const [key, value] of Object.entries(entry)) {
    if (Bun.deepEquals(at(existing, [key]), value)) continue;
    result = applyEdits(result, modify(result, [...path, key], value, { formattingOptions }));
  }
  return result;
}

/** The text without the entry at `path`. */
export function removeFromJsonc(text: string, path: readonly string[]): string {
  if (at(readJsonc(text), path) === undefined) return text;
  return applyEdits(text, modify(text, [...path], undefined, { formattingOptions: formatOf(text) }));
}

/** What is found by following keys from a parsed root, undefined when there is nothing. */
export function at(root: unknown, path: readonly string[]): unknown {
  let value: unknown = root;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

/** A byte order mark is kept in the text; the parser must not see it. Same length, so that offsets agree. */
function withoutMark(text: string): string {
  return text.startsWith("\uFEFF") ? ` ${text.slice(1)}` : text;
}

/** The indentation and line ends that the file uses already; two spaces and LF in a new one. */
function formatOf(text: string): FormattingOptions & { eol: string } {
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
  const insertSpaces = !indent.startsWith("\t");
  return { insertSpaces, tabSize: insertSpaces ? indent.length : 1, eol: text.includes("\r\n") ? "\r\n" : "\n" };
}
