/** Set-up of most tests of the page: a gateway and a browser, started once for a file and ended with it. */
import { afterAll, afterEach, beforeAll } from "bun:test";
import { Gateway } from "../../support/server.ts";
import { isCompiled } from "../../support/wsh-program.ts";
import { TestBrowser } from "./browser.ts";

/**
 * @param started called with both before the first test; not when there is no executable to test
 * @param whole of the browser: notifications too
 */
export function beforeTests(started: (gateway: Gateway, browser: TestBrowser) => void, whole = false): void {
  let gateway: Gateway | undefined;
  let browser: TestBrowser | undefined;
  beforeAll(async () => {
    if (!isCompiled) return;
    gateway = await Gateway.start();
    browser = await TestBrowser.start(1, null, whole);
    started(gateway, browser);
  });
  afterEach(async () => {
    await browser?.closePages();
  });
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await gateway?.[Symbol.asyncDispose]();
  });
}
