/**
 * The browser page beside a page with xterm.js that is fed a session's raw bytes, and one that only echoes, in the same
 * Chromium: a key until the screen's elements have changed, its bytes, the first picture, the longest task under a flood,
 * memory.
 */
import { type Figure, figure, one, percentile } from "../figure.ts";
import type { Measure } from "../measure.ts";
import { pss } from "../process.ts";
import type { Stage } from "../stage.ts";
import { PAUSE_MS, type, watchKeys } from "./keys.ts";
import { type Kind, painted, WebStand } from "./stand.ts";
import { longestTask } from "./tasks.ts";

/** Keys of a page, typed in turns with the other pages. */
const ROUNDS = 5;
const KEYS = 60;
/** Keys before the first that counts: code is compiled in them. */
const WARM_UP = 60;
const LOADS = 5;
/** Sessions in the list. */
const SESSIONS = 16;
/** Time in which the bytes of a page without keys are counted, in ms. */
const REST_MS = 10_000;
/** Time that a flood runs, in ms. */
const FLOOD_MS = 3_000;

export const web: Measure = {
  name: "web",
  async run(stage) {
    await using stand = await WebStand.start(stage);
    const { ours, xterm, echo } = stand;
    for (let index = 0; index < SESSIONS; index++)
      await stage.post("/sessions", { name: `s${index}`, command: "exec cat", rows: 30, cols: 100 });
    const sessionOf = new Map([
      [ours, "s0"],
      [xterm, "s1"],
      [echo, ""],
    ]);
    const loads = new Map([ours, xterm].map((kind) => [kind, { cold: [] as number[], warm: [] as number[] }]));
    for (let load = 0; load < LOADS; load++)
      for (const [kind, { cold, warm }] of loads) await loaded(stand, kind, sessionOf.get(kind) ?? "", cold, warm);
    const opened = [];
    for (const [kind, session] of sessionOf) {
      const before = await renderersMb(stand);
      const page = await stand.open(kind, session);
      await watchKeys(page, kind.screen);
      await type(page, WARM_UP);
      opened.push({ kind, session, page, memory: (await renderersMb(stand)) - before, keys: [] as number[] });
    }
    for (let round = 0; round < ROUNDS; round++)
      for (const { page, keys } of opened) keys.push(...(await type(page, KEYS)));
    const lines = [];
    for (const { kind, session, page, memory, keys } of opened) {
      await page.bringToFront();
      const isTerminal = session !== "";
      const longest = isTerminal ? await longestTask(page, () => flood(stage, session)) : null;
      await page.browserContext().close();
      const bytes = isTerminal ? await bytesOf(stand, kind, session) : null;
      const { cold, warm } = loads.get(kind) ?? {};
      const who = kind === ours ? `${kind.who}, ${SESSIONS} sessions in its list` : kind.who;
      lines.push({
        who,
        figures: [
          ...[figure(keys), one(percentile(keys, 0.99)), orNone(bytes?.key ?? null), orNone(bytes?.second ?? null)],
          ...[cold === undefined ? null : figure(cold), warm === undefined ? null : figure(warm)],
          ...[orNone(longest), isTerminal ? one(memory) : null],
        ],
      });
    }
    return {
      title: "In the browser, ms; memory in MB",
      columns: [
        ...["key → elements, p50", "p99", "bytes a key", "a second at rest", "first picture, cold", "warm"],
        ...["longest task in a flood", "memory of the tab"],
      ],
      lines,
      goal: "key → elements p50 ≤ 5 ms, p99 ≤ 20 ms; no task over 100 ms",
      meaning:
        `Chromium without a display; ${ROUNDS * KEYS} keys a page, in turns of ${KEYS}, each ${PAUSE_MS} ms after the last one's echo, as fast as a held ` +
        "key repeats: sooner, Chromium keeps back what comes from the network until it has drawn the frame of the key before. A key counts " +
        "from its event until the elements of the screen have changed by its echo, over the server and the session's process; the echo " +
        "page's WebSocket answers by itself. Bytes are those of TCP, both ways and of all connections of the page; those of a page at rest, whose list asks for all sessions, " +
        "are not in a key's. A first picture counts " +
        "from the navigation until rows are there; cold is a browser context of its own. The flood is `yes` in the session that is " +
        "shown; 0: no task was over 50 ms. Memory is the PSS of the processes that run pages, with the page less without it.",
    };
  },
};

function orNone(value: number | null): Figure | null {
  return value === null ? null : one(value);
}

async function loaded(
  { browser, origin }: WebStand,
  kind: Kind,
  session: string,
  cold: number[],
  warm: number[],
): Promise<void> {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  cold.push(await painted(page, await kind.address(origin, session), kind.ready));
  await page.goto("about:blank");
  warm.push(await painted(page, await kind.address(origin, session), kind.ready));
  await context.close();
}

async function renderersMb(stand: WebStand): Promise<number> {
  return (await stand.renderers()).reduce((sum, pid) => sum + pss(pid), 0);
}

/** Bytes between the page and the server, over a proxy that counts: of a key, and in a second without any. */
async function bytesOf(stand: WebStand, kind: Kind, session: string): Promise<{ key: number; second: number }> {
  const { counted } = stand;
  const page = await stand.open(kind, session, counted.origin);
  await watchKeys(page, kind.screen);
  await type(page, WARM_UP);
  const begun = { bytes: counted.bytes, at: performance.now() };
  await Bun.sleep(REST_MS);
  const rested = { bytes: counted.bytes, at: performance.now() };
  await type(page, KEYS);
  const typed = { bytes: counted.bytes, at: performance.now() };
  await page.browserContext().close();
  const perMs = (rested.bytes - begun.bytes) / (rested.at - begun.at);
  const own = typed.bytes - rested.bytes - perMs * (typed.at - rested.at);
  return { key: Math.max(0, own) / KEYS, second: perMs * 1000 };
}

/** Each page's session echoes what a second process writes to its terminal. */
async function flood(stage: Stage, session: string): Promise<void> {
  const { pid } = (await (await stage.get(`/sessions/${session}`)).json()) as { pid: number };
  const child = Bun.spawn(["sh", "-c", `exec yes "a line of a flood, of the usual length" > /proc/${pid}/fd/1`]);
  await Bun.sleep(FLOOD_MS);
  child.kill();
  await child.exited;
}
