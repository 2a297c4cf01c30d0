/** The server's own operations, asked over its Unix socket. */

import type { Instance } from "../instance/paths.ts";
import { readServerInfo } from "../instance/server-info.ts";
import { WshError } from "../protocol/errors.ts";

/** @throws WshError server_unavailable when none runs, else the server's error */
export async function askServer(
  instance: Instance,
  method: "GET" | "POST" | "PUT",
  path: string,
  { body, patienceMs }: { readonly body?: object; readonly patienceMs?: number } = {},
): Promise<unknown> {
  const prefix = readServerInfo(instance)?.base_prefix ?? "";
  let response: Response;
  try {
    response = await fetch(`http://localhost${prefix}${path}`, {
      method,
      unix: instance.httpSocket,
      ...(patienceMs === undefined ? {} : { signal: AbortSignal.timeout(patienceMs) }),
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
    });
  } catch (cause) {
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
