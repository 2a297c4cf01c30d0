/** A page among many sessions that print: latency of keys in the displayed one, and the cost of the list. */
import type { Page } from "puppeteer-core";
import { type Figure, figure, one, percentile } from "../figure.ts";
import type { Line, Measure } from "../measure.ts";
import { cpu } from "../process.ts";
import type { Stage } from "../stage.ts";
import { until } from "../until.ts";
import { type, watchKeys } from "./keys.ts";
import { WebStand } from "./stand.ts";
import { longestTask } from "./tasks.ts";

const SESSIONS = 16;
const KEYS = 60;
const ROUNDS = 2;
/** Duration of the observation of the list, in ms. */
const COST_MS = 10_000;
/** Time between two lines of a busy session, in s. */
const BUSY_S = 0.05;
/** A window that shows the whole list, and one that hides it. */
const LIST_SEEN = { width: 1280, height: 2_600 } as const;
const LIST_AWAY = { width: 640, height: 2_600 } as const;

export const webCrowd: Measure = {
  name: "web-crowd",
  async run(stage) {
    await using stand = await WebStand.start(stage);
    for (const name of ["ours", "theirs"])
      await stage.post("/sessions", { name, command: "exec cat", rows: 30, cols: 100 });
    const opened = [];
    for (const [kind, session] of [
      [stand.ours, "ours"],
      [stand.xterm, "theirs"],
      [stand.echo, ""],
    ] as const) {
      const page = await stand.open(kind, session);
      await watchKeys(page, kind.screen);
      await type(page, KEYS);
      opened.push({ who: kind.who, page, keys: [] as number[], longest: 0 });
    }
    const flood = "exec yes 'a line of a flood, of the usual length'";
    for (let index = 1; index < SESSIONS; index++)
      await stage.post("/sessions", { name: `s${index}`, command: flood, rows: 30, cols: 100 });
    for (let round = 0; round < ROUNDS; round++) {
      for (const each of opened) {
        const longest = await longestTask(each.page, async () => each.keys.push(...(await type(each.page, KEYS))));
        each.longest = Math.max(each.longest, longest);
      }
    }
    return {
      title: `In the browser beside ${SESSIONS - 1} floods, ms`,
      columns: ["key → elements, p50", "p99", "longest task"],
      lines: opened.map(({ who, keys, longest }) => ({
        who,
        figures: [figure(keys), one(percentile(keys, 0.99)), one(longest)],
      })),
      goal: "no task over 100 ms, keys answered",
      meaning:
        `${SESSIONS} sessions, of which all but the one that is shown run \`yes\`; wsh's page has all in its list. ${ROUNDS * KEYS} keys a page, ` +
        "in turns. The echo page says how long a key takes on so busy a machine without any session.",
    };
  },
};

export const webMiniatures: Measure = {
  name: "web-miniatures",
  async run(stage) {
    await using stand = await WebStand.start(stage);
    const busy = `/bin/bash -c 'i=0; while sleep ${BUSY_S}; do echo "line $((i++)) of a busy session"; done'`;
    await stage.post("/sessions", { name: "shown", command: "exec cat", rows: 30, cols: 100 });
    for (let index = 1; index < SESSIONS; index++)
      await stage.post("/sessions", { name: `s${index}`, command: busy, rows: 30, cols: 100 });
    const page = await stand.open(stand.ours, "shown");
    const lines: Line[] = [];
    for (const [size, who] of [
      [LIST_SEEN, "the list in sight"],
      [LIST_AWAY, "the list out of sight"],
    ] as const) {
      await page.setViewport(size);
      await until("the miniatures", () =>
        page.evaluate(
          (count, isSeen) => {
            const shown = Array.from(document.querySelectorAll<HTMLElement>(".miniature")).filter(
              (each) => each.checkVisibility() && each.getBoundingClientRect().right > 0,
            );
            return isSeen ? shown.filter(({ textContent }) => textContent !== "").length >= count : shown.length === 0;
          },
          SESSIONS - 1,
          size === LIST_SEEN,
        ),
      );
      lines.push(await costs(stage, stand, page, who));
    }
    await page.close();
    lines.push(await costs(stage, stand, null, "no page"));
    return {
      title: `In the browser: the list of ${SESSIONS} sessions, % of a processor`,
      columns: ["server", "session processes", "the page's main thread", "bytes a second"],
      alone: true,
      lines,
      goal: "none was set",
      meaning:
        `${SESSIONS - 1} sessions print a line every ${BUSY_S * 1000} ms; the page shows one that is quiet. The list has a miniature of each, ` +
        `once a second. Over ${COST_MS / 1000} s; bytes are what the page is sent in messages of WebSockets.`,
    };
  },
};

async function costs(stage: Stage, { serverPid }: WebStand, page: Page | null, who: string): Promise<Line> {
  const hosts = stage.pids(" session-process");
  const spent = (): number => hosts.reduce((sum, pid) => sum + cpu(pid), 0);
  const client = await page?.createCDPSession();
  let bytes = 0;
  client?.on("Network.webSocketFrameReceived", ({ response }) => (bytes += response.payloadData.length));
  await client?.send("Network.enable");
  const main = async (): Promise<number> => ((await page?.metrics())?.TaskDuration ?? 0) * 1000;
  const before = { server: cpu(serverPid), hosts: spent(), main: await main() };
  await Bun.sleep(COST_MS);
  const after = { server: cpu(serverPid), hosts: spent(), main: await main() };
  await client?.detach();
  const share = (ms: number): Figure => one((100 * ms) / COST_MS);
  return {
    who,
    figures: [
      ...[share(after.server - before.server), share(after.hosts - before.hosts)],
      ...(page === null ? [null, null] : [share(after.main - before.main), one((bytes * 1000) / COST_MS)]),
    ],
  };
}
