/** Admission over TCP. */
import { expect, test } from "bun:test";
import { checkOrigin, checkToken, digestToken, type GuardPolicy } from "../../../src/server/auth/guard.ts";

const policy: GuardPolicy = {
  hostNames: new Set(["127.0.0.1", "localhost", "[::1]", "box"]),
  corsOrigins: new Set(["https://app.example"]),
  tokens: () => [{ id: "own", name: "own", digest: digestToken("sixteen-bytes-ok"), access: "admin", endSignal: null }],
};
const headers = (values: Record<string, string>) => new Headers(values);
const originCode = (values: Record<string, string>): string | null => {
  const verdict = checkOrigin(policy, headers(values));
  return verdict === null || verdict.ok ? null : verdict.code;
};

test.each([
  [{ host: "127.0.0.1:8080" }, null],
  [{ host: "LOCALHOST:9" }, null],
  [{ host: "[::1]:8080" }, null],
  [{ host: "evil.example:8080" }, "host_not_allowed"],
  [{ host: "localhost.evil.example" }, "host_not_allowed"],
  [{}, "host_not_allowed"],
  [{ host: "box:1", origin: "http://box:1" }, null],
  [{ host: "box:1", origin: "https://box:1" }, null],
  [{ host: "box:1", origin: "http://box:2" }, "origin_not_allowed"],
  [{ host: "box:1", origin: "null" }, "origin_not_allowed"],
  [{ host: "box:1", origin: "https://app.example" }, null],
  [{ host: "box:1", origin: "https://app.example.evil" }, "origin_not_allowed"],
  [{ host: "box:1", "sec-fetch-site": "cross-site" }, "origin_not_allowed"],
  [{ host: "box:1", "sec-fetch-site": "same-site" }, "origin_not_allowed"],
  [{ host: "box:1", "sec-fetch-site": "same-origin" }, null],
  [{ host: "box:1", "sec-fetch-site": "none" }, null],
  [{ host: "box:1", origin: "https://app.example", "sec-fetch-site": "cross-site" }, null],
])("headers %p give %p", (values, code) => {
  expect(originCode(values as Record<string, string>)).toBe(code);
});

test.each([
  [undefined, "auth_required"],
  ["Basic abc", "auth_required"],
  ["bearer sixteen-bytes-ok", null],
  ["BEARER  sixteen-bytes-ok", null],
  ["Bearer", "auth_required"],
  ["Bearer wrong", "auth_invalid"],
  ["Bearer ", "auth_required"],
])("authorization %p is %p", (authorization, code) => {
  const verdict = checkToken(policy, headers(authorization === undefined ? {} : { authorization }));
  expect(verdict.ok ? null : verdict.code).toBe(code as never);
});

test("the right token is admitted with its access", () => {
  expect(checkToken(policy, headers({ authorization: "Bearer sixteen-bytes-ok" }))).toMatchObject({
    ok: true,
    access: "admin",
    tokenName: "own",
  });
});
