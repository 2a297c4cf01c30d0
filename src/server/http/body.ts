/**
 * Reads request bodies completely before any effect, within limits of size and time. Without the time limit, a
 * client that sends a byte now and then would hold a request, its memory and its connection forever.
 */
import type { Context, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { WshError } from "../../protocol/errors.ts";

/** Longest time for a body to arrive, in ms: a megabyte at 300 kbit/s. */
export const BODY_MS = 30_000;

/**
 * Refuses a longer body.
 * @param answer creates the response for a refused or interrupted body
 */
export function limitBody(maxSize: number, answer: (error: WshError, path: string) => Response): MiddlewareHandler {
  const refuse = (c: Context): Response =>
    answer(new WshError("payload_too_large", `the body exceeds ${maxSize / 1024} KiB`), c.req.path);
  const limited = bodyLimit({ maxSize, onError: refuse });
  return async (c, next) => {
    let isWhole = false;
    try {
      return await limited(c, () => {
        isWhole = true;
        return next();
      });
    } catch (thrown) {
      if (isWhole) throw thrown;
      return answer(brokenBody(), c.req.path);
    }
  };
}

function brokenBody(): WshError {
  return new WshError("invalid_request", "the body is truncated, or its chunks are malformed");
}

/**
 * Reads the body; later readers (`c.req.text()`, `c.req.arrayBuffer()`) get these bytes.
 * @param answer creates the response for a body that did not arrive in time
 */
export function readBody(patienceMs: number, answer: (error: WshError, path: string) => Response): MiddlewareHandler {
  return async (c, next) => {
    const came = c.req.raw.body === null ? "whole" : await arrivesWithin(patienceMs, c);
    if (came === "whole") return next();
    const error =
      came === "broken"
        ? brokenBody()
        : new WshError(
            "invalid_request",
            `the body did not arrive within ${patienceMs} ms`,
            { hint: "Send the whole body at once." },
            { status: 408 },
          );
    const response = answer(error, c.req.path);
    // Later bytes belong to no request: Bun closes the connection once the answer is sent.
    response.headers.set("Connection", "close");
    return response;
  };
}

async function arrivesWithin(patienceMs: number, c: Context): Promise<"whole" | "broken" | "late"> {
  const late = Promise.withResolvers<"late">();
  const timer = setTimeout(() => late.resolve("late"), patienceMs);
  const read = c.req.arrayBuffer().then(
    () => "whole" as const,
    () => "broken" as const,
  );
  try {
    return await Promise.race([read, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The request with the body that was read, for code that takes a Request rather than a context. */
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
