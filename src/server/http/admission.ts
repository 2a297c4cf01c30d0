/**
 * Decides which requests the app accepts: the peer's rate limit, the origin of a browser's page, then a token or a
 * ticket. A refusal is reported before the error is thrown. The checks themselves are pure, in auth/guard.ts.
 */
import type { MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import * as v from "valibot";
import { ActingSchema } from "../../protocol/control.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { ACTING_HEADER, REQUEST_HEADERS } from "../../protocol/requests.ts";
import { type Admitted, checkOrigin, checkToken, type GuardPolicy } from "../auth/guard.ts";
import type { RateLimit } from "../auth/rate-limit.ts";
import type { Tickets } from "../auth/tickets.ts";
import type { AppContext, AppEnv, RefusedRequest } from "./context.ts";
import { CURSOR_HEADER, PANE_HEADER, WARNING_HEADER } from "./request.ts";

export interface AdmissionOptions {
  readonly guard: GuardPolicy;
  /** Redeemed by WebSocket requests that carry no token. */
  readonly tickets?: Tickets;
  /** Requests over TCP, per peer; absent: no limit. */
  readonly rateLimit?: RateLimit;
  /** A request was refused because of invalid or missing credentials. */
  readonly recordRefusal?: (code: string, request: RefusedRequest) => void;
}

/** Sets the `verdict` of an admitted request; all others end here. */
export function admission(options: AdmissionOptions): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    c.set("verdict", checked(options, c));
    await next();
  };
}

/** @throws WshError rate_limited and the errors of `admit` */
function checked(options: AdmissionOptions, c: AppContext): Admitted {
  try {
    limitRate(options.rateLimit, c);
    return admit(options, c);
  } catch (thrown) {
    const { peer } = c.env;
    options.recordRefusal?.(WshError.from(thrown).code, { method: c.req.method, path: c.req.path, peer });
    throw thrown;
  }
}

/** @throws WshError rate_limited */
function limitRate(limit: RateLimit | undefined, c: AppContext): void {
  const { listener, peer } = c.env;
  if (limit === undefined || listener === "unix") return;
  const wait = limit.admit(peer ?? "unknown");
  if (wait !== null) throw new WshError("rate_limited", "too many requests", { retry_after_s: wait });
}

/** @throws WshError host_not_allowed, origin_not_allowed, auth_required, auth_invalid */
function admit({ guard, tickets }: AdmissionOptions, c: AppContext): Admitted {
  if (c.env.listener === "unix") return ofThisAccount(guard, c.req.header(ACTING_HEADER));
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

/**
 * A process of this account, for itself or for the caller whose terminal it serves. @throws WshError invalid_request
 */
function ofThisAccount({ tokens }: GuardPolicy, acting: string | undefined): Admitted {
  const own = { ok: true, access: "admin", tokenName: "socket", tokenId: "socket", endSignal: null } as const;
  if (acting === undefined) return own;
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), ActingSchema), acting);
  if (!parsed.success) throw new WshError("invalid_request", `'${ACTING_HEADER}' does not describe a caller's access`);
  const { access, caller } = parsed.output;
  const { token: tokenName = own.tokenName, id: tokenId = tokenName } = caller.via ?? {};
  const endSignal = tokens()?.find(({ id }) => id === tokenId)?.endSignal ?? null;
  return { ...own, access, tokenName, tokenId, endSignal, ...defined({ session: caller.only }) };
}

/** Allows pages of these origins only to call and to read (docs/security.md, TCP). */
export function allowOrigins(origins: ReadonlySet<string>): MiddlewareHandler {
  return cors({
    origin: [...origins],
    allowMethods: ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
    allowHeaders: ["Authorization", "Content-Type", "Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-ID"].concat(
      REQUEST_HEADERS,
    ),
    exposeHeaders: ["Mcp-Session-Id", CURSOR_HEADER, PANE_HEADER, WARNING_HEADER, "Retry-After"],
  });
}
