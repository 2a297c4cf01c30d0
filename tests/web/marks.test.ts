/** Marks of commands beside their prompts: how they ended, and folding. */
import { afterAll, beforeAll, expect } from "bun:test";
import { Gateway } from "../support/server.ts";
import { isCompiled } from "../support/wsh-program.ts";
import { browserTest, TestBrowser } from "./support/browser.ts";
import { open } from "./support/shown.ts";

let gateway: Gateway;
let browser: TestBrowser;
beforeAll(async () => {
  if (!isCompiled) return;
  gateway = await Gateway.start();
  browser = await TestBrowser.start();
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await gateway?.[Symbol.asyncDispose]();
});

browserTest("a command's mark says how it ended, and folds its output", async () => {
  await gateway.create({ name: "marks", shell: undefined });
  const { page, shows, faults } = await open(browser, gateway, "marks");
  await gateway.unix("/sessions/marks/exec", { json: { command: "seq 100 105" } });
  await gateway.unix("/sessions/marks/exec", { json: { command: "false" } });
  await shows(/^105$/m);
  await page.waitForSelector(".row[data-state=failed][data-mark='exit 1']");
  const at = await page.$eval(".row[data-state=ok]", (row) => {
    const { left, top, height } = row.getBoundingClientRect();
    return { x: left - 5, y: top + height / 2 };
  });
  await page.mouse.click(at.x, at.y);
  await page.waitForSelector(".menu-of-command");
  expect(await page.$eval(".menu-of-command", ({ textContent }) => textContent)).toContain("seq 100 105");
  await page.$$eval(".menu-of-command button", (buttons) =>
    buttons.find(({ textContent }) => textContent?.startsWith("Fold") === true)?.click(),
  );
  await page.waitForFunction(() => document.querySelectorAll(".row.folded").length === 6);
  expect(faults).toEqual([]);
});
