/** The longest task of a page's main thread during an action. */
import type { Page } from "puppeteer-core";

/** @returns ms; 0: none took over 50 ms, the least that Chromium reports */
export async function longestTask(page: Page, during: () => Promise<unknown>): Promise<number> {
  await page.evaluate(() => {
    const tasks: number[] = [0];
    Object.assign(globalThis, { benchTasks: tasks });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) tasks.push(duration);
    }).observe({ type: "longtask" });
  });
  await during();
  return page.evaluate(() => Math.max(...(globalThis as unknown as { benchTasks: number[] }).benchTasks));
}
