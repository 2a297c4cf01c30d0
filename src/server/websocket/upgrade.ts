/** Upgrades requests to connections, which end with the token that admitted them. */
import { WshError } from "../../protocol/errors.ts";
import { whileValid } from "../auth/token-end.ts";
import type { AppContext } from "../http/context.ts";
import type { WebSocketEndpoint, WebSockets } from "./websockets.ts";

/**
 * @param opening creates the endpoint; if it fails, nothing is upgraded
 * @throws WshError of `opening`, auth_invalid, invalid_request (status 426 when the request is not for a WebSocket)
 */
export async function upgrade(
  c: AppContext,
  sockets: WebSockets,
  opening: () => Promise<WebSocketEndpoint>,
): Promise<Response> {
  if (c.req.header("upgrade")?.toLowerCase() !== "websocket") {
    throw new WshError("invalid_request", "this path takes WebSocket connections only", {}, { status: 426 });
  }
  const { endSignal } = c.get("verdict");
  const endpoint = await whileValid(endSignal, opening, (late) => late.close());
  if (endSignal !== null) sockets.endWith(endSignal, endpoint);
  if (c.env.server.upgrade(c.req.raw, { data: endpoint })) return new Response(null);
  endpoint.close();
  throw new WshError("invalid_request", "the request is not a valid WebSocket handshake");
}
