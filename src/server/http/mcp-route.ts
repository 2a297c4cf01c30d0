/** `/mcp` of the HTTP app: passes the request on with its caller, and ends its stream with the caller's token. */
import type { McpEndpoint } from "../../mcp/endpoint.ts";
import { defined, present } from "../../protocol/defined.ts";
import { whileValid } from "../auth/token-end.ts";
import { requestWithBody } from "./body.ts";
import type { AppContext } from "./context.ts";

export async function handleMcp(mcp: McpEndpoint, c: AppContext): Promise<Response> {
  // Answers may be streams, so the connection's time limit is off.
  c.env.server.timeout(c.req.raw, 0);
  const { access, tokenName: token, tokenId: id, session, endSignal } = c.get("verdict");
  const request = await requestWithBody(c);
  const via = { token, id, peer: c.env.peer };
  const ends = present({ ended: endSignal });
  const identity = { access, via, ...ends, ...defined({ only: session, agent: c.env.agent ?? undefined }) };
  const response = await whileValid(
    endSignal,
    () => mcp.handle(request, identity),
    (late) => void late.body?.cancel(),
  );
  if (endSignal === null || response.body === null) return response;
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  response.body.pipeTo(writable, { signal: endSignal }).catch(() => {});
  return new Response(readable, response);
}
