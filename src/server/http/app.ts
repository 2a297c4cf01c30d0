/**
 * The HTTP door: one Hono app for the Unix socket and TCP, its routes made from the operation table. It turns a request
 * into a call and a result or an error into a response, and knows nothing of what operations do.
 */
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { cors } from "hono/cors";
import { secureHeaders } from "hono/secure-headers";
import type { Call, CallContext } from "../../operations/call.ts";
import type { HttpBinding, Operation } from "../../operations/define.ts";
import { queryInput } from "../../operations/query-string.ts";
import { type OperationName, operations } from "../../operations/table.ts";
import { unknownFields, unknownFieldWarnings } from "../../operations/unknown-fields.ts";
import { WshError } from "../../protocol/errors.ts";
import { visibleLines } from "../../protocol/visible.ts";
import { type Admitted, checkOrigin, checkToken, type GuardPolicy } from "../auth/guard.ts";
import type { RateLimit } from "../auth/rate-limit.ts";
import type { Tickets } from "../auth/tickets.ts";
import type { Door } from "../websocket/websockets.ts";
import { BODY_MS, readBody } from "./body.ts";

/** Longest request body, and longest decoded input (contract §1.2). */
export const MAX_BODY_BYTES = 1024 * 1024;

/** What the listener adds to a request. */
export interface RequestOrigin {
  readonly listener: "unix" | "tcp";
  /** Peer address, for rate limits and the audit log; null on the Unix socket. */
  readonly peer: string | null;
  readonly server: Bun.Server<Door>;
}

export type AppEnv = {
  Bindings: RequestOrigin;
  Variables: {
    verdict: Admitted;
    /** Aborts when the token that let the request in is revoked; null when it cannot be. */
    revoked: AbortSignal | null;
  };
};
export type AppContext = Context<AppEnv>;

/** What may be written down of a request that was refused: no query, which may hold a ticket. */
export interface Refused {
  readonly method: string;
  readonly path: string;
  readonly peer: string | null;
}

export interface AppOptions {
  readonly call: Call;
  readonly guard: GuardPolicy;
  /** Path before every route ("/p"), "" for none. */
  readonly basePrefix: string;
  /** Redeemed by WebSocket requests that carry no token. */
  readonly tickets?: Tickets;
  /** Requests over TCP, per peer; absent: no limit. */
  readonly rateLimit?: RateLimit;
  /** Aborts when the token of this name is revoked. */
  readonly revoked?: (tokenName: string) => AbortSignal;
  /** A request was not let in, for what it showed or did not show. */
  readonly refused?: (code: string, request: Refused) => void;
  /** Mounts further doors (WebSocket, MCP, documentation) behind the same checks. */
  readonly extend?: (app: Hono<AppEnv>) => void;
}

export function createApp(options: AppOptions): Hono<AppEnv> {
  const app = createRoutes(options);
  if (options.basePrefix === "") return app;
  const outer = new Hono<AppEnv>();
  outer.get("/health", (c) => c.json({ status: "ok" }));
  outer.route(options.basePrefix, app);
  outer.notFound((c) => c.body(null, 404));
  outer.onError((error, c) => errorResponse(error, c.req.path));
  return outer;
}

function createRoutes(options: AppOptions): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  app.use(
    secureHeaders({
      xFrameOptions: "DENY",
      xContentTypeOptions: "nosniff",
      referrerPolicy: "no-referrer",
      strictTransportSecurity: false,
      crossOriginOpenerPolicy: false,
      crossOriginResourcePolicy: false,
      originAgentCluster: false,
      xDnsPrefetchControl: false,
      xDownloadOptions: false,
      xPermittedCrossDomainPolicies: false,
      xXssProtection: false,
      permissionsPolicy: { geolocation: [], microphone: [], camera: [] },
      contentSecurityPolicy: {
        defaultSrc: ["'self'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        connectSrc: ["'self'"],
        imgSrc: ["'self'", "data:"],
        frameAncestors: ["'none'"],
      },
    }),
  );
  app.get("/health", (c) => c.json({ status: "ok" }));
  if (options.guard.corsOrigins.size > 0) app.use(allowOrigins(options.guard.corsOrigins));
  app.use(async (c, next) => {
    const verdict = letIn(options, c);
    c.set("verdict", verdict);
    c.set("revoked", unrevocable.has(verdict.tokenName) ? null : (options.revoked?.(verdict.tokenName) ?? null));
    await next();
  });
  app.use(
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: (c) => errorResponse(new WshError("payload_too_large", "the body is over 1 MiB"), c.req.path),
    }),
  );
  app.use(readBody(BODY_MS, errorResponse));
  for (const operation of operations) {
    for (const binding of operation.http) {
      app.on(binding.method, binding.path, async (c) => {
        c.env.server.timeout(c.req.raw, 0);
        return reply(c, binding, await callFromHttp(options.call, operation, binding, c));
      });
    }
  }
  options.extend?.(app);
  refuseOtherMethods(app);
  app.notFound((c) => c.body(null, 404));
  app.onError((error, c) => errorResponse(error, c.req.path));
  return app;
}

