/**
 * `/auth`: the login of a browser, and the description of a caller's credential (docs/protocol.md, Login). The steps of
 * a login need no token, so each checks the caller first: the name and origin of the page, on Linux the user at the
 * other end, and the number of failed attempts from that address.
 */
import type { Hono } from "hono";
import * as v from "valibot";
import { platform } from "../../platform/platform.ts";
import { WshError } from "../../protocol/errors.ts";
import { parseJson } from "../../protocol/json.ts";
import { parse } from "../../protocol/parse.ts";
import { isLoopback } from "../http/address.ts";
import { BODY_MS, limitBody, readBody } from "../http/body.ts";
import type { AppContext, AppEnv, RefusedRequest } from "../http/context.ts";
import { errorResponse } from "../http/request.ts";
import { checkOrigin, type GuardPolicy } from "./guard.ts";
import { BEARER_MS, type Login } from "./login.ts";
import { FailedAttempts } from "./rate-limit.ts";

/** Longest body of a step, in bytes: a key and some names. */
const MAX_BODY_BYTES = 8 * 1024;

const ShortTextSchema = v.pipe(v.string(), v.maxLength(128));
const DeviceSchema = v.object({ code: ShortTextSchema, key: v.pipe(v.string(), v.maxLength(256)) });
const ChallengeSchema = v.object({ device: ShortTextSchema });
const AnswerSchema = v.object({
  device: ShortTextSchema,
  nonce: ShortTextSchema,
  signature: v.pipe(v.string(), v.maxLength(256)),
});

/** A step of a login, for the audit log. */
interface LoginStep {
  readonly operation: "login.code" | "login.device" | "login.session";
  readonly token: string;
  readonly peer: string | null;
  readonly result: string;
}

interface LoginRoutesOptions {
  readonly guard: GuardPolicy;
  /** Null: no login is required, or none is possible. */
  readonly login: () => Login | null;
  /** Address of the page on this machine, without a trailing slash; starts listening there if necessary. */
  readonly page: () => string;
  readonly recordStep: (step: LoginStep) => void;
  readonly recordRefusal?: (code: string, request: RefusedRequest) => void;
}

/** Mounted before admission: these callers have no token. */
export function mountLogin(app: Hono<AppEnv>, options: LoginRoutesOptions): void {
  const failedAttempts = new FailedAttempts();
  const step = (path: string, act: (c: AppContext, login: Login | null) => Promise<Response>): void => {
    app.post(path, limitBody(MAX_BODY_BYTES, errorResponse), readBody(BODY_MS, errorResponse), async (c) => {
      c.header("Cache-Control", "no-store");
      try {
        return await act(c, options.login());
      } catch (thrown) {
        const { code } = WshError.from(thrown);
        options.recordRefusal?.(code, { method: "POST", path: c.req.path, peer: c.env.peer });
        throw thrown;
      }
    });
  };
  // A correct code is accepted regardless of failed attempts: others may share the address, and codes and signatures
  // cannot be guessed.
  const attempt = async <T>(c: AppContext, act: () => Promise<T>): Promise<T> => {
    try {
      return await act();
    } catch (thrown) {
      if (WshError.from(thrown).code === "auth_invalid") failedAttempts.add(c.env.peer);
      throw thrown;
    }
  };

  step("/auth/code", async (c) => {
    if (c.env.listener !== "unix")
      throw new WshError("access_denied", "login codes are created over the Unix socket only");
    if (c.env.agent !== null)
      throw new WshError("access_denied", `${c.env.agent} may not log a browser in: a person can`);
    const page = options.page();
    // TCP may have just started, and with it the login.
    const minted = options.login()?.mint() ?? { code: null, expires_in_s: null };
    options.recordStep({ operation: "login.code", token: "socket", peer: null, result: "ok" });
    return c.json({ ...minted, page });
  });
  step("/auth/device", async (c, login) => {
    const origin = ownOrigin(options.guard, c);
    const given = parse(DeviceSchema, await jsonOf(c));
    const kind = browserKind(c.req.header("user-agent") ?? "");
    const { id, name, token } = await attempt(c, () => {
      const own = required(login);
      if (own.linkOf(given.code) === undefined) requireOwnUser(c);
      return own.register({ ...given, kind, origin });
    });
    options.recordStep({ operation: "login.device", token, peer: c.env.peer, result: "ok" });
    return c.json({ device: id, name }, 201);
  });
  step("/auth/challenge", async (c, login) => {
    ownOrigin(options.guard, c);
    return c.json({ nonce: required(login).challenge(parse(ChallengeSchema, await jsonOf(c)).device) });
  });
  step("/auth/session", async (c, login) => {
    const origin = ownOrigin(options.guard, c);
    const given = parse(AnswerSchema, await jsonOf(c));
    const { token, device } = await attempt(c, () => required(login).answer({ ...given, origin }));
    options.recordStep({ operation: "login.session", token: device.token.name, peer: c.env.peer, result: "ok" });
    return c.json({ token, expires_in_s: BEARER_MS / 1000, access: device.token.access, name: device.name });
  });
}

