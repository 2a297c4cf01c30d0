/**
 * Calls to other processes for a person at a terminal: to session processes, and to the server. Each call opens and
 * closes a connection.
 */
import type { Instance } from "../../instance/paths.ts";
import { isUnlimited, requireAllSessions } from "../../operations/rights.ts";
import { getOperation, type OperationName } from "../../operations/table.ts";
import { type Acting, byKeys } from "../../protocol/caller.ts";
import { WshError } from "../../protocol/errors.ts";
import { askServer } from "../../registry/server-client.ts";
import { Connection } from "../../wire/connection.ts";
import { followPane } from "../../wire/pane-process.ts";
import { findPermittedSession } from "./permitted-targets.ts";

/** Longest wait for a process to accept the call, in ms. */
const CONNECT_MS = 1_000;

interface ForwardedCall {
  readonly by: Acting;
  /** Target as a person writes it; absent: everything that the process serves. */
  readonly target?: string;
  readonly signal: AbortSignal;
}

/** @throws WshError of the operation, session_not_found, session_unavailable */
export async function askProcess(
  socket: string,
  op: string,
  input: unknown,
  { by, ...call }: ForwardedCall,
): Promise<unknown> {
  const { access, caller } = byKeys(by);
  const context = { ...call, access, caller: { ...caller, id: `terminal:${process.pid}` } };
  return followPane(async (owner) => {
    const { connection } = await Connection.open(owner?.socket ?? socket, "cli", {}, CONNECT_MS);
    try {
      return await connection.request(op, input, { ...context, ...(owner !== null && { target: owner.pane }) });
    } finally {
      connection.close();
    }
  });
}

/** Calls an operation on a target. @throws WshError of the operation, session_not_found, pane_not_found */
export async function askTarget(
  instance: Instance,
  by: Acting,
  target: string,
  call: { readonly operation: string; readonly input: unknown },
  signal: AbortSignal,
): Promise<unknown> {
  const { socket } = findPermittedSession(instance, by, target);
  return askProcess(socket, call.operation, call.input, { by, target, signal });
}

/** Calls an operation of the server. @throws WshError of the operation, server_unavailable */
export async function askServerOperation(
  instance: Instance,
  by: Acting,
  name: OperationName,
  input: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<unknown> {
  // An older server ignores the caller's identity.
  requireAllSessions(by, name);
  const { http } = getOperation(name);
  const [binding] = http;
  if (binding === undefined) throw new WshError("unknown_method", `'${name}' cannot be called from outside`);
  const rest = { ...input };
  const path = binding.path.replace(/:(\w+)/g, (_, field: string) => {
    const value = rest[field];
    delete rest[field];
    return encodeURIComponent(String(value));
  });
  const { via, agent } = by.caller;
  const actor = isUnlimited(by) && via === undefined && agent === undefined ? {} : { by };
  const from = binding.from ?? (binding.method === "GET" || binding.method === "DELETE" ? "query" : "json");
  if (from === "json") return askServer(instance, binding.method, path, { body: rest, signal, ...actor });
  const query = new URLSearchParams(
    Object.entries(rest).flatMap(([field, value]): [string, string][] =>
      value == null ? [] : [[field, queryText(value)]],
    ),
  ).toString();
  return askServer(instance, binding.method, query === "" ? path : `${path}?${query}`, { signal, ...actor });
}

function queryText(value: unknown): string {
  if (Array.isArray(value)) return value.map(queryText).join(",");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
