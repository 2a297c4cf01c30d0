/** Pure functions that make a tool result from an output, or from a thrown error. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { WshError } from "../../protocol/errors.ts";

/**
 * The output as structured content and the same as text. Warnings are a key of an object, or a second text beside an
 * array, which has no place for them.
 */
export function goodResult(output: unknown, warnings: readonly string[]): CallToolResult {
  if (Array.isArray(output)) {
    const more = warnings.length === 0 ? [] : [{ type: "text" as const, text: JSON.stringify({ warnings }) }];
    return { content: [{ type: "text", text: JSON.stringify(output) }, ...more], structuredContent: output };
  }
  const result = withWarnings(output, warnings);
  return { content: [{ type: "text", text: JSON.stringify(result) }], structuredContent: result };
}

function withWarnings(output: unknown, warnings: readonly string[]): Record<string, unknown> {
  const object = typeof output === "object" && output !== null ? { ...output } : { result: output };
  if (warnings.length === 0) return object;
  const own = "warnings" in object && Array.isArray(object.warnings) ? object.warnings : [];
  return { ...object, warnings: [...own, ...warnings] };
}

/**
 * A mistake or failure: text only, since clients check structured content against the output schema even for errors. A
 * wait that timed out reports its findings, and its message under `error` too.
 */
export function badResult(thrown: unknown): CallToolResult {
  const error = WshError.from(thrown);
  const { schema: _schema, field: _field, message, code, hint, ...details } = error.bodyAt("mcp");
  const body =
    code === "idle_timeout" ? { error: message, code, message, hint, ...details } : { code, message, hint, ...details };
  return { content: [{ type: "text", text: JSON.stringify(body) }], isError: true };
}

/** Lists the parameters that a host sent and the tool does not have. */
export function unknownParameterWarnings(names: readonly string[]): string[] {
  return names.map((name) => `unknown parameter '${name}' was ignored`);
}

/** The fields that are not null or absent: a model pays for every key. */
export function withoutNull(fields: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
}
