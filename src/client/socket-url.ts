/** Addresses of a client's WebSockets, including its credential. */
import { defined } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";

export interface ConnectOptions {
  /** Base URL of the server with its prefix, if any. Default `http://127.0.0.1:8080`. */
  readonly url?: string;
  /** The output of `wsh token`; not needed with `socket`, or when the server requires none. */
  readonly token?: string;
  /** Path of the server's Unix socket instead of `url` (Bun only). */
  readonly socket?: string;
}

/**
 * A browser's WebSocket sends no headers, so the token is exchanged for a ticket first.
 * @param path of the WebSocket, without a slash at its beginning
 * @throws WshError auth_required, auth_invalid and the like; server_unavailable
 */
export async function socketUrl(
  { url = "http://127.0.0.1:8080", token, socket }: ConnectOptions,
  path: string,
): Promise<string> {
  if (socket !== undefined) return `ws+unix://${socket}:/${path}`;
  const base = url.replace(/\/$/, "");
  const stream = `${base.replace(/^http/, "ws")}/${path}`;
  if (token === undefined) return stream;
  let response: Response;
  try {
    response = await fetch(`${base}/auth/ws-ticket`, { method: "POST", headers: { Authorization: `Bearer ${token}` } });
  } catch {
    throw unavailable({ url });
  }
  const answer = (await response.json()) as { ticket?: string; error?: { code?: unknown; message?: unknown } };
  if (!response.ok) throw WshError.fromBody(answer.error ?? { message: `the server answered ${response.status}` });
  return `${stream}?ticket=${answer.ticket}`;
}

/** Asks the session itself why it refused a WebSocket: the handshake does not show it. */
export async function refusal(options: ConnectOptions, session: string): Promise<WshError> {
  const { url = "http://127.0.0.1:8080", token, socket } = options;
  const base = socket === undefined ? url.replace(/\/$/, "") : "http://localhost";
  try {
    const response = await fetch(`${base}/sessions/${encodeURIComponent(session)}`, {
      headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
      ...defined({ unix: socket }),
    });
    const { error } = (await response.json()) as { error?: { code?: unknown; message?: unknown } };
    return error === undefined ? unavailable(options) : WshError.fromBody(error);
  } catch {
    return unavailable(options);
  }
}

export function unavailable({ url, socket }: ConnectOptions): WshError {
  return new WshError("server_unavailable", `no wsh server answers at ${socket ?? url ?? "http://127.0.0.1:8080"}`);
}
