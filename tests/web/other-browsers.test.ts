/**
 * The page in Firefox (WebDriver BiDi) and in WebKitGTK (WebDriver): a person logs in, sees, types, splits and scrolls
 * back there. The details of the page are tested in Chromium.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { launch } from "puppeteer-core";
import { anyOf, isMissing } from "../support/programs.ts";
import { Gateway, TOKEN } from "../support/server.ts";
import { until } from "../support/until.ts";
import { isCompiled } from "../support/wsh-program.ts";
import { PAGE_MS } from "./support/browser.ts";
import { miniBrowser, WebKit } from "./support/webkit.ts";

/** A browser takes half a minute to start on a busy machine: these are of the full size. */
const isFull = process.env.WSH_TEST_FULL !== undefined && isCompiled;
const firefox = isFull ? anyOf("firefox-esr", "firefox") : null;
const hasWebKit = isFull && !isMissing("WebKitWebDriver", "Xvfb") && miniBrowser() !== null;

let gateway: Gateway;
beforeAll(async () => {
  if (isFull) gateway = await Gateway.start();
});
afterAll(() => gateway?.[Symbol.asyncDispose]());

/** The parts of a browser that these tests use. */
interface Driver {
  type(text: string): Promise<void>;
  enter(): Promise<void>;
  /** Runs in the page. */
  evaluate(script: string): Promise<unknown>;
}

const SCREEN = `Array.from(document.querySelectorAll(".screen .row"), (row) => row.textContent).join("\\n")`;

/** A person's first steps. */
async function firstMinutes(driver: Driver, name: string): Promise<void> {
  const holds = (what: string, script: string) =>
    until(what, async () => (await driver.evaluate(script)) === true, PAGE_MS);
  await holds("a connected terminal", `document.querySelector(".tile .dot.live") !== null`);
  await holds("the focus", `document.querySelector(".terminal.focused") !== null`);
  await driver.type("printf '\\033[31mred\\033[0m %s 漢字 é│─\\n' $((40+2))");
  await driver.enter();
  await holds("what was printed", `/^red 42 漢字 é│─/m.test(${SCREEN})`);
  const color = `Array.from(document.querySelectorAll(".screen span")).some((span) => span.textContent === "red" && getComputedStyle(span).color !== getComputedStyle(document.querySelector(".grid")).color)`;
  await holds("its colour", color);
  await driver.type("seq 1 500");
  await driver.enter();
  await holds("the end of the output", `/^500$/m.test(${SCREEN})`);
  await driver.evaluate(
    `document.querySelector(".scroller").dispatchEvent(new WheelEvent("wheel", { deltaY: -100, bubbles: true }))`,
  );
  await holds("rows of the history", `document.querySelectorAll(".history .row").length >= 100`);
  await driver.evaluate(`document.querySelector("[aria-label='Split to the right']").click()`);
  await holds("two panes", `document.querySelectorAll(".pane").length === 2`);
  const panes: unknown = await (await gateway.unix(`/sessions/${name}/panes`)).json();
  expect(panes).toHaveLength(2);
}

(firefox !== null ? test : test.skip)("Firefox: in, seen, typed, split, looked back", async () => {
  await gateway.create({ name: "fox" });
  const browser = await launch({
    ...{ browser: "firefox", executablePath: firefox ?? "", protocolTimeout: 4 * PAGE_MS },
    env: { ...process.env, HOME: gateway.dir },
  });
  try {
    const page = await browser.newPage();
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on("console", (message) => {
      if (/Content.Security.Policy/i.test(message.text())) faults.push(message.text());
    });
    await page.goto(`${gateway.origin}/#t=${TOKEN}&session=fox`);
    await firstMinutes(
      {
        type: (text) => page.keyboard.type(text),
        enter: () => page.keyboard.press("Enter"),
        evaluate: (script) => page.evaluate(script),
      },
      "fox",
    );
    expect(page.url()).not.toContain("t=");
    expect(faults).toEqual([]);
  } finally {
    await browser.close();
  }
});

(hasWebKit ? test : test.skip)("WebKitGTK: in, seen, typed, split, looked back", async () => {
  await gateway.create({ name: "kit" });
  await using webkit = await WebKit.start(gateway.dir);
  await webkit.open(`${gateway.origin}/#t=${TOKEN}&session=kit`);
  await firstMinutes(webkit, "kit");
});
