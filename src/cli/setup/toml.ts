/**
 * Sets or removes one table in a TOML file without changing the rest: a parser gives the lines of each header and of
 * each key with its value; only those of our table change. A table that cannot be edited this way (inline, or with
 * dotted keys) is detected when the result is parsed again, and refused with the lines to add.
 */
import { parse, TomlError } from "smol-toml";
import { type AST, parseTOML } from "toml-eslint-parser";
import { WshError } from "../../protocol/errors.ts";
import { reasonOf } from "../../settings/config-file.ts";
import { valueAt, withValue } from "./jsonc.ts";

/** Integers beyond 2^53 are valid: others' settings may hold them. */
const PARSE_OPTIONS = { integersAsBigInt: "asNeeded" } as const;

interface Statement {
  readonly start: number;
  /** Just after the statement's line end. */
  readonly end: number;
  /** Keys of a `[header]`, undefined for a key with a value. */
  readonly header: readonly string[] | undefined;
  /** First key of `key = value`. */
  readonly key: string | undefined;
  /** The range of the value in `key = value`. */
  readonly value: readonly [number, number] | undefined;
}

/** The value of a file. Throws `invalid_setting` with line, column and the parser's message. */
export function readToml(text: string): unknown {
  try {
    return parse(text, PARSE_OPTIONS);
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    throw new WshError(
      "invalid_setting",
      `not valid TOML: line ${cause.line}, column ${cause.column}: ${reasonOf(cause)}`,
      { hint: "Correct the file first; it was not changed." },
      { cause },
    );
  }
}

/** The text with the keys of `entry` set in the table at `path`; other keys and sub-tables of it stay. */
export function setInToml(
  text: string,
  path: readonly string[],
  entry: Readonly<Record<string, string | readonly string[]>>,
): string {
  const before = readToml(text);
  const existing = valueAt(before, path);
  const existingTable = typeof existing === "object" && existing !== null ? existing : {};
  const wanted = withValue(before, path, { ...existingTable, ...entry });
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const lines = new Map(Object.entries(entry).map(([key, value]) => [key, `${key} = ${toToml(value)}${eol}`]));
  const header = `[${path.map(quoteKey).join(".")}]${eol}`;

  const statements = statementsOf(text);
  const index = statements.findIndex((s) => s.header !== undefined && Bun.deepEquals(s.header, path));
  let result: string;
  if (index === -1) {
    const gap = text === "" ? "" : text.endsWith("\n") ? eol : eol + eol;
    result = text + gap + header + [...lines.values()].join("");
  } else {
    const edits: { start: number; end: number; text: string }[] = [];
    let lastStatement = statements[index];
    for (const statement of statements.slice(index + 1)) {
      if (statement.header !== undefined) break;
      lastStatement = statement;
      const { key, value } = statement;
      const newValue = key === undefined ? undefined : entry[key];
      if (key === undefined || value === undefined || newValue === undefined) continue;
      lines.delete(key);
      if (!Bun.deepEquals(valueAt(existingTable, [key]), newValue)) {
        edits.push({ start: value[0], end: value[1], text: toToml(newValue) });
      }
    }
    const end = lastStatement?.end ?? text.length;
    const gap = text.slice(0, end).endsWith("\n") ? "" : eol;
    if (lines.size > 0) edits.push({ start: end, end, text: gap + [...lines.values()].join("") });
    result = apply(text, edits);
  }
  return verified(
    result,
    wanted,
    header +
      Object.entries(entry)
        .map(([k, v]) => `${k} = ${toToml(v)}\n`)
        .join(""),
  );
}

/** The text without the table at `path` and its sub-tables. */
export function removeFromToml(text: string, path: readonly string[]): string {
  const before = readToml(text);
  if (valueAt(before, path) === undefined) return text;
  const statements = statementsOf(text);
  const edits: { start: number; end: number; text: string }[] = [];
  let isInside = false;
  for (const statement of statements) {
    if (statement.header !== undefined) {
      isInside = statement.header.length >= path.length && path.every((key, i) => statement.header?.[i] === key);
      const gap = /\r?\n(?=\r?\n$)/.exec(text.slice(0, statement.start));
      // The blank line before a table is removed with it.
      if (isInside)
        edits.push({ start: gap ? gap.index + gap[0].length : statement.start, end: statement.end, text: "" });
    } else if (isInside) {
      edits.push({ start: statement.start, end: statement.end, text: "" });
    }
  }
  return verified(apply(text, edits), withValue(before, path, undefined), undefined);
}

/** Parses the result again: any difference from the intended value means that the file uses another form. */
function verified(text: string, wanted: unknown, toAdd: string | undefined): string {
  let result: unknown;
  try {
    result = parse(text, PARSE_OPTIONS);
  } catch {
    result = undefined;
  }
  if (Bun.deepEquals(pruned(result), pruned(wanted))) return text;
  throw new WshError("invalid_setting", "the server's entry is inline or uses dotted keys, which wsh cannot edit", {
    hint: toAdd === undefined ? "Remove it by hand." : `Write it by hand:\n${toAdd}`,
  });
}

/** Removes empty tables, which carry no meaning in these files: a header may stay or go with its last key. */
function pruned(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value)
    .map(([key, inner]) => [key, pruned(inner)] as const)
    .filter(([, inner]) => !(typeof inner === "object" && inner !== null && Object.keys(inner).length === 0));
  return Object.fromEntries(entries);
}

function apply(text: string, edits: readonly { start: number; end: number; text: string }[]): string {
  let result = text;
  for (const edit of [...edits].sort((a, b) => b.start - a.start)) {
    result = result.slice(0, edit.start) + edit.text + result.slice(edit.end);
  }
  return result;
}

/** Strings in TOML basic form are JSON strings, for everything that JSON escapes. */
function toToml(value: string | readonly string[]): string {
  return typeof value === "string"
    ? JSON.stringify(value)
    : `[${value.map((item) => JSON.stringify(item)).join(", ")}]`;
}

function quoteKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key);
}

/** Every header and key of the file, each with all of its lines. */
function statementsOf(text: string): Statement[] {
  // A byte order mark stays, and counts as a blank.
  const [top] = parseTOML(text.replace(/^\ufeff/, " ")).body;
  return top.body.flatMap((node) => {
    if (node.type === "TOMLKeyValue") return [keyStatement(text, node)];
    const lines = linesOf(text, node.range[0], node.key.range[1]);
    const header = { ...lines, header: keysOf(node.key), key: undefined, value: undefined };
    return [header, ...node.body.map((entry) => keyStatement(text, entry))];
  });
}

function keyStatement(text: string, { key, value, range }: AST.TOMLKeyValue): Statement {
  return { ...linesOf(text, ...range), header: undefined, key: keysOf(key)[0], value: value.range };
}

function keysOf({ keys }: AST.TOMLKey): string[] {
  return keys.map((key) => (key.type === "TOMLBare" ? key.name : key.value));
}

/** The whole lines that a range touches. */
function linesOf(text: string, from: number, to: number): { start: number; end: number } {
  const newline = text.indexOf("\n", to);
  return { start: text.lastIndexOf("\n", from - 1) + 1, end: newline === -1 ? text.length : newline + 1 };
}
