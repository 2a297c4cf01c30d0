/** The longest task of a page's main thread while something goes on. */
import type { Page } from "puppeteer-core";

/** @returns in ms; 0 where none was over 50 ms, which is when Chromium tells of one */
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
