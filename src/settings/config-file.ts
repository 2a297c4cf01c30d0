/** config.toml as text: its values, and the line of each key. Pure; the caller reads the file. */
import { parse, TomlError } from "smol-toml";
import { WshError } from "../protocol/errors.ts";

export interface ConfigText {
  readonly values: Readonly<Record<string, unknown>>;
  /** The line of a key or table at the top level, 1-based; 1 when unknown. */
  lineOf(key: string): number;
  /** The line of a key in a table, `keys` or `keys.root`, 1-based; the table's when unknown. */
  lineIn(table: string, key: string): number;
  /** The lines of the tables of an array, `[[on]]`, in order. */
  linesOfTables(name: string): number[];
  /** The line of a key in the table whose header is in that line; the header's when unknown. */
  lineBelow(header: number, key: string): number;
  /** The line of the n-th entry, from 0, of a list at the top level, or of a key in it; the nearest known one. */
  lineOfEntry(list: string, n: number, key?: string): number;
}

/** Parses TOML; `path` is for the message. @throws WshError invalid_setting with `file`, `line` and `column` */
export function parseConfig(text: string, path: string): ConfigText {
  const lines = text.split("\n");
  try {
    return {
      values: parse(text),
      lineOf: (key) => keyLine(lines, key),
      lineIn: (table, key) => lineIn(lines, table, key),
      lineBelow: (header, key) => lineBelow(lines, header, key),
      linesOfTables: (name) => linesOfTables(lines, name),
      lineOfEntry: (list, n, key) => {
        const header = linesOfTables(lines, list)[n];
        if (header === undefined) return entryLine(lines, keyLine(lines, list), n);
        return key === undefined ? header : lineBelow(lines, header, key);
      },
    };
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    const { line, column } = cause;
    const shown = (lines[line - 1] ?? "").trim();
    const message = `${path}:${line}:${column}: ${reasonOf(cause)}${shown === "" ? "" : ` in '${shown}'`}`;
    throw new WshError("invalid_setting", message, { file: path, line, column }, { cause });
  }
}

/** The reason, without the excerpt of the file that the parser adds. */
export function reasonOf({ message }: TomlError): string {
  return (message.split("\n")[0] ?? message).replace(/^Invalid TOML document: /, "");
}

function keyLine(lines: readonly string[], key: string): number {
  const name = key.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const pattern = new RegExp(`^\\s*(?:\\[\\[?\\s*)?["']?${name}["']?\\s*[=.\\]]`);
  const index = lines.findIndex((line) => pattern.test(line));
  return index === -1 ? 1 : index + 1;
}

function linesOfTables(lines: readonly string[], name: string): number[] {
  return lines.flatMap((line, index) => (line.replaceAll(/\s/g, "").startsWith(`[[${name}]]`) ? [index + 1] : []));
}

/** What separates the entries of a list: strings and comments hide brackets and commas. */
const listTokens = /"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*|[[\]{},\n]|[^\s[\]{},"'#]+/g;

function entryLine(lines: readonly string[], first: number, n: number): number {
  let line = first;
  let depth = 0;
  let entry = 0;
  const text = lines.slice(first - 1).join("\n");
  for (const { 0: token } of text.slice(text.indexOf("=") + 1).matchAll(listTokens)) {
    const isBreak = token === "\n" || token.startsWith("#");
    if (depth === 1 && entry === n && !isBreak && token !== "]" && token !== ",") return line;
    if (token === "[" || token === "{") depth++;
    else if (token === "]" || token === "}") depth--;
    else if (token === "," && depth === 1) entry++;
    if (depth === 0 && !isBreak) return first;
    line += token.split("\n").length - 1;
  }
  return first;
}

/** A key at the beginning of a line: basic, literal or bare. */
const keyAtStart = /^\s*(?:("(?:[^"\\]|\\.)*")|'([^']*)'|([A-Za-z0-9_-]+))\s*[=.]/;

function lineIn(lines: readonly string[], table: string, key: string): number {
  const header = lines.findIndex((line) => line.replace(/#.*/, "").replaceAll(/[\s"']/g, "") === `[${table}]`);
  return lineBelow(lines, header === -1 ? keyLine(lines, table) : header + 1, key);
}

function lineBelow(lines: readonly string[], first: number, key: string): number {
  for (let index = first; index < lines.length && !/^\s*\[/.test(lines[index] ?? ""); index++) {
    const [, basic, literal, bare] = keyAtStart.exec(lines[index] ?? "") ?? [];
    if ((basic === undefined ? (literal ?? bare) : unquoted(basic)) === key) return index + 1;
  }
  return first;
}

/** TOML's basic strings are JSON's, but for a few escapes. */
function unquoted(text: string): string | null {
  try {
    return String(JSON.parse(text));
  } catch {
    return null;
  }
}
