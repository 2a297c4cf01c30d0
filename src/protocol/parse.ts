/**
 * Validates a value from outside by its schema. The first fault becomes a WshError of the same form in every transport:
 * the field and its fault, `invalid_format` for a field called `format` and `invalid_request` for any other. No part of
 * a refused value is used.
 */
import * as v from "valibot";
import { defined } from "./defined.ts";
import { WshError } from "./errors.ts";

interface Explanation {
  /** Name of the value ("the hello"). Default: the request, which is omitted if a field is named. */
  readonly what?: string;
  readonly hint?: string;
}

/** @throws WshError invalid_request, invalid_format */
export function parse<S extends v.GenericSchema>(
  schema: S,
  value: unknown,
  explanation: Explanation = {},
): v.InferOutput<S> {
  const parsed = v.safeParse(schema, value, { abortPipeEarly: true });
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const field = v.getDotPath(issue) ?? "";
  throw fieldError(field, isMissing(issue) ? " is missing" : `: ${issue.message}`, explanation);
}

/**
 * Returns the error that names a field (`steps.0.command`; the empty name is the value itself).
 * @param fault follows the name: `: the number is too large`
 */
export function fieldError(field: string, fault: string, { what, hint }: Explanation = {}): WshError {
  const named = what === undefined ? `'${field}'` : `${what}'s '${field}'`;
  const subject = field === "" ? (what ?? "the request") : named;
  const code = field === "format" ? "invalid_format" : "invalid_request";
  const details = { field, schema: true, ...defined({ hint }) };
  return new WshError(code, `${subject}${fault}`, details);
}

/** Whether an object lacks a required key. */
function isMissing(issue: v.BaseIssue<unknown>): boolean {
  const last = issue.path?.at(-1);
  return last?.type === "object" && last.origin === "key" && issue.received === "undefined";
}
