/** A terminal on the page: what is typed reaches the program, what it prints is shown with its look. */
import { expect } from "bun:test";
import type { Gateway } from "../support/server.ts";
import { browserTest, type TestBrowser } from "./support/browser.ts";
import { beforeTests } from "./support/place.ts";
import { open } from "./support/shown.ts";

let gateway: Gateway;
let browser: TestBrowser;
beforeTests((...both) => {
  [gateway, browser] = both;
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
