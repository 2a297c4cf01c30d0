/**
 * A tool: a name and description for a model, parameters built from the schemas of the operations that it binds, and
 * the conversion of parameters to calls and of their outputs to its result. A tool does nothing itself.
 */

import type { ToolAnnotations } from "@modelcontextprotocol/server";
import * as v from "valibot";
import type { JsonSchema } from "../../operations/json-schema.ts";
import type { OperationInput, OperationName, OperationOutput } from "../../operations/table.ts";
import type { Access } from "../../protocol/caller.ts";
import { WshError } from "../../protocol/errors.ts";
import { described } from "../../protocol/fields.ts";
import type { Owner } from "../../protocol/owner.ts";
import { parse } from "../../protocol/parse.ts";
import { describeInput, describeOutput } from "./json-schema.ts";

/** Calls an operation for the tool's caller. @param ahead only gets the permission for the same call that follows */
export type Ask = <N extends OperationName>(
  name: N,
  input: OperationInput<N>,
  session?: string,
  ahead?: boolean,
) => Promise<OperationOutput<N>>;

type Parameters = v.ObjectSchema<v.ObjectEntries, undefined>;

interface ToolDefinition<P extends Parameters> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Served by `--tools core`. */
  readonly core: boolean;
  /** The lowest access with which the tool is useful; the tool is not listed for callers with less. */
  readonly access: Access;
  readonly annotations: ToolAnnotations;
  readonly parameters: P;
  /** Descriptions of parameters whose schemas say more than a model needs. */
  readonly schemaOverrides?: Readonly<Record<string, JsonSchema>>;
  /** Parameters that are accepted but not listed. */
  readonly unlisted?: readonly string[];
  readonly output: v.GenericSchema;
  /** Reports progress while it waits. */
  readonly reportsProgress?: boolean;
  readonly run: (parameters: v.InferOutput<P>, ask: Ask, caller: Owner) => Promise<unknown>;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly core: boolean;
  readonly access: Access;
  readonly annotations: ToolAnnotations;
  readonly reportsProgress: boolean;
  /** Its own longest wait, in ms; null: it has none. */
  readonly defaultWaitMs: number | null;
  readonly inputJson: JsonSchema;
  /** All parameters with their operations' own descriptions, for documents. */
  readonly documented: () => JsonSchema;
  readonly outputJson: JsonSchema;
  readonly parameterNames: ReadonlySet<string>;
  /** Whether the session must be named. */
  readonly needsSession: boolean;
  /**
   * Parses the parameters and runs the tool.
   * @throws WshError invalid_request naming the parameter, or an operation's error
   */
  readonly call: (parameters: Readonly<Record<string, unknown>>, ask: Ask, caller: Owner) => Promise<unknown>;
}

export function tool<P extends Parameters>(definition: ToolDefinition<P>): Tool {
  const { parameters, schemaOverrides, unlisted = [], output, run, reportsProgress, ...shown } = definition;
  const listed = Object.entries(parameters.entries).filter(([name]) => !unlisted.includes(name));
  const inputJson = describeInput(v.object(Object.fromEntries(listed)), schemaOverrides);
  const { required } = inputJson;
  const { max_wait_ms: waitSchema } = parameters.entries;
  const defaultWait = waitSchema === undefined ? undefined : v.getDefault(waitSchema);
  return {
    ...shown,
    reportsProgress: reportsProgress ?? false,
    defaultWaitMs: typeof defaultWait === "number" ? defaultWait : null,
    inputJson,
    documented: () => describeInput(parameters),
    outputJson: describeOutput(output),
    parameterNames: new Set(Object.keys(parameters.entries)),
    needsSession: Array.isArray(required) && required.includes("session"),
    call: async (given, ask, caller) => run(parseParameters(parameters, given), ask, caller),
  };
}

/** @throws WshError invalid_request naming the parameter */
export function parseParameters<P extends Parameters>(
  schema: P,
  given: Readonly<Record<string, unknown>>,
): v.InferOutput<P> {
  return parse(schema, given, { hint: "The tool's schema says what each parameter takes." });
}

/** Only whether a result is an object: every model pays for the list, and results name their keys. */
export function listedOutput({ outputJson }: Pick<Tool, "outputJson">): JsonSchema {
  return outputJson.type === "object" ? { type: "object" } : outputJson;
}

/** Annotations without the protocol's defaults, and without the reach of a tool that changes nothing. */
export function listedAnnotations({
  readOnlyHint,
  destructiveHint,
  idempotentHint,
  openWorldHint,
}: ToolAnnotations): ToolAnnotations {
  if (readOnlyHint === true) return { readOnlyHint };
  return {
    destructiveHint,
    ...(idempotentHint === true ? { idempotentHint } : {}),
    ...(openWorldHint === false ? { openWorldHint } : {}),
  };
}

/** The session that a tool acts on (docs/protocol.md, Names and targets). */
export const SessionField = described(v.string(), "name, name:window.pane or @id");

/** The same field in later tools: a parameter is described only at its first occurrence in the list. */
export const TargetField = v.string();

/** @throws WshError invalid_request naming the parameter that the action requires */
export function requireField<T>(value: T | undefined, action: string, name: string): T {
  if (value !== undefined) return value;
  throw new WshError("invalid_request", `'${action}' needs '${name}'`, { hint: `Call again with '${name}'.` });
}

/** Rights and hints of tools that only read. */
export const reads = {
  access: "observe",
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
} as const;
/** Those of tools that type into programs, which may do anything. */
export const drives = {
  access: "operate",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
} as const;

/** Fields that begin every successful action's result. */
export const done = { success: true } as const;
