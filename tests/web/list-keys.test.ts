/** The list of sessions by the keyboard: one Tab stop, in which arrows reach everything. */
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

browserTest("the list of sessions is one stop of Tab, and arrows reach each button of it", async () => {
  for (const name of ["keys-a", "keys-b", "keys-c"]) await gateway.create({ name });
  const { page, faults } = await open(browser, gateway, "keys-b");
  await page.waitForSelector("[data-session=keys-c]");
  await page.waitForSelector("[data-session=keys-b].active");
  /** The focused element, by its label or its session. */
  const focused = () =>
    page.evaluate(() => {
      const { activeElement: element } = document;
      const session = element?.classList.contains("choose") === true ? element.closest("[data-session]") : null;
      return session?.getAttribute("data-session") ?? element?.getAttribute("aria-label") ?? element?.tagName;
    });
  const press = async (
    ...keys: readonly ("Tab" | "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown" | "Home" | "End")[]
  ) => {
    for (const key of keys) await page.keyboard.press(key);
    return focused();
  };
  const back = async () => {
    await page.keyboard.down("Shift");
    await page.keyboard.press("Tab");
    await page.keyboard.up("Shift");
    return focused();
  };
  const stops = () =>
    page.$$eval(".sessions .session button", (buttons) => buttons.filter(({ tabIndex }) => tabIndex === 0).length);

  await page.focus("[aria-label='New session']");
  expect(await press("Tab")).toBe("keys-b");
  await until("one stop", async () => (await stops()) === 1);
  expect(await press("Tab")).toBe("Palette");
  expect(await back()).toBe("keys-b");
  expect(await back()).toBe("New session");

  expect(await press("Tab", "ArrowDown")).toBe("keys-c");
  expect(await press("ArrowDown")).toBe("keys-c");
  const labels: (string | undefined)[] = [];
  for (let at = 0; at < 5; at++) labels.push(await press("ArrowRight"));
  expect(labels).toEqual([
    ...["Show keys-c beside the others", "Rename keys-c", "Tags of keys-c", "End keys-c", "End keys-c"],
  ]);
  expect(await press("ArrowLeft")).toBe("Tags of keys-c");
  await until("one stop", async () => (await stops()) === 1);
  expect(await back()).toBe("New session");
  // The focus returns to the session, whose buttons are out of view meanwhile.
  expect(await press("Tab")).toBe("keys-c");
  expect(await press("End")).toBe("End keys-c");
  expect(await press("Home")).toBe("keys-c");
  await page.keyboard.down("Control");
  expect(await press("Home")).toBe("keys-a");
  expect(await press("End")).toBe("keys-c");
  await page.keyboard.up("Control");
  expect(await press("ArrowUp", "ArrowUp")).toBe("keys-a");

  // Actions without a button that Tab reaches work all the same; one that ends a session keeps the focus.
  expect(await press("End")).toBe("End keys-a");
  await page.keyboard.press("Enter");
  await page.waitForSelector("[data-session=keys-a].ending");
  expect(await focused()).toBe("End keys-a");
  await page.type("[aria-label='Filter sessions']", "keys-b");
  await page.waitForSelector("[data-session=keys-c]", { hidden: true });
  await until("one stop", async () => (await stops()) === 1);
  expect(faults).toEqual([]);
});
