/** Keys typed into a page: how long each takes until the elements of the screen have changed. */
import type { Page } from "puppeteer-core";

/** Pause after each echo, in ms: a held key repeats about as often, and nobody types faster. */
export const PAUSE_MS = 30;
/** Longest wait for an echo, in ms; the measure fails after it. */
const LATE_MS = 20_000;

/** The page's record of its keys. */
interface Kept {
  readonly times: number[];
  pressed: number;
  echoed: () => void;
}

/** Starts to record the keys of a page that has the focus. */
export async function watchKeys(page: Page, screen: string): Promise<void> {
  await page.waitForFunction(() => document.activeElement instanceof HTMLTextAreaElement);
  await page.evaluate((selector) => {
    const kept: Kept = { times: [], pressed: 0, echoed: () => {} };
    Object.assign(globalThis, { benchKeys: kept });
    addEventListener("keydown", ({ timeStamp }) => (kept.pressed = timeStamp), true);
    const target = document.querySelector(selector);
    if (target === null) throw new Error(`no ${selector}`);
    new MutationObserver(() => {
      if (kept.pressed === 0) return;
      kept.times.push(performance.now() - kept.pressed);
      kept.pressed = 0;
      kept.echoed();
    }).observe(target, { subtree: true, childList: true, characterData: true });
  }, screen);
}

/** Types `count` keys, each after the last one's echo; nothing asks the page meanwhile. @returns ms for each */
export async function type(page: Page, count: number): Promise<number[]> {
  await page.bringToFront();
  for (let key = 0; key < count; key++) {
    const echo = page.evaluate(
      async (before, late) => {
        const { benchKeys: kept } = globalThis as unknown as { benchKeys: Kept };
        // Input reaches the page by another connection and may arrive first.
        if (kept.times.length > before) return;
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        kept.echoed = resolve;
        setTimeout(() => reject(new Error("no echo")), late);
        await promise;
      },
      key,
      LATE_MS,
    );
    await page.keyboard.press(key % 60 === 59 ? "Enter" : "a");
    await echo;
    await Bun.sleep(PAUSE_MS);
  }
  return page.evaluate(() => (globalThis as unknown as { benchKeys: Kept }).benchKeys.times.splice(0));
}
