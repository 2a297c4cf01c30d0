/** A page that shows a session of a hostile machine: its data is text, and acts on its own sessions alone. */
import { expect } from "bun:test";
import { LyingMachine } from "../support/lying-machine.ts";
import { Gateway } from "../support/server.ts";
import { until } from "../support/until.ts";
import { browserTest, TestBrowser } from "./support/browser.ts";
import { open } from "./support/shown.ts";

const HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>\u202e\x1b[2J';

/** Fields whose text a page displays, or that would redirect it. */
function lied(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lied);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, own]) => {
      if (["title", "command", "cwd", "program", "hostname", "version"].includes(key)) return [key, HOSTILE];
      if (key === "pane" && typeof own === "string") return [key, "here"];
      return [key, lied(own)];
    }),
  );
}

browserTest("markup in what a machine says is text", async () => {
  await using machine = await LyingMachine.start();
  await using gateway = await Gateway.start();
  await using browser = await TestBrowser.start();
  await machine.remote.session("dev");
  await gateway.session("here");
  await gateway.ok("servers", "add", machine.address, "--name", "m1");
  machine.lie = (_, said) => lied(said);
  const { page, faults, shows } = await open(browser, gateway, "m1/dev");
  await page.keyboard.type("echo by-page\r");
  await shows(/^by-page/m);
  const text = (): Promise<string> => page.evaluate(() => document.documentElement.textContent ?? "");
  await until("what it says to be shown", async () => (await text()).includes("<img src=x"));
  expect(await page.evaluate(() => document.querySelectorAll("img[src=x], script:not([src])").length)).toBe(0);
  expect(faults).toEqual([]);
  expect(await gateway.screen("here")).not.toContain("by-page");
});

browserTest("on a narrow page, a session of another machine is told from others by its own name and tags", async () => {
  await using machine = await LyingMachine.start();
  await using gateway = await Gateway.start();
  await using browser = await TestBrowser.start();
  await machine.remote.session("dev-of-the-second-team", "--tag", "production", "--tag", "eu-west");
  await gateway.session("here");
  await gateway.ok("servers", "add", machine.address, "--name", "a-machine-with-a-long-name");
  const { page, faults } = await open(browser, gateway, "a-machine-with-a-long-name/dev-of-the-second-team");
  await page.setViewport({ width: 320, height: 560 });
  const isWhole = (selector: string): Promise<boolean[]> =>
    page.$$eval(selector, (elements) => elements.map(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth));
  await page.click(".menu");
  await page.waitForSelector(".drawer-open [data-session^=a-machine] .tag");
  expect(await isWhole("[data-session^=a-machine] :is(b span:last-child, .tag)")).toEqual([true, true, true]);
  expect(await page.$eval("[data-session^=a-machine] b", ({ textContent }) => textContent)).toBe(
    "a-machine-with-a-long-name/dev-of-the-second-team",
  );
  // What is beside the open list is darkened also below the pointer; a message has the page's width.
  await page.mouse.move(310, 200);
  expect(await page.$eval(".shade", (shade) => getComputedStyle(shade).backgroundColor)).toBe("rgba(0, 0, 0, 0.333)");
  // Not by the mouse: the list beside it may move meanwhile.
  await page.$eval("[aria-label='New session']", (button) => (button as HTMLElement).click());
  await page.waitForSelector("dialog input");
  await page.keyboard.type("no-machine/of-this-name");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog .toast.error");
  expect(await page.$eval(".toast", ({ clientWidth }) => clientWidth)).toBeGreaterThan(250);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
  expect(faults).toEqual([]);
});
