/** A browser stays logged in when its server is replaced, and is logged out; a link followed from another site. */
import { afterAll, beforeAll, expect } from "bun:test";
import type { Page } from "puppeteer-core";
import { Gateway, lastingPort } from "../support/server.ts";
import { until } from "../support/until.ts";
import { isCompiled } from "../support/wsh-program.ts";
import { browserTest, PAGE_MS, TestBrowser } from "./support/browser.ts";

/** Longest time in which an expired link ends its connections, in ms: within a second on a machine at rest. */
const END_MS = process.env.WSH_TEST_FULL === undefined ? PAGE_MS : 1_000;

let gateway: Gateway;
let browser: TestBrowser;
beforeAll(async () => {
  if (!isCompiled) return;
  // A key belongs to a port: the server restarts at the same one.
  const port = lastingPort();
  gateway = await Gateway.start({ args: ["--bind", `127.0.0.1:${port}`] });
  browser = await TestBrowser.start();
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await gateway?.[Symbol.asyncDispose]();
});

async function shows(page: Page, wanted: RegExp): Promise<void> {
  await until(
    `the page to show ${wanted}`,
    () => page.evaluate(() => document.querySelector(".screen")?.textContent ?? "").then((text) => wanted.test(text)),
    PAGE_MS,
  );
}

/** Everything that the page stores or displays. */
async function kept(page: Page): Promise<string> {
  return page.evaluate(() =>
    JSON.stringify([location.href, document.cookie, { ...localStorage }, { ...sessionStorage }]),
  );
}

browserTest("its key lets a browser in again after kill -9 of the server, until it is revoked", async () => {
  await gateway.create({ name: "mine", command: "/bin/sh -c 'printf hello; exec cat'" });
  const { address } = JSON.parse(await gateway.ok("open", "mine", "--json"));
  const { page, faults } = await browser.page();
  const bearers: string[] = [];
  page.on("request", (request) => void bearers.push(request.headers().authorization ?? ""));
  await page.goto(address);
  await page.waitForSelector(".tile .dot.live");
  await shows(page, /hello/);
  const bearer = bearers.find((one) => one !== "")?.replace("Bearer ", "") ?? "-";
  expect(await kept(page)).not.toContain(bearer);

  // The server forgets its bearers at its end: the page gets another by its key.
  await gateway.end("SIGKILL");
  await page.waitForSelector(".tile > .lost");
  await gateway.serve();
  await page.waitForSelector(".tile .dot.live");
  await page.waitForSelector(".terminal.focused");
  await page.keyboard.type("again");
  await shows(page, /helloagain/);
  expect(faults.filter((fault) => !fault.includes("WebSocket"))).toEqual([]);

  // A server that ends between a challenge and its answer locks nobody out.
  await page.setRequestInterception(true);
  let isRestarted = false;
  page.on("request", async (request) => {
    if (!isRestarted && request.url().endsWith("/auth/session")) {
      isRestarted = true;
      await gateway.end("SIGKILL");
      await gateway.serve();
    }
    await request.continue();
  });
  await gateway.end("SIGKILL");
  await page.waitForSelector(".tile > .lost");
  await gateway.serve();
  await page.waitForSelector(".tile .dot.live");
  expect(isRestarted).toBe(true);
  // Another code does not make it another browser.
  await page.goto(JSON.parse(await gateway.ok("open", "mine", "--json")).address);
  await page.waitForSelector(".tile .dot.live");

  const [{ name }, ...others] = JSON.parse(await gateway.ok("token", "list", "--json"));
  expect(others).toEqual([]);
  await gateway.ok("token", "revoke", name);
  await until(
    "the page to be put out",
    () => page.evaluate(() => /wsh open/.test(document.body.textContent ?? "")),
    PAGE_MS,
  );
});

browserTest("a link shows one session, also from another site, until it is revoked", async () => {
  await gateway.create({ name: "shared", command: "/bin/sh -c 'printf shown; exec cat'" });
  await gateway.create({ name: "hidden", command: "cat" });
  const { id, address } = JSON.parse(await gateway.ok("share", "shared", "--local", "--json"));
  const { page } = await browser.page();
  // A page elsewhere with a link to here: cross-site, to a browser.
  await using other = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(`<a href="${address}">here</a>`, { headers: { "Content-Type": "text/html" } }),
  });
  await page.goto(`http://localhost:${other.port}/`);
  await page.click("a");
  await shows(page, /shown/);
  expect(await page.evaluate(() => document.body.textContent ?? "")).not.toContain("hidden");
  await page.keyboard.type("typed by a guest");
  await until("the guest to be seen", async () => (await gateway.ok("list")).includes(id));
  await gateway.ok("share", "--revoke", id);
  // The server ends the connection, and the page reports it at once.
  await page.waitForSelector(".connection.refused", { timeout: END_MS });
  expect(await page.evaluate(() => document.querySelector("#wsh")?.textContent)).toContain(
    "This link does not admit this browser.",
  );
  await until("the guest to be gone", async () => !(await gateway.ok("list")).includes(id));
  const screen = await (await gateway.unix("/sessions/shared/screen?format=plain")).json();
  expect(screen.lines.join("\n").trim()).toBe("shown");
});

browserTest("a link past its time ends what it opened, and the page says so", async () => {
  await gateway.create({ name: "timed", command: "/bin/sh -c 'printf shown; exec cat'" });
  const { page } = await browser.page();
  let token = "";
  let expiresAt = 0;
  // A slow machine has not shown the page before the link expires: it gets another one that lasts longer.
  for (let seconds = 4; !(await isShown(page)); seconds *= 2) {
    const { address, expires_at } = JSON.parse(
      await gateway.ok("share", "timed", "--local", "--expires", `${seconds}s`, "--json"),
    );
    expiresAt = expires_at;
    token = /s=([^&]+)/.exec(address)?.[1] ?? "";
    await page.goto("about:blank");
    await page.goto(address);
    await until(
      "the session, or the link's end",
      async () => (await isShown(page)) || (await page.$(".connection.refused")) !== null,
      PAGE_MS,
    );
  }
  await until("the time to be over", () => Date.now() >= expiresAt, PAGE_MS);
  await page.waitForSelector(".connection.refused", { timeout: END_MS });
  const words = await page.evaluate(() => document.querySelector("#wsh")?.textContent ?? "");
  expect(words).toContain("This link does not admit this browser.");
  expect(words).not.toContain("timed");
  expect((await gateway.tcp("/sessions/timed", { token })).status).toBe(403);
});

function isShown(page: Page): Promise<boolean> {
  return page.evaluate(() => document.querySelector(".screen")?.textContent?.includes("shown") === true);
}
