/** Unit tests of src/mcp/http/responses.ts. */
import { expect, test } from "bun:test";
import { onEnd } from "../../../src/mcp/http/responses.ts";

test("the end of a stream whose client leaves while it waits for the next piece is reported once", async () => {
  let ends = 0;
  const silent = new Response(new ReadableStream(), { headers: { "content-type": "text/event-stream" } });
  const reader = onEnd(silent, () => ends++).body?.getReader();
  await reader?.read();
  const pending = reader?.read();
  await reader?.cancel("the client has left");
  await pending;
  // The read below the body ends after the turn in which it is cancelled.
  await new Promise(setImmediate);
  expect(ends).toBe(1);
});
