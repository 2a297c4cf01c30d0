/** Requests to the server's own operations, over its Unix socket. */

import { errorCode } from "../base/errno.ts";
import type { Instance } from "../instance/paths.ts";
import type { Acting } from "../protocol/caller.ts";
import { PEER_TIMEOUT_MS } from "../protocol/control.ts";
import { defined } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import { isRecord, jsonOrNull } from "../protocol/json.ts";
import { ACTING_HEADER, AGENT_HEADER, REQUEST_HEADER, sentBefore } from "../protocol/requests.ts";
import { patience } from "../wire/patience.ts";
import { readServerInfo } from "./server-info.ts";

/** Errors of a connection without a listener: nothing was sent. */
const nobody: ReadonlySet<string> = new Set(["ENOENT", "ECONNREFUSED"]);

/**
 * A request may take long, so only `patienceMs` limits it; without that, a server that hangs gets no request at all.
 * @param patienceMs longest wait for the answer, in ms
 * @throws WshError server_unavailable when no server runs or it hangs, outcome_unknown when it ended before it answered
 * a request that changes something, else the server's error
 */
export async function askServer(
  instance: Instance,
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  {
    body,
    patienceMs,
    signal,
    request,
    by,
  }: {
    readonly body?: object;
    readonly patienceMs?: number;
    readonly signal?: AbortSignal;
    /** The caller, whose rights apply to the request. */
    readonly by?: Acting;
    /** Identifies a repeated request, which is carried out once. */
    readonly request?: { readonly id: string; readonly firstAt?: number | undefined };
  } = {},
): Promise<unknown> {
  const agent = by?.caller.agent ?? (by === undefined && method !== "GET" ? await agentOfThis() : null);
  if (patienceMs === undefined) await requireAnswering(instance, signal);
  let response: Response;
  let text: string;
  try {
    response = await fetch(serverUrl(instance, path), {
      method,
      unix: instance.httpSocket,
      ...(patienceMs === undefined ? {} : { signal: AbortSignal.timeout(patienceMs) }),
      ...defined({ signal }),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headers: {
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...(by === undefined ? {} : { [ACTING_HEADER]: JSON.stringify(by) }),
        ...(agent === null ? {} : { [AGENT_HEADER]: agent }),
        ...(request === undefined
          ? {}
          : { [REQUEST_HEADER]: request.id, ...sentBefore(request.firstAt, (time) => time) }),
      },
    });
    text = await response.text();
  } catch (cause) {
    if (signal?.aborted === true) throw new WshError("cancelled", "the call was cancelled");
    throw lost(instance, method, request?.id, cause);
  }
  const answer = jsonOrNull(text);
  if (response.ok) return answer;
  const error = isRecord(answer) && isRecord(answer.error) ? answer.error : {};
  throw WshError.fromBody({ message: `the server answered ${response.status}`, ...error });
}

/**
 * Asks the server a question that every server answers at once. If the server ends meanwhile, the next request fails.
 * @throws WshError server_unavailable if it hangs (see `patience`)
 */
export async function requireAnswering(instance: Instance, signal?: AbortSignal): Promise<void> {
  const hung = new AbortController();
  const stopPatience = patience(instance.httpSocket, PEER_TIMEOUT_MS, () => hung.abort());
  try {
    const signals = signal === undefined ? hung.signal : AbortSignal.any([hung.signal, signal]);
    await fetch(serverUrl(instance, "/health"), { unix: instance.httpSocket, signal: signals }).catch(() => {});
  } finally {
    stopPatience();
  }
  if (hung.signal.aborted) throw hangingServer(instance);
}

/** The error for a server that accepts connections and does not answer. */
export function hangingServer(instance: Instance): WshError {
  const pid = readServerInfo(instance)?.pid ?? "PID";
  return new WshError("server_unavailable", `the server of instance '${instance.name}' does not answer`, {
    hint: `If it is stopped, continue it: kill -CONT ${pid}. Or end it: kill -9 ${pid}. Sessions keep running.`,
  });
}

function serverUrl(instance: Instance, path: string): string {
  return `http://localhost${readServerInfo(instance)?.base_prefix ?? ""}${path}`;
}

async function agentOfThis(): Promise<string | null> {
  const { agentAbove } = await import("../platform/agent-above.ts");
  return agentAbove(process.ppid);
}

function lost({ name }: Instance, method: string, id: string | undefined, cause: unknown): WshError {
  if (nobody.has(errorCode(cause))) {
    return new WshError("server_unavailable", `no server of instance '${name}' is running`, {}, { cause });
  }
  const message = `the server of instance '${name}' ended before it answered`;
  if (method === "GET") return new WshError("server_unavailable", message, {}, { cause });
  const known =
    id === undefined ? { hint: "The request may have been carried out: check before you repeat it." } : { request: id };
  return new WshError("outcome_unknown", id === undefined ? message : `${message} (request ${id})`, known, { cause });
}
