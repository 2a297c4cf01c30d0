/** A browser is admitted by a code that counts once, afterwards by its own key, or by a link that shows one session. */
import { expect } from "bun:test";
import type { Gateway } from "../support/server.ts";
import { until } from "../support/until.ts";
import { browserTest, type TestBrowser } from "./support/browser.ts";
import { beforeTests } from "./support/place.ts";

let gateway: Gateway;
let browser: TestBrowser;
beforeTests((...both) => {
  [gateway, browser] = both;
});

browserTest(
  "wsh open's address logs in once; a reload needs none; nothing of it stays in the address or in cookies",
  async () => {
    await gateway.create({ name: "mine" });
    const address = (await gateway.ok("open", "mine", "--print")).match(/https?:\/\/\S+/)?.[0] ?? "";
    expect(address).toContain("#c=");
    const { page, faults } = await browser.page();
    await page.goto(address);
    await page.waitForSelector(".tile .dot.live");
    await page.waitForSelector("[data-session=mine].active");
    expect(page.url()).not.toContain("c=");
    expect(await page.evaluate(() => history.length)).toBeLessThan(3);
    expect(await page.cookies()).toEqual([]);
    expect(await page.evaluate(() => document.cookie + JSON.stringify({ ...sessionStorage }))).toBe("{}");
    await page.reload();
    await page.waitForSelector(".tile .dot.live");
    await page.waitForSelector("[data-session=mine].active");

    const second = await browser.page();
    await second.page.goto(address);
    await second.page.waitForSelector(".empty code");
    expect(await second.page.evaluate(() => document.querySelectorAll(".terminal").length)).toBe(0);
    expect(faults).toEqual([]);
    expect(second.faults).toEqual([]);
  },
);

browserTest("an address lets in, and leads to its sessions, in a tab that shows the page already", async () => {
  await gateway.create({ name: "one" });
  await gateway.create({ name: "two" });
  const { page, faults } = await browser.page();
  const print = async () => (await gateway.ok("open", "one", "--print")).match(/https?:\/\/\S+/)?.[0] ?? "no address";
  await page.goto((await print()).replace(/#.*/, ""));
  await page.waitForSelector(".empty code");
  await page.goto(await print());
  await page.waitForSelector("[data-session=one].active");
  expect(page.url()).not.toContain("c=");

  const shown = (names: readonly string[]) =>
    page.waitForFunction(
      (wanted) => Array.from(document.querySelectorAll(".tile .name"), (name) => name.textContent).join() === wanted,
      {},
      names.join(),
    );
  const go = (hash: string) => page.evaluate((wanted) => location.assign(`#${wanted}`), hash);
  await go("session=two");
  await shown(["two"]);
  await go("session=two,one");
  await shown(["two", "one"]);
  await go("session=three");
  await page.waitForFunction(() => document.querySelector(".toasts")?.textContent?.includes("'three'"));
  await shown(["two", "one"]);
  expect(page.url()).toContain("session=two,one");
  // A tab that starts with an unknown session reports it, before somebody types into another.
  await page.goto("about:blank");
  await page.goto(`${new URL(await print()).origin}/#session=gone`);
  await page.waitForFunction(() => document.querySelector(".toasts")?.textContent?.includes("'gone'"));
  expect(faults).toEqual([]);
});

browserTest("a page of another origin gets no WebSocket", async () => {
  await using other = Bun.serve({
    port: 0,
    fetch: () => new Response("<!doctype html>", { headers: { "Content-Type": "text/html" } }),
  });
  const { page } = await browser.page();
  await page.goto(`http://127.0.0.1:${other.port}/`);
  const opened = await page.evaluate(
    (url) =>
      new Promise((resolve) => {
        const socket = new WebSocket(url);
        socket.onopen = () => resolve("open");
        socket.onerror = () => resolve("refused");
      }),
    `${gateway.origin.replace("http", "ws")}/ws/json`,
  );
  expect(opened).toBe("refused");
});

browserTest("a shared session is seen, alone; it cannot be typed into; revoking ends it", async () => {
  await gateway.create({ name: "shared" });
  await gateway.create({ name: "private" });
  await gateway.type("shared", "echo for-all\r");
  const { id, address } = JSON.parse(await gateway.ok("share", "shared", "--local", "--json"));
  const code = address.split("#s=")[1] ?? "-";
  const { page, faults } = await browser.page();
  await page.goto(address);
  await page.waitForSelector(".tile .dot.live");
  const text = () => page.evaluate(() => document.querySelector(".screen")?.textContent ?? "");
  await until("the session", async () => (await text()).includes("for-all"));
  expect(
    await page.evaluate(() =>
      Array.from(document.querySelectorAll<HTMLElement>("[data-session]"), ({ dataset }) => dataset.session),
    ),
  ).toEqual(["shared"]);
  expect(page.url()).not.toContain(code);
  await page.waitForSelector(".badge");
  // Nothing is offered that would be refused.
  const labels = await page.$$eval("button", (buttons) =>
    buttons.map((button) => button.ariaLabel ?? button.textContent),
  );
  expect(labels).toContainValues(["Find", "Close", "Palette"]);
  expect(labels.filter((label) => /split|new |rename|tags|end /i.test(label ?? ""))).toEqual([]);
  await page.click('button[aria-label="Palette"]');
  await page.waitForSelector("dialog[open] [role=option]");
  const offered = await page.$$eval("dialog [role=option] span", (names) =>
    names.map(({ textContent }) => textContent),
  );
  expect(offered).toContainValues(["Find", "Settings"]);
  expect(offered.filter((name) => /split|new |rename|tags|end |close|zoom/i.test(name ?? ""))).toEqual([]);
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { hidden: true });
  const before = await text();
  await page.click(".pane");
  await page.keyboard.type("echo typed-by-guest\r");
  await page.waitForSelector(".toast.error");
  expect(await page.$$eval(".toast.error", ({ length }) => length)).toBe(1);
  await gateway.type("shared", "echo still-here\r");
  await until("the session to go on", async () => (await text()).includes("still-here"));
  expect(await text()).not.toContain("typed-by-guest");
  expect(before).not.toContain("typed-by-guest");

  // The link has admitted this browser, and admits no other; this one continues by its key, and by the link.
  const other = await browser.page();
  await other.page.goto(address);
  await other.page.waitForFunction(() => document.querySelector(".empty")?.textContent?.includes("another browser"));
  // Entries left in the browser's history admit nobody else.
  await other.page.goto("about:blank");
  await other.page.goto(page.url());
  await other.page.waitForFunction(() => document.querySelector(".empty")?.textContent?.includes("This link does not"));
  await page.reload();
  await until("the session after a reload", async () => (await text()).includes("still-here"));
  await page.goto("about:blank");
  await page.goto(address);
  await until("the session by the link", async () => (await text()).includes("still-here"));
  expect(page.url()).not.toContain(code);
  expect(await page.evaluate(() => history.state)).toBeNull();

  await gateway.ok("token", "revoke", id);
  await page.waitForSelector(".connection.refused");
  expect(faults.filter((fault) => !fault.includes("WebSocket"))).toEqual([]);
});
