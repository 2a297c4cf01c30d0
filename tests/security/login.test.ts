/** A browser logs in with a code once, afterwards with its key, and only from the same origin. */
import { describe, expect, test } from "bun:test";
import { Browser } from "../support/login.ts";
import { Gateway } from "../support/server.ts";
import { sharedGateway } from "../support/shared.ts";
import { givenTime } from "../support/timing-retries.ts";
import { until } from "../support/until.ts";

const gateway = sharedGateway({ args: ["--audit"] });

async function code(): Promise<string> {
  const response = await gateway.unix("/auth/code", { method: "POST" });
  expect(response.status).toBe(200);
  return (await response.json()).code;
}

describe("a browser", () => {
  test("logs in with a code, then with its key alone, and may do everything", async () => {
    const browser = await Browser.create(gateway);
    expect((await browser.register(await code())).status).toBe(201);
    const token = await browser.login();
    const me = await gateway.tcp("/auth/me", { token });
    expect(await me.json()).toMatchObject({ name: expect.stringContaining("device:"), access: "admin", session: null });
    expect((await gateway.tcp("/sessions", { token })).status).toBe(200);
    expect(await browser.login()).not.toBe(token);
    expect((await gateway.ok("token", "list")).split("\n").find((line) => line.includes("browser"))).toContain("admin");
    // The same key is the same browser.
    const { device } = browser;
    const listed = await gateway.ok("token", "list");
    expect((await browser.register(await code())).status).toBe(201);
    expect(browser.device).toBe(device);
    expect(await gateway.ok("token", "list")).toBe(listed);
  });

  test("uses a code once", async () => {
    const minted = await code();
    expect((await (await Browser.create(gateway)).register(minted)).status).toBe(201);
    const second = await (await Browser.create(gateway)).register(minted);
    expect(second.status).toBe(403);
    expect((await second.json()).error.hint).toContain("wsh open");
  });

  test("counts only on the origin where it was registered, and signs each challenge once", async () => {
    const browser = await Browser.create(gateway);
    await browser.register(await code());
    const elsewhere = browser.at(gateway.origin);
    expect((await elsewhere.session()).status).toBe(403);
    const signed = await browser.signed();
    expect((await browser.post("/auth/session", signed)).status).toBe(200);
    expect((await browser.post("/auth/session", signed)).status).toBe(409);
    const other = await Browser.create(gateway);
    expect(
      (await browser.post("/auth/session", { ...(await browser.signed()), signature: await other.sign("x") })).status,
    ).toBe(403);
  });

  test("that is revoked is out at once: its token, its sockets, its key", async () => {
    const browser = await Browser.create(gateway);
    const { name } = await (await browser.register(await code())).json();
    const token = await browser.login();
    const { ticket } = await (await gateway.tcp("/auth/ws-ticket", { method: "POST", token })).json();
    const socket = await gateway.ws(`/ws/json?ticket=${ticket}`, {}).catch(() => null);
    expect(await gateway.ok("token", "revoke", name)).toContain("Browser");
    await until("its token to fail", async () => (await gateway.tcp("/sessions", { token })).status === 403);
    expect((await browser.session()).status).toBe(403);
    if (socket !== null) expect(await socket.closed).toMatchObject({ code: 1008 });
  });
});

describe("a refused caller", () => {
  test("a page of another origin, and one without any", async () => {
    const browser = (await Browser.create(gateway)).at("http://evil.example");
    expect((await browser.register(await code())).status).toBe(403);
    const noOrigin = await gateway.tcp("/auth/challenge", { token: null, json: { device: "x" } });
    expect(noOrigin.status).toBe(403);
    const rebound = await gateway.tcp("/", { token: null, headers: { Host: "evil.example" } });
    expect(rebound.status).toBe(403);
  });

  test("a request for a code over TCP", async () => {
    const answer = await gateway.tcp("/auth/code", { method: "POST" });
    expect(answer.status).toBe(403);
    expect((await answer.json()).error.code).toBe("access_denied");
  });

  test("an invalid key, and an invalid body", async () => {
    await using other = await Gateway.start();
    const browser = await Browser.create(other);
    for (const key of [btoa("x".repeat(65)), btoa(`\x04${"x".repeat(64)}`), btoa("\x04"), "", "%"]) {
      expect((await browser.post("/auth/device", { code: "any", key })).status).toBe(400);
    }
    expect((await browser.post("/auth/device", "not an object")).status).toBe(400);
    expect((await browser.post("/auth/device", { code: "x".repeat(9_000), key: "" })).status).toBe(413);
  });
});

test("five wrong tries a minute; each is recorded, and no secret is", async () => {
  await using other = await Gateway.start({ args: ["--audit"] });
  const browser = await Browser.create(other);
  const statuses: number[] = [];
  for (let i = 0; i < 7; i++) statuses.push((await browser.register("a-guess-of-somebody")).status);
  expect(statuses.slice(0, 5)).toEqual([403, 403, 403, 403, 403]);
  expect(statuses.slice(5)).toEqual([429, 429]);
  // Neither wrong tries nor unfinished logins keep out a caller with a valid code.
  for (let i = 0; i < 300; i++) expect((await browser.post("/auth/challenge", { device: "any" })).status).toBe(200);
  const minted: { code: string } = await (await other.unix("/auth/code", { method: "POST" })).json();
  expect((await browser.register(minted.code)).status).toBe(201);
  expect((await browser.session()).status).toBe(200);
  const audit = async (): Promise<string> => Bun.file(`${other.instance.stateDir}/t.audit.log`).text();
  await until(
    "the records",
    async () => (await audit()).split("\n").filter((line) => line.includes("auth_invalid")).length >= 5,
  );
  expect(await audit()).not.toContain("a-guess-of-somebody");
});

test("a token may expire: connections opened with it are closed", async () => {
  await gateway.create({ name: "brief" });
  const { token, socket, me } = await givenTime("the socket", async (ms) => {
    const life = `${Math.ceil(ms / 1_000) + 1}s`;
    const token = (await gateway.ok("token", "create", `for-a-moment-${life}`, "--expires", life)).trim();
    const socket = await gateway.ws("/ws/json", { Authorization: `Bearer ${token}` }).catch(() => null);
    const me = await (await gateway.tcp("/auth/me", { token })).json();
    return socket === null || me.expires_at === undefined ? null : { token, socket, me };
  });
  expect(me.expires_at).toBeGreaterThan(Date.now() - 2_000);
  expect(await socket.closed).toMatchObject({ code: 1008 });
  expect(Date.now()).toBeGreaterThanOrEqual(me.expires_at - 5);
  expect((await gateway.tcp("/sessions", { token })).status).toBe(403);
  expect(await gateway.ok("token", "list")).not.toContain("for-a-moment");
  expect((await gateway.run("token", "create", "never", "--expires", "soon")).code).toBe(2);
});