/** Any other method on a known path is 405 with Allow. */
function refuseOtherMethods(app: Hono<AppEnv>): void {
  const methods = new Map<string, Set<string>>([["/health", new Set(["GET"])]]);
  for (const route of app.routes) {
    if (route.method === "ALL" || route.path.includes("*")) continue;
    const known = methods.get(route.path) ?? new Set();
    methods.set(route.path, known.add(route.method));
  }
  for (const [path, allowed] of methods) {
    app.all(path, (c) => c.body(null, 405, { Allow: [...allowed].join(", ") }));
  }
}

/** Names of those who were let in by something that cannot be revoked. */
const unrevocable: ReadonlySet<string> = new Set(["socket", "none", "own"]);

function letIn(options: AppOptions, c: AppContext): Admitted {
  try {
    limitRate(options.rateLimit, c);
    return admit(options, c);
  } catch (thrown) {
    const { peer } = c.env;
    options.refused?.(WshError.from(thrown).code, { method: c.req.method, path: c.req.path, peer });
    throw thrown;
  }
}

/** @throws WshError rate_limited */
function limitRate(limit: RateLimit | undefined, c: AppContext): void {
  const { listener, peer } = c.env;
  if (limit === undefined || listener === "unix") return;
  const wait = limit.take(peer ?? "unknown");
  if (wait !== null) throw new WshError("rate_limited", "too many requests", { retry_after_s: wait });
}

/** @throws WshError what the guard found */
function admit({ guard, tickets }: AppOptions, c: AppContext): Admitted {
  if (c.env.listener === "unix") return { ok: true, access: "admin", tokenName: "socket" };
  const headers = { get: (name: string) => c.req.header(name) ?? null };
  const foreign = checkOrigin(guard, headers);
  if (foreign !== null && !foreign.ok) throw new WshError(foreign.code, foreign.message);
  const ticket = c.req.query("ticket");
  if (ticket !== undefined && headers.get("upgrade") !== null && headers.get("authorization") === null) {
    const admitted = tickets?.redeem(ticket) ?? null;
    if (admitted !== null) return admitted;
    if (guard.tokens() !== null) throw new WshError("auth_required", "the ticket is unknown, used or too old");
  }
  const verdict = checkToken(guard, headers);
  if (!verdict.ok) throw new WshError(verdict.code, verdict.message);
  return verdict;
}

/** Browsers of these origins may call and read; nobody else's may (contract §11.3). */
function allowOrigins(origins: ReadonlySet<string>) {
  return cors({
    origin: [...origins],
    allowMethods: ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
    allowHeaders: ["Authorization", "Content-Type", "Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-ID"],
    exposeHeaders: ["Mcp-Session-Id", CURSOR_HEADER, WARNING_HEADER, "Retry-After"],
  });
}

async function callFromHttp(
  call: Call,
  operation: Operation<OperationName>,
  binding: HttpBinding,
  c: AppContext,
): Promise<unknown> {
  const { name: target, ...params } = c.req.param() as Record<string, string>;
  const { given, input: taken } = await inputOf(operation, binding, c);
  const input = { ...taken, ...queryInput(operation.input, params), ...binding.fixed };
  const warnings = unknownFieldWarnings(unknownFields(operation.input, given));
  if (warnings.length > 0) c.header(WARNING_HEADER, warnings.join("; "));
  if (binding.method !== "GET") await notGone(c);
  const verdict = c.get("verdict");
  const revoked = c.get("revoked");
  const context: CallContext & { session?: string } = {
    signal: revoked === null ? c.req.raw.signal : AbortSignal.any([c.req.raw.signal, revoked]),
    access: verdict.access,
    caller: { kind: "http", id: `http:${verdict.tokenName}`, connected: false },
    via: { token: verdict.tokenName, peer: c.env.peer },
    ...(verdict.session === undefined ? {} : { only: verdict.session }),
    ...(operation.scope === "session" && target !== undefined ? { session: target } : {}),
  };
  try {
    const result = await call(operation.name, input as never, context);
    if (revoked?.aborted === true) throw new WshError("auth_invalid", "the token was revoked meanwhile");
    return result;
  } catch (thrown) {
    const error = WshError.from(thrown);
    const json = (binding.from ?? defaultSource(binding)) === "json";
    if (json && error.details.schema === true)
      throw new WshError(error.code, error.message, error.details, { status: 422 });
    throw error;
  }
}

