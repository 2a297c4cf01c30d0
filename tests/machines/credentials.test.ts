/** Credentials files: what is read, and what is refused with its reason. */
import { expect, test } from "bun:test";
import { type FleetSettings, formatCredentials, parseCredentials } from "../../src/protocol/fleet.ts";

const settings: FleetSettings = { v: 1, servers: ["tls://n1.example.org:4222"], role: "machine", tags: ["gpu"] };
const seed = `SU${"A".repeat(56)}`;

function jwtOf(claims: object): string {
  return ["e30", Buffer.from(JSON.stringify(claims)).toString("base64url"), "c2ln"].join(".");
}

function file(over: Partial<FleetSettings> = {}, claims: object = { name: "m1", nats: { type: "user" } }): string {
  return formatCredentials(jwtOf(claims), seed, { ...settings, ...over });
}

test("credentials say who their user is, how it logs in and where the servers are", () => {
  const claims = { name: "m1", exp: 1_900_000_000, nats: { type: "user" } };
  expect(parseCredentials(file({}, claims).replaceAll("\n", "\r\n"))).toEqual({
    login: { jwt: jwtOf(claims), seed },
    user: "m1",
    expiresAt: 1_900_000_000_000,
    settings,
  });
});

test("a cluster without JWTs takes a name and a password", () => {
  const block = (fields: object) => `-----BEGIN WSH FLEET-----\n${JSON.stringify(fields)}\n------END WSH FLEET------\n`;
  const { login, user } = parseCredentials(block({ ...settings, user: "m1", password: "secret" }));
  expect({ login, user }).toEqual({ login: { user: "m1", password: "secret" }, user: "m1" });
  expect(parseCredentials(block({ ...settings, user: "m1" })).login).toBeNull();
  expect(() => parseCredentials(block(settings))).toThrow("neither a block NATS USER JWT nor a 'user'");
});

test.each([
  ["nothing", "", "no block WSH FLEET"],
  ["another program's file", file().replace(/-+BEGIN WSH[\s\S]*/, ""), "no block WSH FLEET"],
  ["no seed", file().replace(seed, "SAAB"), "no seed of a user"],
  ["an account's JWT", file({}, { name: "m1", nats: { type: "account" } }), "not a user's"],
  ["a name that is no token of a subject", file({}, { name: "m1.>", nats: { type: "user" } }), 'named "m1.>"'],
  ["a server in the clear", file({ servers: ["nats://n1.example.org:4222"] }), "cannot be read"],
  ["no server", file({ servers: [] }), "names no server"],
  ["a role that there is not", file({ role: "root" as never }), "cannot be read"],
])("%s is refused", (_what, text, reason) => {
  expect(() => parseCredentials(text)).toThrow(reason);
});
