/**
 * Parses a line of parameters into a call (`pane.split direction=down percent=40`): every value is written as text and
 * converted by the operation's schema. Pure.
 *
 * Invariant: a line is parsed completely, or refused with the reason.
 */
import { WshError } from "../protocol/errors.ts";
import { parsePlace, parseTarget } from "../protocol/names.ts";
import { parseInput } from "./call.ts";
import type { Operation } from "./define.ts";
import { findOperation, type OperationName, operations } from "./table.ts";
import { entriesOf, unknownFields } from "./unknown-fields.ts";

/** Maximum similar names in a message. */
const MAX_NEAR = 6;

export interface LineCall {
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly target?: string;
}

/**
 * @param targetName the parameter that names the target, for an operation on a session
 * @throws WshError unknown_method, invalid_request; session_not_found for a target that no session can have
 */
export function lineCall(
  {
    operation: name,
    parameters,
  }: { readonly operation: string; readonly parameters: Readonly<Record<string, string>> },
  targetName: string,
): LineCall {
  const operation = operationNamed(name);
  const { [targetName]: target, ...rest } = parameters;
  const isAbout = operation.scope !== "server" && target !== undefined;
  if (isAbout && target === "") throw new WshError("invalid_request", `'${targetName}' is empty`);
  if (isAbout) parseTarget(parsePlace(target).target);
  const entries = entriesOf(operation.input) ?? {};
  const written = operation.scope === "server" ? parameters : rest;
  const input: Record<string, unknown> = Object.fromEntries(
    Object.entries(written).map(([field, text]) => {
      const schema = Object.hasOwn(entries, field) ? entries[field] : undefined;
      return [field, schema === undefined ? jsonOrText(text) : fieldValue(schema as unknown as Node, text)];
    }),
  );
  // A person who starts a program beside the active pane wants to use it: it gets the focus by default.
  if (target === undefined && Object.hasOwn(entries, "focus")) input.focus ??= true;
  requireTakes(operation, input);
  return { operation: operation.name, input, ...(isAbout ? { target } : {}) };
}

/** @throws WshError unknown_method naming similar ones */
export function operationNamed(name: string): Operation<OperationName> {
  const found = findOperation(name);
  if (found !== undefined) return found;
  const near = operations.filter((each) => each.name.startsWith(`${name.split(".")[0]}.`)).slice(0, MAX_NEAR);
  const offer = near.length === 0 ? "" : `; near: ${near.map((each) => each.name).join(", ")}`;
  throw new WshError("unknown_method", `no operation '${name}'${offer}`);
}

/** @throws WshError invalid_request */
export function requireTakes(operation: Operation<OperationName>, input: Readonly<Record<string, unknown>>): void {
  const [unknown] = unknownFields(operation.input, input);
  if (unknown !== undefined) throw new WshError("invalid_request", `'${operation.name}' has no parameter '${unknown}'`);
  parseInput(operation, input);
}

interface Node {
  readonly type: string;
  readonly wrapped?: Node;
  readonly pipe?: readonly Node[];
}

/** Converts a text to a field's value; an empty one is null if that is allowed. */
function fieldValue(schema: Node, text: string, nullable = false): unknown {
  if (schema.wrapped !== undefined)
    return fieldValue(schema.wrapped, text, nullable || schema.type === "nullable" || schema.type === "nullish");
  const first = schema.pipe?.[0];
  if (first !== undefined && first !== schema && first.type !== schema.type) return fieldValue(first, text, nullable);
  if (text === "" && nullable) return null;
  if (schema.type === "string" || schema.type === "picklist") return text;
  if (schema.type === "array" && !text.startsWith("[")) return text.split(",");
  return jsonOrText(text);
}

/** Numbers, true, false, lists and tables are parsed as JSON, any other value is text. */
function jsonOrText(text: string): unknown {
  if (!/^(-?\d|true$|false$|null$|[[{])/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
