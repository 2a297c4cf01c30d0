/**
 * Reads the table `[keys]` of the settings: changes to the bindings after the prefix, and in its own tables `[keys.root]`,
 * `[keys.copy]` and `[keys.NAME]` those of the other tables. Each entry is an operation with its input in one line
 * (`"pane.split direction=down"`), several in a list, a table (`{ operation, session, input, repeat, description }` or
 * `{ do, repeat, description }`), or `"none"`. Pure: the caller checks whether an operation exists and takes the input.
 *
 * Invariant: an entry is parsed completely or refused, with its place in the file and the reason.
 */
import { defined } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import { isRecord } from "../protocol/json.ts";
import { type Binding, type BoundCall, callsOf, describeCall, keyName, makeViewCall } from "./bindings.ts";
import { type CommandLine, parseCommandLine, TARGET_PARAMETER } from "./line.ts";
import { ALT, CTRL, type Key, SHIFT } from "./names.ts";
import { parseKeyName } from "./parse-name.ts";
import { flatKey, type KeyChanges, parseCopyModeAction } from "./tables.ts";
import { isViewOperation } from "./view-operations.ts";

/** An entry of the table, with its place for messages. */
export interface ConfiguredKey {
  /** Name of the table within `[keys]`; absent: the keys after the prefix. */
  readonly table?: string;
  readonly key: string;
  readonly value: unknown;
  readonly path: string;
  readonly line: number;
}

/** Longest description in characters, and most operations of one key. */
const MAX_DESCRIPTION = 256;
const MAX_CALLS = 16;

/** Reads calls of operations. Both throw a WshError for an unknown operation or an invalid input. */
interface OperationReader {
  readCall(line: CommandLine): BoundCall;
  check(operation: string, input: Readonly<Record<string, unknown>>): void;
  /** Receives an entry's error instead of throwing it: the key then keeps its binding. */
  onFault?(error: WshError): void;
}

/**
 * Returns the changes, flat; null binds a key to nothing.
 * @throws WshError invalid_setting with `key`, `file`, `line`
 */
export function parseBindings(entries: readonly ConfiguredKey[], reader: OperationReader): KeyChanges {
  const changes: Record<string, Binding | null> = {};
  const lines = new Map<string, number>();
  const tables = new Set(entries.map(({ table = "prefix" }) => table));
  for (const { table: tableName, key, value, path, line } of entries) {
    const table = tableName ?? "prefix";
    try {
      if (tableName === "prefix") throw new WshError("invalid_setting", "keys after the prefix belong in [keys]");
      const name = flatKey(table, bindingName(parseKeyName(key)));
      const before = lines.get(name);
      if (before !== undefined) throw new WshError("invalid_setting", `is already bound on line ${before}`);
      lines.set(name, line);
      const binding = parseBinding(value, reader);
      if (binding !== null) requireFits(binding, table, tables);
      changes[name] = binding;
    } catch (thrown) {
      const error = WshError.from(thrown);
      const where = tableName === undefined ? "[keys]" : `[keys.${tableName}]`;
      const message = `${path}:${line}: ${where} ${JSON.stringify(key)}: ${error.message}`;
      const hint = "`wsh keys` lists the bindings; docs/keys.md describes what can be bound.";
      const located = new WshError("invalid_setting", message, { key, file: path, line, hint }, { cause: thrown });
      if (reader.onFault === undefined) throw located;
      reader.onFault(located);
    }
  }
  return changes;
}

/** A key by its name in tables of bindings. */
export function bindingName({ key, modifiers }: Key): string {
  const modifierList = [
    ...((modifiers & CTRL) !== 0 ? (["ctrl"] as const) : []),
    ...((modifiers & ALT) !== 0 ? (["alt"] as const) : []),
    ...((modifiers & SHIFT) !== 0 ? (["shift"] as const) : []),
  ];
  return keyName({ key: "char" in key ? key.char : key.named, modifiers: modifierList });
}

/** @throws WshError for a binding that has no effect in its table */
function requireFits(binding: Binding, table: string, tables: ReadonlySet<string>): void {
  const calls = callsOf(binding);
  for (const { operation, input } of calls) {
    if (operation === "view.table" && input.table !== "prefix" && !tables.has(String(input.table)))
      throw new WshError("invalid_setting", `there is no table [keys.${input.table}]`);
    if (parseCopyModeAction(operation) === null) continue;
    if (table !== "copy") throw new WshError("invalid_setting", `'${operation}' can be bound only in [keys.copy]`);
    if (calls.length > 1) throw new WshError("invalid_setting", `'${operation}' cannot be part of a list`);
  }
}

