/** A terminal on the page: what is typed reaches the program, what it prints is shown with its look. */
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

browserTest("what is typed is typed once, and what it prints is shown with colours", async () => {
  await gateway.create({ name: "typing" });
  const { page, shows, faults } = await open(browser, gateway, "typing");
  await shows(/^\$/m);
  await page.keyboard.type("printf '\\033[31mred\\033[0m %s\\n' $((40+2))");
  await page.keyboard.press("Enter");
  await shows("red 42");
  const color = await page.evaluate(
    () =>
      Array.from(document.querySelectorAll<HTMLElement>(".screen span")).find(
        ({ textContent }) => textContent === "red",
      )?.style.color,
  );
  expect(color).toBe("var(--color-1)");
  expect(faults).toEqual([]);
  expect(page.url()).not.toContain("t=");
});
