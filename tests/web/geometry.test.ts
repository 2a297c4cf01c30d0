/** Menus, dialogs and tabs fit windows of every size, from a desktop to a phone in landscape. */
import { expect } from "bun:test";
import type { Page } from "puppeteer-core";
import { type Gateway, TOKEN } from "../support/server.ts";
import { until } from "../support/until.ts";
import { browserTest, PAGE_MS, type TestBrowser } from "./support/browser.ts";
import { beforeTests } from "./support/place.ts";
import { show } from "./support/shown.ts";

const SIZES = [
  [1000, 600],
  [390, 844],
  [320, 260],
] as const;

let gateway: Gateway;
let browser: TestBrowser;
beforeTests((...both) => {
  [gateway, browser] = both;
});

/** Parts of an element, and of its fields, that are beyond the window or beyond the element. */
function beyond(page: Page, selector: string): Promise<string[] | null> {
  return page.evaluate((selector) => {
    const element = document.querySelector(selector);
    if (element === null) return null;
    const out = (box: DOMRect, { left, top, right, bottom }: Pick<DOMRect, "left" | "top" | "right" | "bottom">) =>
      box.left < left || box.top < top || box.right > right + 0.5 || box.bottom > bottom + 0.5;
    const box = element.getBoundingClientRect();
    const window = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
    const found = box.width === 0 || out(box, window) ? [`${selector} ${JSON.stringify(box)}`] : [];
    if (element.scrollWidth > element.clientWidth) found.push(`${element.scrollWidth} in ${element.clientWidth}`);
    for (const field of element.querySelectorAll("input, button, textarea, select, p, h2")) {
      const own = field.getBoundingClientRect();
      if (out(own, { ...window, left: box.left, right: box.right, top: -1e6, bottom: 1e6 }))
        found.push(`${field.tagName} ${JSON.stringify(own)} in ${JSON.stringify(box)}`);
    }
    return found;
  }, selector);
}

browserTest("the menu of a command, at its mark and at the words on the right", async () => {
  await gateway.create({ name: "menu", shell: undefined });
  const { page, faults } = await show(browser, gateway, "menu");
  await gateway.unix("/sessions/menu/exec", { json: { command: "(exit 2)" } });
  const row = ".row[data-state=failed][data-mark^='exit 2']";
  for (const [width, height] of SIZES) {
    await page.setViewport({ width, height });
    for (const side of ["right", "left"] as const) {
      // After a change of size rows are made again, so it is clicked until the menu is there.
      await until(`the menu on the ${side} at ${width}`, () =>
        page.evaluate(
          (row, side) => {
            const element = document.querySelector<HTMLElement>(row);
            const box = element?.getBoundingClientRect();
            if (element === null || box === undefined || box.right > innerWidth + 20) return false;
            const at = { clientX: side === "right" ? box.right - 4 : box.left, clientY: box.top + 5, bubbles: true };
            element.dispatchEvent(new MouseEvent("click", at));
            return new Promise<boolean>((done) =>
              requestAnimationFrame(() => done(document.querySelector(".menu-of-command:popover-open") !== null)),
            );
          },
          row,
          side,
        ),
      );
      expect([width, side, await beyond(page, ".menu-of-command")]).toEqual([width, side, []]);
    }
  }
  expect(faults).toEqual([]);
});

browserTest("the lines of a box on a phone whose pixels are emulated", async () => {
  await gateway.create({ name: "box", command: "/bin/sh -c \"printf '┌────┐\\n│    │\\n└────┘\\n'; exec cat\"" });
  const { page } = await browser.page();
  await page.setViewport({ width: 390, height: 844, isMobile: true, hasTouch: true, deviceScaleFactor: 2 });
  await page.goto(`${gateway.origin}/#t=${TOKEN}&session=box`);
  await page.waitForFunction(() => document.querySelectorAll(".screen .row")[2]?.textContent?.includes("┘"));
  const box = await page.$eval(".screen .row", (row) => {
    const { left, top, height, width } = row.getBoundingClientRect();
    return { x: left, y: top, width: (width / 80) * 6, height: height * 3 };
  });
  const other = (await browser.page()).page;
  const sides = async (): Promise<boolean[]> => {
    const picture = await page.screenshot({ encoding: "base64", clip: box });
    return other.evaluate(async (base64) => {
      const image = new Image();
      image.src = `data:image/png;base64,${base64}`;
      await image.decode();
      const { width, height } = image;
      const context = new OffscreenCanvas(width, height).getContext("2d");
      context?.drawImage(image, 0, 0);
      /** Whether something is drawn in a part of the picture, in fractions of its sides. */
      const isDrawn = (x: number, y: number, wide: number, tall: number): boolean => {
        const at = [x * width, y * height, Math.max(1, wide * width), Math.max(1, tall * height)] as const;
        const data = context?.getImageData(...at).data ?? [];
        const ground = context?.getImageData(width / 2, height / 2, 1, 1).data[0] ?? 0;
        return data.some((value, index) => index % 4 === 0 && Math.abs(value - ground) > 60);
      };
      return [
        isDrawn(0, 0.5, 0.16, 0.1),
        isDrawn(0.84, 0.5, 0.16, 0.1),
        isDrawn(0.5, 0, 0.1, 0.3),
        isDrawn(0.5, 0.7, 0.1, 0.3),
      ];
    }, picture);
  };
  await until("all four sides", async () => (await sides()).every(Boolean));
});

browserTest("dialogs", async () => {
  await gateway.create({ name: "dialogs", shell: undefined });
  const { page, faults } = await show(browser, gateway, "dialogs");
  // The palette's content depends on what is known of the session.
  await page.waitForSelector("[data-session=dialogs]");
  // One that is asked for before the browser reports the end of the other of its kind.
  await page.$eval("button[aria-label=Palette]", (button) => (button as HTMLElement).click());
  await page.waitForSelector("dialog[open] input:focus");
  await page.$eval("button[aria-label=Palette]", (button) => {
    document.querySelector<HTMLDialogElement>("dialog[open]")?.close();
    (button as HTMLElement).click();
  });
  await page.waitForSelector("dialog[open] input:focus");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { hidden: true });
  for (const [width, height] of SIZES.slice(1)) {
    await page.setViewport({ width, height });
    for (const [name, label] of [
      [null, "Palette"],
      ["Settings", "Settings"],
      ["Keys", "Keys"],
      ["New session", "New session"],
      ["Rename the session", "Rename"],
      ["Tags of the session", "Tags"],
      ["Close the pane", "Confirm"],
    ] as const) {
      await page.$eval("button[aria-label=Palette]", (button) => (button as HTMLElement).click());
      await page.waitForSelector("dialog[open] input:focus");
      if (name !== null) {
        await until(`'${name}' in the palette`, () =>
          page.evaluate((name) => {
            const options = Array.from(document.querySelectorAll<HTMLElement>("dialog[open] [role=option]"));
            const option = options.find((each) => each.firstChild?.textContent === name);
            option?.click();
            return option !== undefined;
          }, name),
        );
        await page.waitForSelector(`dialog[open][aria-label="${label}"]`);
      }
      expect([width, label, await beyond(page, "dialog[open]")]).toEqual([width, label, []]);
      await page.keyboard.press("Escape");
      await page.waitForSelector("dialog", { hidden: true });
    }
  }
  expect(faults).toEqual([]);
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
  const { page, shows, faults } = await show(browser, gateway, "many-windows");
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