/**
 * Bun closes a connection on which another request, or the client's FIN, comes before the answer, so that no answer can
 * follow; it does so after this request was handed to us. One turn later that is known of what came along with it, and
 * what nobody can be told of is not done.
 * @throws WshError cancelled
 */
async function notGone(c: AppContext): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  if (c.req.raw.signal.aborted) throw new WshError("cancelled", "the connection ended before the request began");
}

function defaultSource(binding: HttpBinding): "query" | "json" {
  return binding.method === "GET" || binding.method === "DELETE" ? "query" : "json";
}

interface Input {
  /** What the caller sent by name. */
  readonly given: Readonly<Record<string, unknown>>;
  /** What the operation takes of it. */
  readonly input: Readonly<Record<string, unknown>>;
}

async function inputOf(operation: Operation<OperationName>, binding: HttpBinding, c: AppContext): Promise<Input> {
  const query = c.req.query();
  switch (binding.from ?? defaultSource(binding)) {
    case "nothing":
      return { given: query, input: {} };
    case "query":
      return { given: query, input: queryInput(operation.input, query) };
    case "raw": {
      const bytes = new Uint8Array(await c.req.arrayBuffer());
      return { given: query, input: { data: bytes.toBase64(), encoding: "base64" } };
    }
    case "json": {
      const body = await jsonBody(c);
      return { given: { ...query, ...body }, input: { ...queryInput(operation.input, query), ...body } };
    }
  }
}

/** @throws WshError invalid_request with status 415 (not JSON by its type), 400 (does not parse), 422 (not an object) */
async function jsonBody(c: AppContext): Promise<Record<string, unknown>> {
  const text = await c.req.text();
  const type = c.req.header("content-type");
  if (text === "" && type === undefined) return {};
  if (type === undefined || !/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type)) {
    throw new WshError(
      "invalid_request",
      `the content type '${type ?? ""}' is not JSON`,
      {
        hint: "Send JSON with 'Content-Type: application/json'.",
      },
      { status: 415 },
    );
  }
  let body: unknown;
  try {
    body = text === "" ? {} : JSON.parse(text);
  } catch (error) {
    throw new WshError("invalid_request", `the body is not JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new WshError("invalid_request", "the body must be a JSON object", {}, { status: 422 });
  }
  return body as Record<string, unknown>;
}

/** Results that carry it also say it in a header, for replies without a body. */
const CURSOR_HEADER = "Wsh-Output-Cursor";
/** Says which fields of a request nobody knows; the request is carried out without them. */
const WARNING_HEADER = "Wsh-Warning";

function reply(c: AppContext, binding: HttpBinding, result: unknown): Response {
  const cursor =
    typeof result === "object" && result !== null && "output_cursor" in result ? result.output_cursor : null;
  if (typeof cursor === "number") c.header(CURSOR_HEADER, String(cursor));
  if (binding.status === 204) return c.body(null, 204);
  return c.json(result as object, binding.status ?? 200);
}

/** The standard error object; a wait that timed out has what it saw beside it (tools.md). */
export function errorResponse(thrown: unknown, path: string): Response {
  const error = WshError.from(thrown);
  if (error.code === "internal_error") console.error(visibleLines(`internal error on ${path}: ${Bun.inspect(thrown)}`));
  const { code, message, hint, ...details } = error.toBody();
  const { schema, ...shown } = details;
  const body =
    error.status === 408 ? { error: { code, message, hint }, ...shown } : { error: { code, message, hint, ...shown } };
  const headers: Record<string, string> = {};
  if (error.status === 401) headers["WWW-Authenticate"] = "Bearer";
  if (typeof details.retry_after_s === "number") headers["Retry-After"] = String(details.retry_after_s);
  return Response.json(body, { status: error.status, headers });
}
