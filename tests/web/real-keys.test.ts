/**
 * Keys that both a browser and a terminal want, pressed at a keyboard (X, xdotool): synthetic events never reach the
 * browser's own handling.
 */
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { launch, type Page } from "puppeteer-core";
import { anyOf, isMissing } from "../support/programs.ts";
import { Gateway, TOKEN } from "../support/server.ts";
import { until } from "../support/until.ts";
import { isCompiled } from "../support/wsh-program.ts";
import { browserTest, PAGE_MS, TestBrowser, type TestPage } from "./support/browser.ts";
import { Display } from "./support/display.ts";

const hasDisplay = !isMissing("Xvfb", "xdotool");
const firefox =
  hasDisplay && isCompiled && process.env.WSH_TEST_FULL !== undefined ? anyOf("firefox-esr", "firefox") : null;

let gateway: Gateway;
let display: Display;
let browser: TestBrowser | undefined;
beforeAll(async () => {
  if (!isCompiled || !hasDisplay) return;
  gateway = await Gateway.start();
  display = await Display.start();
  browser = await TestBrowser.start(1, display.name);
});
/** The keyboard goes to the window with the page's name: there is one. */
afterEach(() => browser?.closePages());
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await display?.[Symbol.asyncDispose]();
  await gateway?.[Symbol.asyncDispose]();
});

function newPage(): Promise<TestPage> {
  if (browser === undefined) throw new Error("no browser");
  return browser.page();
}

async function ownedKeys(page: Page, name: string, paletteKey: string): Promise<void> {
  const file = `${gateway.dir}/${name}.bytes`;
  await Bun.write(file, "");
  await gateway.create({ name, command: `/bin/sh -c 'stty raw -echo; printf copied-text; exec cat > ${file}'` });
  await page.goto(`${gateway.origin}/#t=${TOKEN}&session=${name}`);
  await page.waitForSelector(".terminal.focused");
  await until("the program", () =>
    page.evaluate(() => document.querySelector(".screen")?.textContent?.includes("copied-text")),
  );
  await display.focus("wsh");
  let expected = "";
  /** All received input, after a key that certainly arrives: no earlier key is pending. */
  const arrived = async (text: string, what: string): Promise<void> => {
    await display.press("z");
    expected += `${text}z`;
    await until(
      what,
      async () => (await Bun.file(file).text()).split("z").length === expected.split("z").length,
      PAGE_MS,
    );
    expect([what, await Bun.file(file).text()]).toEqual([what, expected]);
  };
  const rowAt = await page.evaluate(() => {
    const { left, top } = document.querySelector(".screen .row")?.getBoundingClientRect() ?? { left: 0, top: 0 };
    return { x: left + 20, y: top + 5 };
  });
  await page.mouse.click(rowAt.x, rowAt.y, { count: 2 });
  await until("the selection", () => page.evaluate(() => String(getSelection()).startsWith("copied")));
  await display.press("ctrl+shift+c");
  await page.waitForFunction(() => document.querySelector(".toasts")?.textContent?.includes("Copied"));
  const copied = "copied-text";
  await display.press("ctrl+shift+v");
  await arrived(copied, "Ctrl+Shift+V while text is selected");
  await page.mouse.click(rowAt.x, rowAt.y + 100);
  await page.waitForSelector(".terminal.focused");
  await display.press("ctrl+shift+v");
  await arrived(copied, "Ctrl+Shift+V");
  await display.press("shift+Insert");
  await arrived(copied, "Shift+Insert");

  const density = () => page.evaluate(() => devicePixelRatio);
  const usual = await density();
  await display.press("ctrl+plus");
  await until("a larger page", async () => (await density()) > usual);
  await display.press("ctrl+minus", "ctrl+minus");
  await until("a smaller page", async () => (await density()) < usual);
  await display.press("ctrl+0");
  await until("the usual size", async () => (await density()) === usual);
  await arrived("", "zoom");

  await display.press("ctrl+shift+f");
  await page.waitForSelector(".find");
  await display.press("Escape");
  await page.waitForSelector(".find", { hidden: true });
  await display.press(paletteKey);
  await page.waitForSelector("dialog[aria-label=Palette]");
  await display.press("Escape");
  await page.waitForSelector("dialog", { hidden: true });
  await page.waitForSelector(".terminal.focused");
  await arrived("", "the page's own keys");

  // Without a tab bar these reach the program, as in a terminal.
  await display.press("F12", "F5", "ctrl+f", "ctrl+v", "ctrl+a", "ctrl+r", "ctrl+l", "alt+d");
  await arrived("\x1b[24~\x1b[15~\x06\x16\x01\x12\x0c\x1bd", "keys of programs");
}

(hasDisplay ? browserTest : browserTest.skip)("Chromium's keys at a keyboard", async () => {
  const { page, faults } = await newPage();
  await ownedKeys(page, "chromium", "ctrl+shift+p");
  expect(faults).toEqual([]);
});

(hasDisplay ? browserTest : browserTest.skip)("an image becomes a file, whichever way it is pasted", async () => {
  const { page, faults } = await newPage();
  const file = `${gateway.dir}/images.bytes`;
  await Bun.write(file, "");
  await gateway.create({ name: "images", command: `/bin/sh -c 'stty raw -echo; printf ready; exec cat > ${file}'` });
  await page
    .browserContext()
    .setPermission(
      gateway.origin,
      { permission: { name: "clipboard-read" }, state: "granted" },
      { permission: { name: "clipboard-write" }, state: "granted" },
    );
  await page.goto(`${gateway.origin}/#t=${TOKEN}&session=images`);
  await page.waitForSelector(".terminal.focused");
  await page.waitForFunction(() => document.querySelector(".screen")?.textContent?.includes("ready"));
  await display.focus("wsh");
  const copy = (type: string) =>
    page.evaluate(async (wanted) => {
      const canvas = document.createElement("canvas");
      const image = await new Promise<Blob | null>((made) => canvas.toBlob(made));
      const item = wanted === "image/png" && image !== null ? image : new Blob(["copied"], { type: wanted });
      await navigator.clipboard.write([new ClipboardItem({ [wanted]: item })]);
    }, type);
  const pasted = async (): Promise<string> => (await Bun.file(file).text()).replace(/\S*?\/images\/\w+\.png/g, "IMAGE");
  const press = () => page.evaluate(() => document.querySelector<HTMLElement>("[aria-label=Paste]")?.click());
  let expected = "";
  for (const [type, text] of [
    ["image/png", "IMAGE"],
    ["text/plain", "copied"],
  ] as const) {
    await copy(type);
    for (const paste of [() => display.press("ctrl+shift+v"), () => display.press("shift+Insert"), press]) {
      await paste();
      expected += text;
      await until(expected, async () => (await pasted()).replaceAll(" ", "") === expected, PAGE_MS);
    }
  }
  expect(faults).toEqual([]);
});

(firefox !== null ? test : test.skip)("Firefox's keys at a keyboard", async () => {
  const browser = await launch({
    ...{ browser: "firefox", executablePath: firefox ?? "", protocolTimeout: 4 * PAGE_MS, headless: false },
    env: { ...process.env, HOME: gateway.dir, DISPLAY: display.name },
  });
  try {
    // Firefox has Ctrl+Shift+P for a private window.
    await ownedKeys(await browser.newPage(), "firefox", "ctrl+shift+space");
  } finally {
    await browser.close();
  }
});
