/**
 * Bodies of requests: read whole before anything is done, within a size and a time. Without the time a client that sends
 * a byte now and then keeps a request, its memory and its connection for ever.
 */
import type { Context, MiddlewareHandler } from "hono";
import { WshError } from "../protocol/errors.ts";

/** Time for a body to come, in ms: a megabyte at 300 kbit/s. */
export const BODY_MS = 30_000;

/** Later readers (`c.req.text()`, `c.req.arrayBuffer()`) find what was read here. */
export function readBody(patienceMs: number): MiddlewareHandler {
  return async (c, next) => {
    if (c.req.raw.body !== null) await within(patienceMs, c);
    await next();
  };
}

/** @throws WshError invalid_request with status 408 */
async function within(patienceMs: number, c: Context): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    // What may still come belongs to no request.
    c.header("Connection", "close");
    late.reject(
      new WshError(
        "invalid_request",
        `the body did not come within ${patienceMs} ms`,
        { hint: "Send the whole body at once." },
        { status: 408 },
      ),
    );
  }, patienceMs);
  try {
    await Promise.race([c.req.arrayBuffer(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The request again with the body that was read, for those who take a Request and not a context. */
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
