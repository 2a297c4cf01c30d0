/**
 * Reads the table `[keys]` of the settings: changes to what keys do after the prefix. Each entry is an operation with
 * its input in one line (`"pane.split direction=down"`), a table of the same (`{ operation, input, repeat }`), or
 * `"none"`. Pure: whether an operation exists and takes the input is asked of the caller.
 *
 * What must stay true: an entry is read wholly or refused, with its place in the file and what is wrong.
 */
import { WshError } from "../protocol/errors.ts";
import { type Binding, isViewOperation, viewOperations } from "./bindings.ts";
import { ALT, CTRL, parseKeyName, SHIFT } from "./names.ts";

/** An entry of the table, with its place for messages. */
export interface ConfiguredKey {
  readonly key: string;
  readonly value: unknown;
  readonly path: string;
  readonly line: number;
}

/**
 * Returns the changes by key name as events have it; null binds a key to nothing.
 * @param check throws a WshError for an operation that does not exist or take the input
 * @throws WshError invalid_setting with `key`, `file`, `line`
 */
export function configuredBindings(
  entries: readonly ConfiguredKey[],
  check: (operation: string, input: Readonly<Record<string, unknown>>) => void,
): Record<string, Binding | null> {
  const changes: Record<string, Binding | null> = {};
  const lines = new Map<string, number>();
  for (const { key, value, path, line } of entries) {
    try {
      const name = nameOf(key);
      const before = lines.get(name);
      if (before !== undefined) throw new WshError("invalid_setting", `is the key of line ${before}`);
      lines.set(name, line);
      changes[name] = bindingOf(value, check);
    } catch (thrown) {
      const error = WshError.from(thrown);
      const message = `${path}:${line}: [keys] ${JSON.stringify(key)}: ${error.message}`;
      const hint = "`wsh keys` shows what keys do; docs/keys.md what can be bound.";
      throw new WshError("invalid_setting", message, { key, file: path, line, hint }, { cause: thrown });
    }
  }
  return changes;
}

function nameOf(text: string): string {
  const { key, modifiers } = parseKeyName(text);
  const held = [
    ...((modifiers & CTRL) !== 0 ? ["ctrl"] : []),
    ...((modifiers & ALT) !== 0 ? ["alt"] : []),
    ...((modifiers & SHIFT) !== 0 ? ["shift"] : []),
  ];
  return [...held, "char" in key ? key.char : key.named].join("+");
}

function bindingOf(
  value: unknown,
  check: (operation: string, input: Readonly<Record<string, unknown>>) => void,
): Binding | null {
  if (typeof value === "string" && value.trim() === "none") return null;
  const bound = typeof value === "string" ? fromLine(value) : fromTable(value);
  const { operation, input } = bound;
  if (isViewOperation(operation)) {
    if (Object.keys(input).length > 0) throw new WshError("invalid_setting", `${operation} takes no parameters`);
    return { ...bound, says: viewOperations[operation] };
  }
  check(operation, input);
  return bound;
}

function fromTable(value: unknown): Binding {
  if (!isRecord(value)) throw new WshError("invalid_setting", "is neither text nor a table");
  const { operation, input = {}, repeat = false, says, ...rest } = value;
  const [stray] = Object.keys(rest);
  if (stray !== undefined) throw new WshError("invalid_setting", `there is no field '${stray}'`);
  if (typeof operation !== "string") throw new WshError("invalid_setting", "has no 'operation'");
  if (!isRecord(input)) throw new WshError("invalid_setting", "'input' is no table");
  if (typeof repeat !== "boolean") throw new WshError("invalid_setting", "'repeat' is neither true nor false");
  if (says !== undefined && typeof says !== "string") throw new WshError("invalid_setting", "'says' is no text");
  return { operation, input, says: says ?? inWords(operation, input), ...(repeat ? { repeat } : {}) };
}

/** `pane.split direction=down command="make test"` */
function fromLine(text: string): Binding {
  const [operation, ...words] = wordsOf(text);
  if (operation === undefined) throw new WshError("invalid_setting", "names no operation");
  const input: Record<string, unknown> = {};
  for (const word of words) {
    const at = word.indexOf("=");
    if (at <= 0) throw new WshError("invalid_setting", `'${word}' is not NAME=VALUE`);
    input[word.slice(0, at)] = parameterValue(word.slice(at + 1));
  }
  return { operation, input, says: inWords(operation, input) };
}

/** The words of a line; quotes of either kind keep blanks together. @throws WshError for one that is not closed */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  let quote = "";
  for (const char of text) {
    if (quote !== "") {
      if (char === quote) quote = "";
      else word += char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= "";
    } else if (/\s/.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? "") + char;
  }
  if (quote !== "") throw new WshError("invalid_request", `a quotation mark ${quote} is not closed`);
  return word === null ? words : [...words, word];
}

/** A parameter's value: numbers, true, false, lists and tables are what JSON says, all else is text. */
export function parameterValue(text: string): unknown {
  if (!/^(-?\d|true$|false$|null$|[[{])/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function inWords(operation: string, input: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(input).map(([name, value]) => {
    return `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`;
  });
  return [operation, ...fields].join(" ").slice(0, 256);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
