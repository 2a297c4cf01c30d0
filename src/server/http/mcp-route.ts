/**
 * `/mcp` of the HTTP app: passes the request on with its caller, and ends its stream when the caller's token is
 * revoked.
 */
import type { McpEndpoint } from "../../mcp/endpoint.ts";
import { requestWithBody } from "./body.ts";
import type { AppContext } from "./context.ts";

export async function handleMcp(mcp: McpEndpoint, c: AppContext): Promise<Response> {
  // Answers may be streams, so the connection's time limit is off.
  c.env.server.timeout(c.req.raw, 0);
  const { access, tokenName, tokenId, session } = c.get("verdict");
  const response = await mcp.handle(await requestWithBody(c), {
    access,
    tokenName,
    peer: c.env.peer,
    ...(tokenId === undefined ? {} : { tokenId }),
    ...(session === undefined ? {} : { only: session }),
  });
  const revoked = c.get("revoked");
  if (revoked === null || response.body === null) return response;
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  response.body.pipeTo(writable, { signal: revoked }).catch(() => {});
  return new Response(readable, response);
}
