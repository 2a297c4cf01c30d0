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
