/**
 * Sets or removes one server in a JSON file with comments. Only the bytes of the entry change (jsonc-edit.ts):
 * comments, order, other keys and the file's own indentation stay. A file that does not parse is refused, never
 * repaired, as is a file with a duplicate of one of our keys, since programs disagree on which counts. The result is
 * parsed again and must contain the intended entry.
 */
import { type JSONPath, type Node, type ParseError, parse, parseTree, printParseErrorCode } from "jsonc-parser";
import { WshError } from "../../protocol/errors.ts";
import { isRecord } from "../../protocol/json.ts";
import { editedAt, PARSE_OPTIONS, withoutMark } from "./jsonc-edit.ts";

/** The value of a file, {} when it is empty. Throws `invalid_setting` with the line of the first mistake. */
export function readJsonc(text: string): unknown {
  const mistakes: ParseError[] = [];
  const value: unknown = parse(withoutMark(text), mistakes, PARSE_OPTIONS);
  const [first] = mistakes;
  if (first !== undefined) {
    const line = text.slice(0, first.offset).split("\n").length;
    throw new WshError("invalid_setting", `line ${line} is not valid JSON (${printParseErrorCode(first.error)})`, {
      hint: "Correct the file first; it was not changed.",
    });
  }
  const root = value ?? {};
  if (typeof root !== "object" || Array.isArray(root)) {
    throw new WshError("invalid_setting", "the file does not hold a JSON object", {
      hint: "Correct the file first; it was not changed.",
    });
  }
  return root;
}

/** The text with the keys of `entry` set in `path`; other keys of an existing entry stay. */
export function setInJsonc(text: string, path: readonly string[], entry: Readonly<Record<string, unknown>>): string {
  const root = readJsonc(text);
  checkPath(root, text, path);
  const existing = valueAt(root, path);
  return changed(text, root, path, isRecord(existing) ? { ...existing, ...entry } : entry);
}

/** The text without the entry at `path`. */
export function removeFromJsonc(text: string, path: readonly string[]): string {
  const root = readJsonc(text);
  if (valueAt(root, path) === undefined) return text;
  checkPath(root, text, path);
  return changed(text, root, path, undefined);
}

/** The text with items of a list changed (undefined: removed) and others added at its end. Removes an empty list. */
export function changeListInJsonc(
  text: string,
  path: readonly string[],
  change: (item: unknown) => unknown,
  added: readonly unknown[],
): string {
  const root = readJsonc(text);
  checkPath(root, text, path);
  const before = valueAt(root, path);
  const found: readonly unknown[] = Array.isArray(before) ? before : [];
  const items = [...found.map(change).filter((item) => item !== undefined), ...added];
  return changed(text, root, path, items.length === 0 ? undefined : items);
}

function changed(text: string, root: unknown, path: readonly string[], value: unknown): string {
  return verified(editedAt(text, path, value), withValue(root, path, value));
}

/** @throws WshError invalid_setting when a key on the path occurs twice or is not an object */
function checkPath(root: unknown, text: string, path: readonly string[]): void {
  let node: Node | undefined = parseTree(withoutMark(text), [], PARSE_OPTIONS);
  const seen: JSONPath = [];
  for (const key of [...path, null]) {
    if (node?.type !== "object") break;
    const twice = doubled(node, key);
    if (twice !== undefined) {
      const line = text.slice(0, twice.offset).split("\n").length;
      throw new WshError("invalid_setting", `line ${line}: duplicate key ${twice.value}`, {
        hint: "Programs disagree about which one counts. Remove one first; the file was not changed.",
      });
    }
    node = node.children?.find(({ children }) => children?.[0]?.value === key)?.children?.[1];
    if (key === null) break;
    seen.push(key);
    const value = valueAt(root, seen.map(String));
    if (seen.length === path.length || value === undefined || isRecord(value)) continue;
    throw new WshError("invalid_setting", `'${seen.join(".")}' is not a JSON object`, {
      hint: "Correct the file first; it was not changed.",
    });
  }
}

/** The second key of an object that equals an earlier one: `key`, or any if null is given. */
function doubled(object: Node, key: string | null): { offset: number; value: string } | undefined {
  const seenKeys = new Set<unknown>();
  for (const { children } of object.children ?? []) {
    const [name] = children ?? [];
    if (name === undefined || (key !== null && name.value !== key)) continue;
    if (seenKeys.has(name.value)) return { offset: name.offset, value: JSON.stringify(name.value) };
    seenKeys.add(name.value);
  }
  return undefined;
}

function verified(text: string, wanted: unknown): string {
  if (Bun.deepEquals(readJsonc(text), wanted)) return text;
  throw new WshError("invalid_setting", "wsh cannot edit this file", {
    hint: "Edit it by hand; it was not changed.",
  });
}

/** The value at a path of keys from a parsed root, undefined when missing. */
export function valueAt(root: unknown, path: readonly string[]): unknown {
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
  const inner = withValue(valueAt(base, [key]), rest, value);
  const others = Object.fromEntries(Object.entries(base).filter(([name]) => name !== key));
  return inner === undefined ? others : { ...others, [key]: inner };
}
