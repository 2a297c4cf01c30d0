/**
 * Sets or removes one server in a JSON file with comments. Only the bytes of the entry change: comments, order, other
 * keys and the file's own indentation stay. A file that does not parse is refused, never repaired; so is one in which a
 * key of ours stands twice, of which programs read different ones. The result is parsed again and must hold what was
 * intended.
 */
import {
  applyEdits,
  type FormattingOptions,
  type JSONPath,
  modify,
  type Node,
  type ParseError,
  parse,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
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
  const root = readJsonc(result);
  checkPath(root, result, path);
  const existing = at(root, path);
  if (!isObject(existing)) {
    const whole = edited(result, path, entry, formattingOptions);
    return verified(whole, withValue(root, path, entry));
  }
  for (const [key, value] of Object.entries(entry)) {
    if (Bun.deepEquals(at(existing, [key]), value)) continue;
    result = edited(result, [...path, key], value, formattingOptions);
  }
  return verified(result, withValue(root, path, { ...existing, ...entry }));
}

/** The text without the entry at `path`. */
export function removeFromJsonc(text: string, path: readonly string[]): string {
  const root = readJsonc(text);
  if (at(root, path) === undefined) return text;
  checkPath(root, text, path);
  return verified(edited(text, path, undefined, formatOf(text)), withValue(root, path, undefined));
}

/**
 * The text with items of a list changed (undefined: taken out) and others added at its end; comments beside the rest
 * stay. A list that is empty then is removed.
 */
export function changeListInJsonc(
  text: string,
  path: readonly string[],
  change: (item: unknown) => unknown,
  added: readonly unknown[],
): string {
  const formattingOptions = formatOf(text);
  let result = text.trim() === "" ? `{}${formattingOptions.eol}` : text;
  const root = readJsonc(result);
  checkPath(root, result, path);
  const before = at(root, path);
  const found: readonly unknown[] = Array.isArray(before) ? before : [];
  const wanted = [...found.map(change).filter((item) => item !== undefined), ...added];
  if (wanted.length === 0 || !Array.isArray(before)) {
    const value = wanted.length === 0 ? undefined : wanted;
    return verified(edited(result, path, value, formattingOptions), withValue(root, path, value));
  }
  for (const [index, item] of [...found.entries()].reverse()) {
    const next = change(item);
    if (next !== item) result = applyEdits(result, modify(result, [...path, index], next, { formattingOptions }));
  }
  for (const item of added) {
    result = applyEdits(result, modify(result, [...path, -1], item, { formattingOptions, isArrayInsertion: true }));
  }
  return verified(result, withValue(root, path, wanted));
}

function edited(text: string, path: readonly string[], value: unknown, formattingOptions: FormattingOptions): string {
  return applyEdits(text, modify(text, [...path], value, { formattingOptions }));
}

/** @throws WshError invalid_setting where a key on the way stands twice or leads to no object */
function checkPath(root: unknown, text: string, path: readonly string[]): void {
  let node: Node | undefined = parseTree(withoutMark(text), [], PARSE_OPTIONS);
  const seen: JSONPath = [];
  for (const key of [...path, null]) {
    if (node?.type !== "object") break;
    const twice = doubled(node, key);
    if (twice !== undefined) {
      const line = text.slice(0, twice.offset).split("\n").length;
      throw new WshError("invalid_setting", `line ${line}: the key ${twice.value} is there twice`, {
        hint: "Programs disagree about which one counts. Remove one first; the file was left as it is.",
      });
    }
    node = node.children?.find(({ children }) => children?.[0]?.value === key)?.children?.[1];
    if (key === null) break;
    seen.push(key);
    const value = at(root, seen.map(String));
    if (seen.length === path.length || value === undefined || isObject(value)) continue;
    throw new WshError("invalid_setting", `'${seen.join(".")}' is not a JSON object`, {
      hint: "Correct the file first; it was left as it is.",
    });
  }
}

/** The second key of an object that equals an earlier one: `key`, or any if null is given. */
function doubled(object: Node, key: string | null): { offset: number; value: string } | undefined {
  const found = new Set<unknown>();
  for (const { children } of object.children ?? []) {
    const [name] = children ?? [];
    if (name === undefined || (key !== null && name.value !== key)) continue;
    if (found.has(name.value)) return { offset: name.offset, value: JSON.stringify(name.value) };
    found.add(name.value);
  }
  return undefined;
}

function verified(text: string, wanted: unknown): string {
  if (Bun.deepEquals(readJsonc(text), wanted)) return text;
  throw new WshError("invalid_setting", "the file is written in a way that cannot be edited here", {
    hint: "Edit it by hand; it was left as it is.",
  });
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value at a path of keys from a parsed root, undefined when there is none. */
export function at(root: unknown, path: readonly string[]): unknown {
  let value: unknown = root;
  for (const key of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

/** A copy of a parsed root with another value at `path`; undefined removes the key. */
export function withValue(root: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const base = typeof root === "object" && root !== null ? { ...root } : {};
  const inner = withValue(at(base, [key]), rest, value);
  const others = Object.fromEntries(Object.entries(base).filter(([name]) => name !== key));
  return inner === undefined ? others : { ...others, [key]: inner };
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
