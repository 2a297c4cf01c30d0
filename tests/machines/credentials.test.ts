/** Credentials files: accepted ones, and rejected ones with the reason. */
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

test("credentials contain the user, the login method and the servers", () => {
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
  expect(() => parseCredentials(block(settings))).toThrow("both the block NATS USER JWT and 'user'");
});

test.each([
  ["nothing", "", "the block WSH FLEET with"],
  ["another program's file", file().replace(/-+BEGIN WSH[\s\S]*/, ""), "the block WSH FLEET with"],
  ["no seed", file().replace(seed, "SAAB"), "seed is missing"],
  ["an account's JWT", file({}, { name: "m1", nats: { type: "account" } }), "does not belong to a user"],
  ["a name that is not one token of a subject", file({}, { name: "m1.>", nats: { type: "user" } }), 'name is "m1.>"'],
  ["a server in the clear", file({ servers: ["nats://n1.example.org:4222"] }), "cannot be read"],
  ["no server", file({ servers: [] }), "no server is named"],
  ["a role that there is not", file({ role: "root" as never }), "cannot be read"],
])("%s is refused", (_what, text, reason) => {
  expect(() => parseCredentials(text)).toThrow(reason);
});