function parseBinding(value: unknown, reader: OperationReader): Binding | null {
  if (typeof value === "string" && value.trim() === "none") return null;
  if (typeof value === "string") return parseBindingLine(value, reader);
  return Array.isArray(value) ? makeBinding(parseCalls(value, reader), {}) : parseBindingTable(value, reader);
}

/** The binding in a line. @throws WshError */
export function parseBindingLine(
  text: string,
  reader: Pick<OperationReader, "readCall">,
  answer: string | null = null,
): Binding {
  return makeBinding([parseCallLine(text, reader, answer)], {});
}

/** @param answer the text that replaces `%%` in values, whatever characters it has */
function parseCallLine(
  text: string,
  reader: Pick<OperationReader, "readCall">,
  answer: string | null = null,
): BoundCall {
  const parsedLine = parseCommandLine(text);
  const filled = Object.entries(parsedLine.parameters).map(([name, value]) => [
    name,
    value.replaceAll("%%", () => answer ?? ""),
  ]);
  const line = answer === null ? parsedLine : { ...parsedLine, parameters: Object.fromEntries(filled) };
  if (isViewOperation(line.operation)) return makeViewCall(line.operation, line.parameters);
  if (parseCopyModeAction(line.operation) === null) return reader.readCall(line);
  const [stray] = Object.keys(line.parameters);
  if (stray !== undefined) throw new WshError("invalid_setting", `${line.operation} takes no parameters`);
  return { operation: line.operation, input: {} };
}

function parseCalls(lines: readonly unknown[], reader: OperationReader): BoundCall[] {
  if (lines.length === 0 || lines.length > MAX_CALLS)
    throw new WshError("invalid_setting", `a list has 1 to ${MAX_CALLS} operations`);
  return lines.map((line) => {
    if (typeof line === "string") return parseCallLine(line, reader);
    throw new WshError("invalid_setting", "every entry of a list must be a line");
  });
}

function makeBinding(
  [first, ...further]: readonly BoundCall[],
  { description, repeat = false }: { readonly description?: string | undefined; readonly repeat?: boolean },
): Binding {
  if (first === undefined) throw new WshError("invalid_setting", "the operation is missing");
  return {
    ...first,
    ...(further.length === 0 ? {} : { further }),
    description: (description ?? [first, ...further].map(describeCall).join("; ")).slice(0, MAX_DESCRIPTION),
    ...(repeat ? { repeat } : {}),
  };
}

function parseBindingTable(value: unknown, reader: OperationReader): Binding {
  if (!isRecord(value)) throw new WshError("invalid_setting", "must be a line, a list of lines or a table");
  const { operation, input, repeat = false, description, do: lines, [TARGET_PARAMETER]: target, ...rest } = value;
  const [stray] = Object.keys(rest);
  if (stray !== undefined) throw new WshError("invalid_setting", `unknown field '${stray}'`);
  if (typeof repeat !== "boolean") throw new WshError("invalid_setting", "'repeat' must be true or false");
  if (description !== undefined && typeof description !== "string")
    throw new WshError("invalid_setting", "'description' must be text");
  if (lines !== undefined) {
    if (operation !== undefined || input !== undefined || target !== undefined)
      throw new WshError("invalid_setting", "'do' cannot be used with 'operation', 'input' or 'session'");
    return makeBinding(parseCalls(Array.isArray(lines) ? lines : [lines], reader), { description, repeat });
  }
  if (typeof operation !== "string") throw new WshError("invalid_setting", "'operation' is missing");
  if (input !== undefined && !isRecord(input)) throw new WshError("invalid_setting", "'input' must be a table");
  if (target !== undefined && typeof target !== "string")
    throw new WshError("invalid_setting", `'${TARGET_PARAMETER}' must be text`);
  const about = target === undefined ? {} : { [TARGET_PARAMETER]: target };
  if (isViewOperation(operation))
    return makeBinding([makeViewCall(operation, { ...input, ...about })], { description, repeat });
  if (parseCopyModeAction(operation) !== null)
    return makeBinding([parseCallLine(operation, reader)], { description, repeat });
  reader.check(operation, input ?? {});
  return makeBinding([{ operation, input: input ?? {}, ...defined({ target }) }], { description, repeat });
}
