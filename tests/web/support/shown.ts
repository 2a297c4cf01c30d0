/** A page that shows sessions of a gateway, for tests: reading its screen, keys, waiting. */
import type { Page, Viewport } from "puppeteer-core";
import type { Gateway } from "../../support/server.ts";
import { TOKEN } from "../../support/server.ts";
import { until } from "../../support/until.ts";
import { PAGE_MS, type TestBrowser, type TestPage } from "./browser.ts";

export interface Shown extends TestPage {
  /** Rows of the screen of the first pane, as text. */
  rows(): Promise<string[]>;
  /** Waits until the screen shows the text; returns the rows. */
  shows(wanted: string | RegExp): Promise<string[]>;
}

const VIEWPORT: Viewport = { width: 1000, height: 600 };

/** Opens the page, logged in, at these sessions. */
export async function open(browser: TestBrowser, gateway: Gateway, ...sessions: readonly string[]): Promise<Shown> {
  const { page, faults } = await browser.pageFor(gateway.origin);
  return at(page, faults, gateway, sessions, VIEWPORT);
}

/**
 * Shows a session in the tab that the tests of a file share, by its address: the first opens it, and each later one
 * costs a fifth of a page. For tests that leave no dialog, no setting and no script in it.
 */
export async function show(
  browser: TestBrowser,
  gateway: Gateway,
  session: string,
  { viewport = VIEWPORT, settings = {} } = {},
): Promise<Shown> {
  const { tab } = browser;
  if (tab === undefined) {
    const { page, faults } = await browser.openTab();
    await page.evaluateOnNewDocument((text) => localStorage.setItem("wsh.settings", text), JSON.stringify(settings));
    return at(page, faults, gateway, [session], viewport);
  }
  const { page, faults, left } = tab;
  await page.setViewport(viewport);
  await page.waitForSelector(`[data-session="${session}"]`, { timeout: PAGE_MS });
  await page.evaluate((name) => {
    location.hash = `session=${name}`;
  }, session);
  await page.waitForFunction(
    (name) => Array.from(document.querySelectorAll(".tile .name"), ({ textContent }) => textContent).join() === name,
    { timeout: PAGE_MS },
    session,
  );
  const shown = await ready(page, faults);
  for (const end of left.splice(0)) await end();
  return shown;
}

async function at(
  page: Page,
  faults: readonly string[],
  gateway: Gateway,
  sessions: readonly string[],
  viewport: Viewport,
): Promise<Shown> {
  await page.setViewport(viewport);
  await page.goto(`${gateway.origin}/#t=${TOKEN}&session=${sessions.join(",")}`);
  return ready(page, faults);
}

async function ready(page: Page, faults: readonly string[]): Promise<Shown> {
  const rows = (): Promise<string[]> =>
    page.evaluate(() =>
      Array.from(
        document.querySelectorAll(".screen")[0]?.querySelectorAll(".row") ?? [],
        (row) => row.textContent ?? "",
      ),
    );
  const shows = (wanted: string | RegExp): Promise<string[]> =>
    until(
      `the page to show ${wanted}`,
      async () => {
        const shown = await rows();
        const text = shown.join("\n");
        return (typeof wanted === "string" ? text.includes(wanted) : wanted.test(text)) ? shown : null;
      },
      PAGE_MS,
    );
  await page.waitForSelector(".tile .dot.live", { timeout: PAGE_MS });
  await page.waitForSelector(".terminal.focused", { timeout: PAGE_MS });
  return { page, faults, rows, shows };
}
