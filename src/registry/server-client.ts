/** Requests to the server's own operations, over its Unix socket. */

import { errorCode } from "../base/errno.ts";
import type { Instance } from "../instance/paths.ts";
import type { Acting } from "../protocol/caller.ts";
import { defined } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import { isRecord, jsonOrNull } from "../protocol/json.ts";
import { ACTING_HEADER, AGENT_HEADER, REQUEST_HEADER, sentBefore } from "../protocol/requests.ts";
import { readServerInfo } from "./server-info.ts";

/** Errors of a connection without a listener: nothing was sent. */
const nobody: ReadonlySet<string> = new Set(["ENOENT", "ECONNREFUSED"]);

/**
 * @throws WshError server_unavailable when no server runs, outcome_unknown when it ended before it answered a request
 * that changes something, else the server's error
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
  const prefix = readServerInfo(instance)?.base_prefix ?? "";
  let response: Response;
  let text: string;
  try {
    response = await fetch(`http://localhost${prefix}${path}`, {
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
