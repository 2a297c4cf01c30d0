/** The page's address names the shown sessions: whatever they are called, and after they are renamed. */
import { expect } from "bun:test";
import type { Page } from "puppeteer-core";
import { Gateway, lastingPort, TOKEN } from "../support/server.ts";
import { until } from "../support/until.ts";
import { browserTest, PAGE_MS, type TestBrowser } from "./support/browser.ts";
import { beforeTests } from "./support/place.ts";
import { open } from "./support/shown.ts";

let gateway: Gateway;
let browser: TestBrowser;
beforeTests((...both) => {
  [gateway, browser] = both;
});

const rename = (session: string, name: string) =>
  gateway.unix(`/sessions/${encodeURIComponent(session)}`, { method: "PATCH", json: { name } });

const fragment = (page: Page): Promise<string> => page.evaluate(() => location.hash);
const named = (page: Page): Promise<string[]> =>
  page.$$eval(".tile .name", (names) => names.map(({ textContent }) => textContent ?? ""));

/** Reloads the page, logged in as its address says. */
async function reload(page: Page): Promise<void> {
  const address = new URL(page.url());
  await page.goto("about:blank");
  await page.goto(`${address.origin}/#t=${TOKEN}&${address.hash.slice(1)}`);
  await page.waitForSelector(".tile .dot.live", { timeout: PAGE_MS });
  await page.waitForSelector(".session.active", { timeout: PAGE_MS });
}

browserTest("the address follows a rename, by others and in the page", async () => {
  await gateway.create({ name: "before" });
  const { page, faults } = await open(browser, gateway, "before");
  await page.waitForSelector(".session.active[data-session=before]");
  expect((await rename("before", "after")).status).toBe(200);
  await until("the new name in the address", async () => (await fragment(page)) === "#session=after", PAGE_MS);
  expect(await named(page)).toEqual(["after"]);
  await page.evaluate(() => document.querySelector<HTMLElement>("[aria-label='Rename after']")?.click());
  const field = await page.waitForSelector("dialog input");
  await field?.evaluate((input) => (input as HTMLInputElement).select());
  await page.keyboard.type("third\n");
  await until("the third name in the address", async () => (await fragment(page)) === "#session=third", PAGE_MS);
  await page.waitForSelector("dialog", { hidden: true });
  expect(faults).toEqual([]);
});

browserTest("the address follows a rename that happened while the page was disconnected", async () => {
  await using own = await Gateway.start({ args: ["--bind", `127.0.0.1:${lastingPort()}`] });
  await own.create({ name: "before" });
  const { page } = await open(browser, own, "before");
  await page.waitForSelector(".session.active[data-session=before]");
  await own.end("SIGKILL");
  await page.waitForSelector(".connection.lost");
  await own.ok("rename", "before", "after");
  await own.serve();
  await until("the new name in the address", async () => (await fragment(page)) === "#session=after", PAGE_MS);
  await reload(page);
  expect(await named(page)).toEqual(["after"]);
});

browserTest("sessions of any names can be opened by their address, and again by a reload", async () => {
  const names = ["a%b", "a,b", "a#b?c&d=e+f g", `"quoted" 'too'`, "שלום", "e\u0301😀"];
  for (const name of names) await gateway.create({ name });
  const { page, faults } = await browser.pageFor(gateway.origin);
  await page.goto(`${gateway.origin}/#t=${TOKEN}&session=${names.map(encodeURIComponent).join(",")}`);
  const allShown = async (): Promise<void> => {
    await page.waitForFunction(
      (count) => document.querySelectorAll(".tile .dot.live").length === count,
      {},
      names.length,
    );
    await page.waitForSelector(".session.active", { timeout: PAGE_MS });
    expect(await named(page)).toEqual(names.map((name) => name.normalize()));
    expect(await page.$$eval(".toast", (toasts) => toasts.length)).toBe(0);
  };
  await allShown();
  await reload(page);
  await allShown();
  expect(faults).toEqual([]);
});
