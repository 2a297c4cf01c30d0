/**
 * The HTTP app: one Hono app for the Unix socket and TCP, with routes generated from the operation table. The order of
 * mounting is its contract: the browser page, which has its own headers; headers on every response; `/health` for
 * everyone; admission (admission.ts); body limits; then operations (request.ts) and the routes of `extend`, all of
 * which only admitted requests reach.
 */
import { Hono } from "hono";
import { secureHeaders } from "hono/secure-headers";
import type { Call } from "../../operations/call.ts";
import { operations } from "../../operations/table.ts";
import { mountPage } from "../page/routes.ts";
import { type AdmissionOptions, admission, allowOrigins } from "./admission.ts";
import { BODY_MS, limitBody, readBody } from "./body.ts";
import type { AppEnv } from "./context.ts";
import { callFromHttp, errorResponse, reply } from "./request.ts";

/** Longest request body, and longest decoded input (docs/protocol.md, Limits). */
const MAX_BODY_BYTES = 1024 * 1024;

export interface AppOptions extends AdmissionOptions {
  readonly call: Call;
  /** Path before every route ("/p"), "": none. */
  readonly basePrefix: string;
  /** Mounts routes that need no token and check their callers themselves. */
  readonly mountBeforeAdmission?: (app: Hono<AppEnv>) => void;
  /** Mounts other routes (WebSocket, MCP, documentation) behind the same checks. */
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
  mountPage(app, options.guard);
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
  options.mountBeforeAdmission?.(app);
  app.use(admission(options));
  app.use(limitBody(MAX_BODY_BYTES, errorResponse));
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

/** Answers any other method on a known path with 405 and Allow. */
function refuseOtherMethods(app: Hono<AppEnv>): void {
  const methods = new Map<string, Set<string>>([["/health", new Set(["GET"])]]);
  for (const route of app.routes) {
    if (route.method === "ALL" || route.path.includes("*")) continue;
    const routeMethods = methods.get(route.path) ?? new Set();
    methods.set(route.path, routeMethods.add(route.method));
  }
  for (const [path, allowed] of methods) {
    app.all(path, (c) => c.body(null, 405, { Allow: [...allowed].join(", ") }));
  }
}
