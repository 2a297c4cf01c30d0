/**
 * Chromium for the tests of the browser page: one process for a test file, a separate context for each page. Violations
 * of the page's policy, and uncaught errors, fail the test that uses it.
 */
import { test } from "bun:test";
import { type Browser, type BrowserContext, launch, type Page } from "puppeteer-core";
import { anyOf, pathOf } from "../../support/programs.ts";
import { isCompiled } from "../../support/wsh-program.ts";

const chromium = anyOf("chromium", "chromium-browser", "google-chrome");
/** The same engine without windows: a start costs a third, a page half. The full size uses the complete browser. */
const windowless = process.env.WSH_TEST_FULL === "1" ? null : pathOf("chromium-headless-shell");
if (!isCompiled) console.error("SKIPPED: the page is in the executable alone: build first");

/** `test` where there is a browser and a built executable, else `test.skip`. */
export const browserTest: typeof test = chromium !== null && isCompiled ? test : (test.skip as typeof test);

/** Time for a page to meet a condition, in ms: these tests run beside others. */
export const PAGE_MS = 30_000;

export interface TestPage {
  readonly page: Page;
  /** Errors in the page: violations of its policy, uncaught errors. */
  readonly faults: readonly string[];
}

/** A page that goes from session to session, for the tests of a file that need no new one. */
export interface Tab extends TestPage {
  /** What ends the sessions of finished tests. */
  readonly left: (() => Promise<void>)[];
}

export class TestBrowser implements AsyncDisposable {
  private readonly contexts: BrowserContext[] = [];
  /** Contexts of pages that show an origin, whose pages are closed: the next one finds its caches warm. */
  private readonly warm: BrowserContext[] = [];
  private readonly lent: BrowserContext[] = [];
  /** Stays open until the browser ends. */
  tab: Tab | undefined;

  private constructor(private readonly browser: Browser) {}

  /**
   * @param density device pixels of a CSS pixel; pages that only emulate one are laid out in whole CSS pixels
   * @param display X display of a window for people; null: no window
   * @param whole with functions outside of pages: notifications
   * @param names rules for names of machines
   */
  static async start(
    density = 1,
    display: string | null = null,
    whole = false,
    names: string | null = null,
  ): Promise<TestBrowser> {
    if (chromium === null) throw new Error("no browser");
    return new TestBrowser(
      await launch({
        ...(display !== null
          ? { executablePath: chromium, headless: false, env: { ...process.env, DISPLAY: display } }
          : windowless !== null && !whole
            ? { executablePath: windowless, headless: "shell" as const }
            : { executablePath: chromium }),
        // Chromium's sandbox does not run as root, as containers have it.
        args: [
          ...["--no-sandbox", "--disable-dev-shm-usage", "--font-render-hinting=none", "--disable-gpu"],
          `--force-device-scale-factor=${density}`,
          ...(names === null ? [] : [`--host-resolver-rules=${names}`]),
        ],
        protocolTimeout: 4 * PAGE_MS,
      }),
    );
  }

  /** A page with a separate context. */
  async page(): Promise<TestPage> {
    const context = await this.browser.createBrowserContext();
    this.contexts.push(context);
    return this.open(context);
  }

  /** A page for an origin, with empty storage: in the context of an earlier page, which costs a third less. */
  async pageFor(origin: string): Promise<TestPage> {
    const used = this.warm.pop();
    const context = used ?? (await this.browser.createBrowserContext());
    this.lent.push(context);
    const opened = await this.open(context);
    if (used === undefined) return opened;
    const client = await opened.page.createCDPSession();
    await client.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
    await client.detach();
    return opened;
  }

  /** Opens the tab. */
  async openTab(): Promise<Tab> {
    this.tab = { ...(await this.open(await this.browser.createBrowserContext())), left: [] };
    return this.tab;
  }

  private async open(context: BrowserContext): Promise<TestPage> {
    const page = await context.newPage();
    page.setDefaultTimeout(PAGE_MS);
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on("console", (message) => {
      if (/Content Security Policy|Trusted ?Type/i.test(message.text())) faults.push(message.text());
    });
    await page.evaluateOnNewDocument(() => {
      document.addEventListener("securitypolicyviolation", (event) =>
        console.error(`Content Security Policy: ${event.violatedDirective} ${event.blockedURI}`),
      );
    });
    return { page, faults };
  }

  /** Closes all pages: an open one keeps displaying other tests' sessions. */
  async closePages(): Promise<void> {
    await Promise.all(this.contexts.splice(0).map((context) => context.close()));
    const lent = this.lent.splice(0);
    const pages = (await Promise.all(lent.map((context) => context.pages()))).flat();
    await Promise.all(pages.map((page) => page.close()));
    this.warm.push(...lent);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
  }
}
