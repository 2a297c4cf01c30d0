/** The server's own operations, asked over its Unix socket. */

import { WshError } from "../protocol/errors.ts";
import type { Instance } from "./paths.ts";
import { readServerInfo } from "./server-info.ts";

/** @throws WshError server_unavailable when none runs, else the server's error */
export async function askServer(
  instance: Instance,
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  {
    body,
    patienceMs,
    signal,
  }: { readonly body?: object; readonly patienceMs?: number; readonly signal?: AbortSignal } = {},
): Promise<unknown> {
  const prefix = readServerInfo(instance)?.base_prefix ?? "";
  let response: Response;
  try {
    response = await fetch(`http://localhost${prefix}${path}`, {
      method,
      unix: instance.httpSocket,
      ...(patienceMs === undefined ? {} : { signal: AbortSignal.timeout(patienceMs) }),
      ...(signal === undefined ? {} : { signal }),
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
    });
  } catch (cause) {
    if (signal?.aborted === true) throw new WshError("cancelled", "the call was given up");
    throw new WshError("server_unavailable", `no server of instance '${instance.name}' is running`, {}, { cause });
  }
  const answer: unknown = await response.json().catch(() => null);
  if (response.ok) return answer;
  const error = isObject(answer) && isObject(answer.error) ? answer.error : {};
  throw WshError.fromBody({ message: `the server answered ${response.status}`, ...error });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
