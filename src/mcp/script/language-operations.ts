/** Operations that an agent's program may call: those that the language needs. */
import type { OperationName } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";

const languageOperations: ReadonlySet<string> = new Set<OperationName>([
  "sessions.create",
  "sessions.list",
  "session.get",
  "session.kill",
  "session.resize",
  "exec",
  "input.send",
  "wait",
  "screen.get",
  "output.get",
  "status.get",
  "commands.get",
  "commands.list",
]);

export function isLanguageOperation(name: string): name is OperationName {
  return languageOperations.has(name);
}

/** The error as the language reads it, with the hint in the words of MCP. */
export function errorBodyOf(thrown: unknown): Record<string, unknown> {
  return WshError.from(thrown).bodyAt("mcp");
}
