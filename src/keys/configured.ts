/**
 * Reads the table `[keys]` of the settings: changes to the bindings after the prefix. Each entry is an operation with
 * its input in one line (`"pane.split direction=down"`), a table of the same (`{ operation, session, input, repeat }`),
 * or `"none"`. Pure: the caller checks whether an operation exists and takes the input.
 *
 * Invariant: an entry is parsed completely or refused, with its place in the file and the reason.
 */
import { WshError } from "../protocol/errors.ts";
import { type Binding, isViewOperation, viewBinding } from "./bindings.ts";
import { type CommandLine, parseCommandLine, TARGET_PARAMETER } from "./line.ts";
import { ALT, CTRL, parseKeyName, SHIFT } from "./names.ts";

/** An entry of the table, with its place for messages. */
export interface ConfiguredKey {
  readonly key: string;
  readonly value: unknown;
  readonly path: string;
  readonly line: number;
}

/** An operation with its target and input. */
export type Call = Pick<Binding, "operation" | "input" | "target">;

/** Reads calls of operations. Both throw a WshError for an operation that does not exist or take the input. */
export interface OperationReader {
  line(line: CommandLine): Call;
  check(operation: string, input: Readonly<Record<string, unknown>>): void;
  /** The prefix key's name, as events have it. */
  readonly prefix?: string | undefined;
  /** Takes an entry's fault instead of an error: the key then keeps its binding. */
  fault?(message: string): void;
}

/**
 * Returns the changes by key name as events have it; null binds a key to nothing.
 * @throws WshError invalid_setting with `key`, `file`, `line`
 */
export function configuredBindings(
  entries: readonly ConfiguredKey[],
  reader: OperationReader,
): Record<string, Binding | null> {
  const changes: Record<string, Binding | null> = {};
  const lines = new Map<string, number>();
  for (const { key, value, path, line } of entries) {
    try {
      const name = nameOf(key);
      if (name === reader.prefix)
        throw new WshError("invalid_setting", "is the prefix key; pressed twice, it detaches");
      const before = lines.get(name);
      if (before !== undefined) throw new WshError("invalid_setting", `is already bound in line ${before}`);
      lines.set(name, line);
      changes[name] = bindingOf(value, reader);
    } catch (thrown) {
      const error = WshError.from(thrown);
      const message = `${path}:${line}: [keys] ${JSON.stringify(key)}: ${error.message}`;
      if (reader.fault !== undefined) {
        reader.fault(`${message}: ignored`);
        continue;
      }
      const hint = "`wsh keys` lists the bindings; docs/keys.md describes what can be bound.";
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

function bindingOf(value: unknown, reader: OperationReader): Binding | null {
  if (typeof value === "string" && value.trim() === "none") return null;
  return typeof value === "string" ? bindingOfLine(value, reader) : fromTable(value, reader);
}

/** The binding in a line. @throws WshError */
export function bindingOfLine(text: string, reader: Pick<OperationReader, "line">): Binding {
  const line = parseCommandLine(text);
  if (isViewOperation(line.operation)) return viewBinding(line.operation, line.parameters);
  const call = reader.line(line);
  return { ...call, says: inWords(call) };
}

function fromTable(value: unknown, reader: OperationReader): Binding {
  if (!isRecord(value)) throw new WshError("invalid_setting", "must be text or a table");
  const { operation, input = {}, repeat = false, says, [TARGET_PARAMETER]: target, ...rest } = value;
  const [stray] = Object.keys(rest);
  if (stray !== undefined) throw new WshError("invalid_setting", `unknown field '${stray}'`);
  if (typeof operation !== "string") throw new WshError("invalid_setting", "'operation' is missing");
  if (!isRecord(input)) throw new WshError("invalid_setting", "'input' must be a table");
  if (typeof repeat !== "boolean") throw new WshError("invalid_setting", "'repeat' must be true or false");
  if (says !== undefined && typeof says !== "string") throw new WshError("invalid_setting", "'says' must be text");
  if (target !== undefined && typeof target !== "string")
    throw new WshError("invalid_setting", `'${TARGET_PARAMETER}' must be text`);
  const about = target === undefined ? {} : { target };
  const again = repeat ? { repeat } : {};
  if (isViewOperation(operation)) {
    const bound = viewBinding(operation, { ...input, ...(target === undefined ? {} : { [TARGET_PARAMETER]: target }) });
    return { ...bound, says: says ?? bound.says, ...again };
  }
  reader.check(operation, input);
  const call = { operation, input, ...about };
  return { ...call, says: says ?? inWords(call), ...again };
}

function inWords({ operation, input, target }: Call): string {
  const about = target === undefined ? {} : { [TARGET_PARAMETER]: target };
  const fields = Object.entries({ ...about, ...input }).map(([name, value]) => {
    return `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`;
  });
  return [operation, ...fields].join(" ").slice(0, 256);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
