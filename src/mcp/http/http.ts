/**
 * MCP over HTTP: `/mcp`, Streamable HTTP in both eras. Requests of the era without sessions are served one by one; the
 * others belong to a session, which ends by DELETE or after an idle time. The client's Accept header decides the form
 * of the answer: an event stream if it is listed, else one JSON body (docs/mcp-tools.md, Over HTTP). The gateway
 * authenticates and limits bodies before this.
 */
import { createMcpHandler, isJsonContentType, isLegacyRequest } from "@modelcontextprotocol/server";
import type { Caller } from "../../protocol/caller.ts";
import { WshError } from "../../protocol/errors.ts";
import { parseJson } from "../../protocol/json.ts";
import { requireRoom, type Share } from "../../protocol/shares.ts";
import { idOf } from "../../wire/lines.ts";
import { callerNamed, createMcpServer, type McpCaller } from "../caller-server.ts";
import { rightsOf } from "../resources/changes.ts";
import { EventTap, listenedResources, statedName } from "../resources/listen-events.ts";
import { mayWatch } from "../resources/resources.ts";
import { callerFor, type HttpIdentity, type McpHttpOptions, shareOfIdentity } from "./caller.ts";
import { collectJson, jsonRpcError, onEnd } from "./responses.ts";
import { HttpSessions } from "./sessions.ts";

export interface McpHttp {
  handle(request: Request, identity: HttpIdentity): Promise<Response>;
  stop(): Promise<void>;
}

/** Maximum concurrent streams of `subscriptions/listen`; the other eras have one for each of their sessions. */
const MAX_LISTENING = 256;

interface ListenerScope {
  readonly taps: EventTap;
  readonly modern: ReturnType<typeof createMcpHandler>;
  close(): Promise<void>;
}

const METHODS = "GET, POST, DELETE";
const BOTH_TYPES = "application/json, text/event-stream";

export function createMcpHttp(options: McpHttpOptions): McpHttp {
  const sessions = new HttpSessions(options);
  const callers = new WeakMap<Request, McpCaller>();
  const factory = ({ requestInfo }: { requestInfo?: Request }) => {
    const caller = requestInfo === undefined ? undefined : callers.get(requestInfo);
    if (caller === undefined) throw new Error("a request came without its caller");
    return createMcpServer(options, caller);
  };
  const scopes = new Map<string, ListenerScope>();
  const requests = createMcpHandler(factory, { legacy: "reject" });
  const listening = new Map<Disposable, Share>();
  /** Why the caller may not open another stream. */
  const refusalOf = (identity: HttpIdentity): string | null => {
    try {
      requireRoom(MAX_LISTENING, shareOfIdentity(identity), listening.values(), "event streams are open");
      return null;
    } catch (thrown) {
      return WshError.from(thrown).message;
    }
  };

  /** State shared by listeners with the same rights: nobody receives what only another may read. */
  function listenerScope(caller: Caller): ListenerScope {
    const key = rightsOf(caller);
    const open = scopes.get(key);
    if (open !== undefined) return open;
    const taps = new EventTap(options.changes, caller);
    const modern = createMcpHandler(factory, { legacy: "reject", bus: taps.bus });
    const close = async (): Promise<void> => {
      scopes.delete(key);
      await modern.close();
    };
    const scope = { taps, modern, close };
    scopes.set(key, scope);
    return scope;
  }

  async function post(request: Request, identity: HttpIdentity): Promise<Response> {
    const form = acceptedForm(request.headers.get("accept"));
    if (form === null) {
      return jsonRpcError(406, -32000, "Not Acceptable: accept application/json, and text/event-stream for streams");
    }
    if (!isJsonContentType(request.headers.get("content-type"))) {
      return jsonRpcError(415, -32000, "Unsupported Media Type: Content-Type must be application/json");
    }
    const text = await request.text();
    let body: unknown;
    try {
      body = parseJson(text);
    } catch {
      return jsonRpcError(400, -32700, "Parse error: the body is not JSON");
    }
    const { url, signal } = request;
    const headers = new Headers(request.headers);
    headers.set("accept", BOTH_TYPES);
    const forwarded = new Request(url, { method: "POST", headers, body: text, signal });
    if (await isLegacyRequest(forwarded, body)) {
      return answerInForm(form, await sessions.post(forwarded, body, identity), body, signal);
    }
    const mcpCaller = callerFor(`mcp:${identity.via.id}`, false, url, identity);
    callers.set(forwarded, mcpCaller);
    const caller = callerNamed(statedName(paramsOf(body)), mcpCaller);
    const uris = methodOf(body) === "subscriptions/listen" ? listenedResources(paramsOf(body)) : null;
    for (const uri of uris ?? []) {
      const refusal = await mayWatch(uri, options.call, caller).then(
        (isThere) => (isThere ? null : jsonRpcError(404, -32602, `Resource not found: ${uri}`, idOf(body))),
        (thrown) => jsonRpcError(403, -32000, WshError.from(thrown).message, idOf(body)),
      );
      if (refusal !== null) return refusal;
    }
    if (uris === null) return answerInForm(form, await requests.fetch(forwarded, { parsedBody: body }), body, signal);
    const refusal = refusalOf(identity);
    if (refusal !== null) return jsonRpcError(429, -32000, refusal, idOf(body));
    if (form === "json") {
      return jsonRpcError(
        406,
        -32000,
        "Not Acceptable: subscriptions/listen answers with text/event-stream",
        idOf(body),
      );
    }
    const scope = listenerScope(caller);
    const watched = scope.taps.watch(uris);
    listening.set(watched, shareOfIdentity(identity));
    const release = (): void => {
      listening.delete(watched);
      watched[Symbol.dispose]();
      if (scope.taps.isIdle) void scope.close();
    };
    let response: Response | null = null;
    try {
      response = onEnd(await scope.modern.fetch(forwarded, { parsedBody: body }), release);
      return response;
    } finally {
      if (response === null) release();
    }
  }

  return {
    async handle(request, identity) {
      switch (request.method) {
        case "POST":
          return post(request, identity);
        case "GET":
        case "DELETE":
          return sessions.handleOther(request, identity);
        default:
          return new Response(null, { status: 405, headers: { Allow: METHODS } });
      }
    },
    async stop() {
      await Promise.all([requests.close(), ...[...scopes.values()].map((scope) => scope.close()), sessions.stop()]);
    },
  };
}

/** Null: the client accepts neither form. */
export function acceptedForm(accept: string | null): "json" | "events" | null {
  if (accept === null || accept.trim() === "") return "json";
  const types = accept.split(",").map((part) => part.split(";")[0]?.trim().toLowerCase());
  const takesJson = types.some((type) => type === "application/json" || type === "application/*" || type === "*/*");
  if (!takesJson) return null;
  return types.includes("text/event-stream") ? "events" : "json";
}

async function answerInForm(
  form: "json" | "events",
  response: Response,
  body: unknown,
  signal: AbortSignal,
): Promise<Response> {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  return form === "json" && isStream ? collectJson(response, body, signal) : response;
}

function methodOf(body: unknown): string | null {
  return typeof body === "object" && body !== null && "method" in body ? String(body.method) : null;
}

function paramsOf(body: unknown): unknown {
  return typeof body === "object" && body !== null && "params" in body ? body.params : undefined;
}
