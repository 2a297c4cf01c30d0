/** A terminal on the page: input reaches the program, its output is displayed with its styles. */
import { expect } from "bun:test";
import type { Gateway } from "../support/server.ts";
import { until } from "../support/until.ts";
import { browserTest, type TestBrowser } from "./support/browser.ts";
import { beforeTests } from "./support/place.ts";
import { open } from "./support/shown.ts";

let gateway: Gateway;
let browser: TestBrowser;
beforeTests((...both) => {
  [gateway, browser] = both;
});

browserTest("pictures of programs are shown, of sixel graphics and of raw pixels", async () => {
  const raw = Buffer.alloc(16 * 32 * 3, 200).toString("base64");
  const kitty = `\\033_Ga=T,q=2,f=24,s=16,v=32;${raw}\\033\\134`;
  const sixel = '\\033Pq"1;1;16;32#1;2;100;0;0#1!16~-!16~-!16~-!16~-!16~-!16B\\033\\134';
  await gateway.create({
    name: "pictures",
    command: `/bin/sh -c 'printf "%b" "${kitty}" "\\n$1" "\\nbelow"; exec cat'`.replace(
      "$1",
      sixel.replaceAll('"', '\\"'),
    ),
  });
  const { page, shows, faults } = await open(browser, gateway, "pictures");
  await shows("below");
  const sizes = () =>
    page.evaluate(() =>
      Promise.all(
        Array.from(document.querySelectorAll<HTMLElement>(".screen span.g"), async (cells) => {
          const [, url = ""] = /url\("?([^")]+)/.exec(getComputedStyle(cells).backgroundImage) ?? [];
          const image = new Image();
          image.src = url;
          await image.decode().catch(() => {});
          const { width, height } = cells.getBoundingClientRect();
          return `${image.naturalWidth}x${image.naturalHeight} ${cells.textContent?.length} ${width > 10 && height > 10}`;
        }),
      ),
    );
  await until("the images", async () => (await sizes()).join() === Array(4).fill("16x32 2 true").join());
  expect(faults).toEqual([]);
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
