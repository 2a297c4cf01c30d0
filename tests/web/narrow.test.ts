/** A narrow page: a phone's width, zoom, or several terminals side by side. */
import { expect } from "bun:test";
import type { Page } from "puppeteer-core";
import type { Gateway } from "../support/server.ts";
import { until } from "../support/until.ts";
import { browserTest, PAGE_MS, type TestBrowser } from "./support/browser.ts";
import { beforeTests } from "./support/place.ts";
import { open } from "./support/shown.ts";

let gateway: Gateway;
let browser: TestBrowser;
beforeTests((...both) => {
  [gateway, browser] = both;
});

/** The tab of a window if all of it can be seen and is not covered; else "". */
function visibleTab(page: Page): Promise<string> {
  return page.evaluate(() => {
    const tab = document.querySelector(".windows .active");
    const row = document.querySelector(".windows");
    if (tab === null || row === null) return "";
    const { left, right, top, bottom } = tab.getBoundingClientRect();
    const outer = row.getBoundingClientRect();
    const isInside = left >= outer.left - 1 && right <= outer.right + 1 && right <= innerWidth;
    const isOnTop = [left + 2, right - 2].every((x) => document.elementFromPoint(x, (top + bottom) / 2) === tab);
    return isInside && isOnTop ? (tab.textContent ?? "") : "";
  });
}

browserTest("the current window's tab is always in view", async () => {
  await gateway.create({ name: "many-windows" });
  for (let index = 1; index < 9; index++) {
    await gateway.unix("/sessions/many-windows/windows", { json: { focus: true, name: `window${index}` } });
  }
  const { page, shows, faults } = await open(browser, gateway, "many-windows");
  await shows(/^\$/m);
  const seen = (what: string): Promise<unknown> =>
    until(`the tab of ${what}`, async () => (await visibleTab(page)) === what, PAGE_MS);
  await seen("8 window8");
  for (const width of [320, 700, 400]) {
    await page.setViewport({ width, height: 600 });
    await seen("8 window8");
  }
  for (const index of [1, 5, 7, 2]) {
    await page.keyboard.down("Control");
    await page.keyboard.press("Backslash");
    await page.keyboard.up("Control");
    await page.keyboard.press(`${index}` as "1");
    await seen(`${index} window${index}`);
  }
  // Nothing of the page is out of reach, and the name keeps some room.
  await page.setViewport({ width: 320, height: 600 });
  await seen("2 window2");
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
  expect(
    await page.$$eval(".tile > header button", (buttons) =>
      buttons
        .filter((button) => button.closest(".windows") === null)
        .every((button) => button.getBoundingClientRect().right <= innerWidth),
    ),
  ).toBe(true);
  // In the list, tags leave room for the name.
  const tags = ["a-long-tag", "another-long-tag", "a-third-long-tag"];
  await gateway.unix("/sessions/many-windows", { method: "PATCH", json: { add_tags: tags } });
  await page.click("[aria-label=Sessions].menu");
  await page.waitForFunction((count) => document.querySelectorAll(".session .tag").length === count, {}, tags.length);
  const shown = await page.$eval(".session b", ({ clientWidth, scrollWidth }) => clientWidth / scrollWidth);
  expect(shown).toBeGreaterThan(0.5);
  expect(faults).toEqual([]);
});
