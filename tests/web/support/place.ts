/** Set-up of most tests of the page: a gateway and a browser, started once for a file and ended with it. */
import { afterAll, afterEach, beforeAll } from "bun:test";
import { Gateway } from "../../support/server.ts";
import { isCompiled } from "../../support/wsh-program.ts";
import { TestBrowser } from "./browser.ts";

/** @param started called with both before the first test; not when there is no executable to test */
export function beforeTests(started: (gateway: Gateway, browser: TestBrowser) => void): void {
  let gateway: Gateway | undefined;
  let browser: TestBrowser | undefined;
  beforeAll(async () => {
    if (!isCompiled) return;
    gateway = await Gateway.start();
    browser = await TestBrowser.start();
    started(gateway, browser);
  });
  afterEach(async () => {
    await browser?.closePages();
    await endSessions(gateway, browser);
  });
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await gateway?.[Symbol.asyncDispose]();
  });
}

/**
 * Ends the sessions of a finished test: later pages would draw a miniature of each. The tab that tests share still shows
 * one of them: those end once it has gone on.
 */
export async function endSessions(gateway: Gateway | undefined, browser: TestBrowser | undefined): Promise<void> {
  if (gateway === undefined) return;
  const sessions: readonly { readonly id: string }[] = await (await gateway.unix("/sessions")).json();
  const end = async () => {
    for (const { id } of sessions) await gateway.unix(`/sessions/${id}`, { method: "DELETE" });
  };
  if (browser?.tab === undefined) await end();
  else browser.tab.left.push(end);
}
