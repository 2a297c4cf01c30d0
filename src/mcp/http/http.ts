/**
 * MCP over HTTP: `/mcp`, Streamable HTTP in both eras. Requests of the era without sessions are served one by one; the
 * others belong to a session, which ends by DELETE or after an idle time. The client's Accept header decides the form
 * of the answer: an event stream if it is listed, else one JSON body (docs/mcp-tools.md, Over HTTP). The gateway
 * authenticates and limits bodies before this.
 */
import { createMcpHandler, isJsonContentType, isLegacyRequest } from "@modelcontextprotocol/server";
import { WshError } from "../../protocol/errors.ts";
import { parseJson } from "../../protocol/json.ts";
import { requireRoom, type Share } from "../../protocol/shares.ts";
import { idOf } from "../../wire/lines.ts";
import { createMcpServer, type McpCaller } from "../caller-server.ts";
import { EventTap, listenedResources } from "../resources/listen-events.ts";
import { mayWatch } from "../resources/resources.ts";
import { callerFor, type HttpIdentity, type McpHttpOptions, shareOfIdentity } from "./caller.ts";
import { collectJson, jsonRpcError, onEnd } from "./responses.ts";
import { HttpSessions } from "./sessions.ts";

export interface McpHttp {
  handle(request: Request, identity: HttpIdentity): Promise<Response>;
  stop(): Promise<void>;
}

/** Maximum sessions with separate scopes in use at once; equal to the limit of tokens. */
const MAX_SCOPES = 100;
/** Streams of `subscriptions/listen` at once; the other eras have one for each of their sessions. */
const MAX_LISTENING = 256;

interface ConnectionScope {
  readonly taps: EventTap;
  readonly modern: ReturnType<typeof createMcpHandler>;
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
  const scopes = new Map<string, ConnectionScope>();
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

  /** State shared by listeners of one kind: a token for one session receives nothing about others. */
  function scopeOf(only = ""): ConnectionScope {
    const cached = scopes.get(only);
    if (cached !== undefined) return cached;
    if (scopes.size >= MAX_SCOPES) {
      const [oldest] = [...scopes.keys()].filter((key) => key !== "");
      if (oldest !== undefined) void scopes.get(oldest)?.modern.close();
      scopes.delete(oldest ?? "");
    }
    const taps = new EventTap(options.changes, only === "" ? undefined : only);
    const scope = { taps, modern: createMcpHandler(factory, { legacy: "reject", bus: taps.bus }) };
    scopes.set(only, scope);
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
      return inForm(form, await sessions.post(forwarded, body, identity), body, signal);
    }
    callers.set(forwarded, callerFor(`mcp:${identity.via.id}`, false, url, identity));
    const uris = methodOf(body) === "subscriptions/listen" ? listenedResources(paramsOf(body)) : null;
    for (const uri of uris ?? []) {
      if (await mayWatch(uri, options.call, identity.only)) continue;
      return jsonRpcError(404, -32602, `Resource not found: ${uri}`, idOf(body));
    }
    const { taps, modern } = scopeOf(identity.only);
    const refusal = uris === null ? null : refusalOf(identity);
    if (refusal !== null) return jsonRpcError(429, -32000, refusal, idOf(body));
    const watched = uris === null ? null : taps.watch(uris);
    if (watched !== null && form === "json") {
      watched[Symbol.dispose]();
      return jsonRpcError(
        406,
        -32000,
        "Not Acceptable: subscriptions/listen answers with text/event-stream",
        idOf(body),
      );
    }
    const response = await modern.fetch(forwarded, { parsedBody: body });
    if (watched === null) return inForm(form, response, body, signal);
    listening.set(watched, shareOfIdentity(identity));
    return onEnd(response, () => {
      listening.delete(watched);
      watched[Symbol.dispose]();
    });
  }

  return {
    async handle(request, identity) {
      switch (request.method) {
        case "POST":
          return post(request, identity);
        case "GET":
        case "DELETE":
          return sessions.other(request, identity);
        default:
          return new Response(null, { status: 405, headers: { Allow: METHODS } });
      }
    },
    async stop() {
      await Promise.all([...[...scopes.values()].map(({ modern }) => modern.close()), sessions.stop()]);
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

async function inForm(
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