/** The caller's credential: mounted after admission. */
export function mountMe(app: Hono<AppEnv>): void {
  app.get("/auth/me", (c) => {
    const { tokenName: name, access, session = null, expiresAt: expires_at = null } = c.get("verdict");
    return c.json({ name, access, session, expires_at });
  });
}

function required(login: Login | null): Login {
  if (login !== null) return login;
  throw new WshError("invalid_request", "this server does not use logins", {
    hint: "It runs with --no-auth, or does not serve TCP.",
  });
}

/**
 * The origin of the requesting page, which must be this server's. @throws WshError host_not_allowed, origin_not_allowed
 */
function ownOrigin(guard: GuardPolicy, c: AppContext): string {
  const foreign = checkOrigin(guard, { get: (name) => c.req.header(name) ?? null });
  if (foreign !== null && !foreign.ok) throw new WshError(foreign.code, foreign.message);
  const origin = c.req.header("origin");
  const host = c.req.header("host");
  if (origin === undefined || host === undefined || origin.toLowerCase().replace(/^https?:\/\//, "") !== host) {
    throw new WshError("origin_not_allowed", "only a page of this server can log in");
  }
  return origin;
}

/**
 * A code from an argument list is accepted only for a program of this user: anyone on this machine can read it.
 * @throws WshError auth_invalid
 */
function requireOwnUser(c: AppContext): void {
  const { peer, peerPort } = c.env;
  if (peer === null || peerPort === null || !isLoopback(peer.replace(/^::ffff:/, ""))) {
    throw new WshError(
      "auth_invalid",
      `no valid link has this code, and login codes are not accepted from ${peer ?? "here"}`,
      {
        hint: "Log in on this machine, or over ssh -L; `wsh share` gives access to others.",
      },
    );
  }
  const { listeners } = platform();
  if (listeners === null) return;
  const user = listeners.userOf(peer, peerPort);
  if (user === process.getuid?.()) return;
  const whose = user === null ? "an unknown user" : `user ${user}`;
  throw new WshError(
    "auth_invalid",
    `the browser's connection belongs to ${whose}: a login code works only for its own user`,
  );
}

async function jsonOf(c: AppContext): Promise<unknown> {
  try {
    return parseJson(await c.req.text());
  } catch {
    throw new WshError("invalid_request", "the body is not JSON");
  }
}

/**
 * What browsers call themselves, the most specific first: all name Safari or Chrome too, for pages that look for these.
 * On iOS each has a name of its own for the same engine.
 */
const browserNames: readonly (readonly [name: string, pattern: RegExp])[] = [
  ["edge", /\b(?:Headless)?Edg(?:A|iOS)?\//],
  ["opera", /\bOP(?:R|T|X)\//],
  ["samsung", /\bSamsungBrowser\//],
  ["firefox", /\b(?:Firefox|FxiOS)\//],
  ["chrome", /\b(?:Headless)?(?:Chrome|Chromium|CriOS)\//],
  ["safari", /\bSafari\//],
];

/** The browser's name in one word. */
export function browserKind(agent: string): string {
  return browserNames.find(([, pattern]) => pattern.test(agent))?.[0] ?? "browser";
}
