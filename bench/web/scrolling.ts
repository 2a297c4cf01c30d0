/** Scrolling back through a long history with the wheel, in the page and in one with xterm.js. */
import type { Page } from "puppeteer-core";
import { figure, one, percentile } from "../figure.ts";
import type { Measure } from "../measure.ts";
import { WebStand } from "./stand.ts";

const LINES = 20_000;
/** One turn of the wheel, in pixels, and the time between two in ms: a quick hand. */
const TURN = 1_500;
const TURN_MS = 16;

/** Longest time of turning, in ms. */
const LONGEST_MS = 30_000;

interface Kept {
  readonly gaps: number[];
  isTop: boolean;
}

export const webHistory: Measure = {
  name: "web-history",
  async run(stage) {
    await using stand = await WebStand.start(stage);
    const lines = [];
    for (const kind of [stand.ours, stand.xterm]) {
      const session = kind === stand.ours ? "ours" : "theirs";
      // It prints once the page is there: raw bytes have no history.
      const command = `/bin/sh -c 'stty -echo; read go; seq -f "line %.0f" ${LINES}; exec cat'`;
      await stage.post("/sessions", { name: session, command, rows: 30, cols: 100 });
      const page = await stand.open(kind, session);
      await page.waitForFunction(() => document.activeElement instanceof HTMLTextAreaElement);
      await page.keyboard.press("Enter");
      await page.waitForFunction(
        (selector, last) => document.querySelector(selector)?.textContent?.includes(last),
        {},
        kind.screen,
        `line ${LINES}`,
      );
      const { gaps, ms } = await wheelToTop(page);
      await page.browserContext().close();
      const over = gaps.filter((gap) => gap > 50).length;
      lines.push({
        who: kind.who,
        figures: [figure(gaps), one(percentile(gaps, 0.99)), one(over), ms === null ? null : one(ms / 1000)],
      });
    }
    return {
      title: `In the browser: ${LINES} lines back by the wheel, ms between two frames`,
      columns: ["p50", "p99", "over 50 ms", "all of it, s"],
      lines,
      goal: "p99 ≤ 25 ms",
      meaning:
        `Turns of ${TURN} pixels every ${TURN_MS} ms until the first line is in sight, or for ${LONGEST_MS / 1000} s (–). The page fetches the history from the server as it is ` +
        "looked at; xterm.js has all of it since it was printed.",
    };
  },
};

async function wheelToTop(page: Page): Promise<{ readonly gaps: readonly number[]; readonly ms: number | null }> {
  await page.mouse.move(400, 300);
  await page.evaluate(() => {
    const kept: Kept = { gaps: [], isTop: false };
    Object.assign(globalThis, { benchFrames: kept });
    const isTop = (): boolean => {
      const { terminal } = globalThis as { terminal?: { buffer: { active: { viewportY: number } } } };
      if (terminal !== undefined) return terminal.buffer.active.viewportY === 0;
      const isFirst = document.querySelector(".history .row")?.textContent === "line 1";
      return isFirst && document.querySelector(".scroller")?.scrollTop === 0;
    };
    let last = performance.now();
    const frame = (now: number): void => {
      kept.gaps.push(now - last);
      last = now;
      kept.isTop = isTop();
      if (!kept.isTop) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  const began = performance.now();
  const kept = () => page.evaluate(() => (globalThis as unknown as { benchFrames: Kept }).benchFrames);
  for (let turn = 1; ; turn++) {
    await page.mouse.wheel({ deltaY: -TURN });
    await Bun.sleep(TURN_MS);
    if (turn % 20 !== 0) continue;
    const { gaps, isTop } = await kept();
    const ms = performance.now() - began;
    if (isTop || ms > LONGEST_MS) return { gaps, ms: isTop ? ms : null };
  }
}
