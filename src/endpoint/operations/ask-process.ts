/**
 * Calls of a person at a terminal to other processes: those that serve sessions and panes, and the server. Each opens a
 * connection and closes it.
 */
import type { Instance } from "../../instance/paths.ts";
import { findSession } from "../../instance/registry/registry.ts";
import { askServer } from "../../instance/server-client.ts";
import { getOperation, type OperationName } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import { parseTarget } from "../../protocol/names.ts";
import { Connection } from "../../wire/connection.ts";

/** Longest wait for a process to take the call, in ms. */
const CONNECT_MS = 1_000;
/** Most processes that pass a call on: a session's, then a pane's. */
const MAX_HOPS = 3;

const context = { caller: { kind: "cli", id: `terminal:${process.pid}`, connected: true }, access: "admin" } as const;

export interface Asked {
  /** As a person writes it; absent: what the process serves as a whole. */
  readonly target?: string;
  readonly signal: AbortSignal;
}

/** @throws WshError of the operation, session_not_found, host_unavailable */
export async function askProcess(socket: string, op: string, input: unknown, asked: Asked): Promise<unknown> {
  let at = socket;
  for (let hop = 1; ; hop++) {
    const { connection } = await Connection.open(at, "cli", {}, CONNECT_MS);
    try {
      return await connection.request(op, input, { ...context, ...asked });
    } catch (thrown) {
      const error = WshError.from(thrown);
      const { socket: next } = error.details;
      if (error.code !== "moved" || typeof next !== "string" || hop === MAX_HOPS) throw error;
      at = next;
    } finally {
      connection.close();
    }
  }
}

/** Calls an operation on what a target names. @throws WshError of the operation, session_not_found, pane_not_found */
export async function askTarget(
  instance: Instance,
  target: string,
  call: { readonly operation: string; readonly input: unknown },
  signal: AbortSignal,
): Promise<unknown> {
  const { socket } = findSession(instance, parseTarget(target));
  return askProcess(socket, call.operation, call.input, { target, signal });
}

/** Calls an operation of the server. @throws WshError of the operation, server_unavailable */
export async function askServerOperation(
  instance: Instance,
  name: OperationName,
  input: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<unknown> {
  const { http } = getOperation(name);
  const [binding] = http;
  if (binding === undefined) throw new WshError("unknown_method", `'${name}' cannot be called from outside`);
  const rest = { ...input };
  const path = binding.path.replace(/:(\w+)/g, (_, field: string) => {
    const value = rest[field];
    delete rest[field];
    return encodeURIComponent(String(value));
  });
  const from = binding.from ?? (binding.method === "GET" || binding.method === "DELETE" ? "query" : "json");
  if (from === "json") return askServer(instance, binding.method, path, { body: rest, signal });
  const query = new URLSearchParams(
    Object.entries(rest).flatMap(([field, value]): [string, string][] =>
      value == null ? [] : [[field, queryText(value)]],
    ),
  ).toString();
  return askServer(instance, binding.method, query === "" ? path : `${path}?${query}`, { signal });
}

function queryText(value: unknown): string {
  if (Array.isArray(value)) return value.map(queryText).join(",");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
