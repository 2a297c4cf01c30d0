/** A page that shows sessions of a gateway, for tests: reading its screen, keys, waiting. */
import type { Page } from "puppeteer-core";
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

/** Opens the page, logged in, at these sessions. */
export async function open(browser: TestBrowser, gateway: Gateway, ...sessions: readonly string[]): Promise<Shown> {
  const { page, faults } = await browser.pageFor(gateway.origin);
  return at(page, faults, gateway, sessions);
}

async function at(
  page: Page,
  faults: readonly string[],
  gateway: Gateway,
  sessions: readonly string[],
): Promise<Shown> {
  await page.setViewport({ width: 1000, height: 600 });
  await page.goto(`${gateway.origin}/#t=${TOKEN}&session=${sessions.join(",")}`);
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
