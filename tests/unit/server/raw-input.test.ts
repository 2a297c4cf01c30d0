/** `POST /sessions/NAME/input` types its body, with the options of its query. */
import { expect, test } from "bun:test";
import { Hono } from "hono";
import type { Call } from "../../../src/operations/call.ts";
import { findOperation } from "../../../src/operations/table.ts";
import type { AppEnv } from "../../../src/server/http/context.ts";
import { callFromHttp } from "../../../src/server/http/request.ts";

test("the query's submit and paste count, and the body is always the data", async () => {
  const operation = findOperation("input.send");
  const binding = operation?.http?.find(({ from }) => from === "raw");
  if (operation === undefined || binding === undefined) throw new Error("input.send takes no raw body");
  let given: unknown;
  const call = (async (_: string, input: unknown) => {
    given = input;
    return {};
  }) as unknown as Call;
  const app = new Hono<AppEnv>().post("/sessions/:name/input", async (c) => {
    c.set("verdict", { access: "admin", tokenName: "t", tokenId: "t" } as never);
    await callFromHttp(call, operation, binding, c);
    return c.body(null, 204);
  });
  const sent = await app.request("/sessions/a/input?submit=true&paste=1&data=other", { method: "POST", body: "ls" }, {
    agent: null,
    peer: null,
  } as never);
  expect(sent.status).toBe(204);
  expect(given).toEqual({ data: btoa("ls"), encoding: "base64", submit: true, paste: true });
});
