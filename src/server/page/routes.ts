/**
 * Serves the browser page: its files contain no personal data, so they need no token, only a Host header that names
 * this server. They are stored compressed; a client that accepts neither brotli nor gzip gets them unpacked.
 */
import type { Hono } from "hono";
import { WshError } from "../../protocol/errors.ts";
import { checkOrigin, type GuardPolicy } from "../auth/guard.ts";
import type { AppContext, AppEnv } from "../http/context.ts";
import { errorResponse } from "../http/request.ts";
import { type PageFile, pageFiles } from "./files.ts";

/** The page loads only from its own origin, runs no inline script, and creates script addresses by one policy. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  ...["script", "style", "connect", "font", "manifest", "worker"].map((kind) => `${kind}-src 'self'`),
  "img-src 'self' data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types wsh",
].join("; ");

const headers: Readonly<Record<string, string>> = {
  "Content-Security-Policy": CONTENT_SECURITY_POLICY,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy": "geolocation=(), microphone=(), camera=()",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  Vary: "Accept-Encoding",
};

/** One year, the maximum of caches. */
const FOREVER = "public, max-age=31536000, immutable";

export function mountPage(app: Hono<AppEnv>, guard: GuardPolicy): void {
  for (const file of pageFiles) {
    app.get(`/${file.path}`, async (c) => {
      if (c.env.listener !== "unix") {
        // Links on other pages lead here, so only the server's name in the address is checked.
        const host = { get: (name: string) => (name === "host" ? (c.req.header("host") ?? null) : null) };
        const verdict = checkOrigin(guard, host);
        if (verdict !== null && !verdict.ok)
          return errorResponse(new WshError(verdict.code, verdict.message), c.req.path);
      }
      return fileResponse(file, c);
    });
  }
}

async function fileResponse(file: PageFile, c: AppContext): Promise<Response> {
  const cached = { ...headers, ETag: file.etag, "Cache-Control": file.hashed ? FOREVER : "no-cache" };
  if (c.req.header("if-none-match") === file.etag) return new Response(null, { status: 304, headers: cached });
  const accepted = (c.req.header("accept-encoding") ?? "").split(",").map((coding) => coding.trim().split(";")[0]);
  const typed = { ...cached, "Content-Type": file.type };
  if (accepted.includes("br"))
    return new Response(Bun.file(file.brotli), { headers: { ...typed, "Content-Encoding": "br" } });
  const packed = await Bun.file(file.gzip).bytes();
  if (accepted.includes("gzip")) return new Response(packed, { headers: { ...typed, "Content-Encoding": "gzip" } });
  return new Response(Bun.gunzipSync(packed), { headers: typed });
}
