/**
 * Request bodies: read whole before anything is done, within limits of size and time. Without the time limit a client
 * that sends a byte now and then would hold a request, its memory and its connection forever.
 */
import type { Context, MiddlewareHandler } from "hono";
import { WshError } from "../../protocol/errors.ts";

/** Longest time for a body to arrive, in ms: a megabyte at 300 kbit/s. */
export const BODY_MS = 30_000;

/**
 * Reads the body; later readers (`c.req.text()`, `c.req.arrayBuffer()`) get what was read here.
 * @param answer makes the response for a body that did not arrive in time
 */
export function readBody(patienceMs: number, answer: (error: WshError, path: string) => Response): MiddlewareHandler {
  return async (c, next) => {
    if (c.req.raw.body === null || (await comesWithin(patienceMs, c))) return next();
    const error = new WshError(
      "invalid_request",
      `the body did not come within ${patienceMs} ms`,
      { hint: "Send the whole body at once." },
      { status: 408 },
    );
    const response = answer(error, c.req.path);
    // Later bytes belong to no request: Bun closes the connection once the answer is sent.
    response.headers.set("Connection", "close");
    return response;
  };
}

async function comesWithin(patienceMs: number, c: Context): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), patienceMs);
  try {
    return await Promise.race([c.req.arrayBuffer().then(() => true), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The request with the body that was read, for code that takes a Request and not a context. */
export async function requestWithBody(c: Context): Promise<Request> {
  const { raw } = c.req;
  if (raw.body === null) return raw;
  return new Request(raw.url, {
    method: raw.method,
    headers: raw.headers,
    body: await c.req.arrayBuffer(),
    signal: raw.signal,
  });
}
