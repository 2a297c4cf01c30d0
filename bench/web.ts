/**
 * The browser page beside a page with xterm.js that is fed a session's raw bytes, in the same Chromium: a key until the
 * screen's elements have changed, the first picture, the longest task under a flood, memory.
 */
import { launch, type Page } from "puppeteer-core";
import { type Figure, figure, percentile } from "./figure.ts";
import type { Measure } from "./measure.ts";
import type { Stage } from "./stage.ts";
import { until } from "./until.ts";

const TOKEN = "a-token-for-the-bench-of-the-page";
const KEYS = 150;
const LOADS = 7;
/** Sessions in the list while memory is looked at. */
const SESSIONS = 16;
/** Time that a flood runs, in ms. */
const FLOOD_MS = 3_000;

interface Sample {
  readonly keys: readonly number[];
  readonly cold: readonly number[];
  readonly warm: readonly number[];
  readonly longestTask: number;
  readonly heapMb: number;
}

export const web: Measure = {
  name: "web",
  async run(stage) {
    const peer = peerPage();
    const child = stage.spawn([
      ...[stage.wsh, "server", "--bind", "127.0.0.1:0", "--token", TOKEN],
      ...["--cors-origin", `http://127.0.0.1:${peer.port}`],
    ]);
    const once = { unix: stage.socket, keepalive: false };
    await until("the server", async () => (await fetch("http://localhost/health", once).catch(() => null))?.ok);
    const info = (await (await stage.get("/server/info")).json()) as { addresses: readonly string[] };
    const origin = info.addresses[0] ?? "";
    const echo = "exec cat";
    await stage.post("/sessions", { name: "ours", command: echo, rows: 30, cols: 100 });
    await stage.post("/sessions", { name: "theirs", command: echo, rows: 30, cols: 100 });
    const executablePath = Bun.which("chromium") ?? Bun.which("google-chrome") ?? "";
    const browser = await launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
    try {
      const measured = async (
        address: () => Promise<string>,
        ready: string,
        screen: string,
        name: string,
      ): Promise<Sample> => {
        const cold: number[] = [];
        const warm: number[] = [];
        for (let load = 0; load < LOADS; load++) {
          const context = await browser.createBrowserContext();
          const page = await context.newPage();
          cold.push(await painted(page, await address(), ready));
          await page.goto("about:blank");
          warm.push(await painted(page, await address(), ready));
          await context.close();
        }
        const page = await browser.newPage();
        await painted(page, await address(), ready);
        const keys = await keyTimes(page, screen);
        const longestTask = await flooded(page, stage, name);
        const { JSHeapUsedSize = 0 } = await page.metrics();
        await page.close();
        return { keys, cold, warm, longestTask, heapMb: JSHeapUsedSize / 1e6 };
      };
      const theirs = await measured(
        async () => `http://127.0.0.1:${peer.port}/#${await rawAddress(origin)}`,
        ".xterm-rows > div",
        ".xterm-rows",
        "theirs",
      );
      for (let index = 0; index < SESSIONS - 2; index++)
        await stage.post("/sessions", { name: `s${index}`, command: echo });
      const ours = await measured(
        () => Promise.resolve(`${origin}/#t=${TOKEN}&session=ours`),
        ".screen .row",
        ".screen",
        "ours",
      );
      return {
        title: "In the browser, ms; memory in MB",
        columns: [
          "key → elements, p50",
          "p99",
          "first picture, cold",
          "warm",
          "longest task in a flood",
          "JavaScript heap",
        ],
        lines: [line(`wsh's page, ${SESSIONS} sessions in its list`, ours), line("xterm.js fed raw bytes", theirs)],
        goal: "key → elements p50 ≤ 5 ms, p99 ≤ 20 ms; no task over 100 ms",
        meaning:
          "Chromium without a display. A key counts from its event until the elements of the screen have changed by its echo, over " +
          "the server and the session's process. A first picture counts from the navigation until rows are there; cold is a browser " +
          "context of its own. The flood is `yes` in the session that is shown; 0: no task was over 50 ms. Not measured: bytes on the wire, since what " +
          "Chromium tells of a WebSocket is already unpacked.",
      };
    } finally {
      await browser.close();
      peer.stop(true);
      child.kill();
    }
  },
};

function line(who: string, { keys, cold, warm, longestTask, heapMb }: Sample) {
  const one = (value: number): Figure => figure([value]);
  return {
    who,
    figures: [figure(keys), one(percentile(keys, 0.99)), figure(cold), figure(warm), one(longestTask), one(heapMb)],
  };
}

/** A page with xterm.js: its address's fragment is that of a raw WebSocket. */
function peerPage() {
  const script = `import { Terminal } from "./xterm.mjs";
const terminal = new Terminal({ rows: 30, cols: 100 });
terminal.open(document.body);
const socket = new WebSocket(decodeURIComponent(location.hash.slice(1)));
socket.binaryType = "arraybuffer";
socket.onmessage = ({ data }) => terminal.write(new Uint8Array(data));
terminal.onData((text) => socket.send(new TextEncoder().encode(text)));
terminal.focus();`;
  const html = `<!doctype html><link rel="stylesheet" href="/xterm.css"><body><script type="module" src="/page.js"></script>`;
  const typed = (body: BodyInit, type: string) => new Response(body, { headers: { "Content-Type": type } });
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    routes: {
      "/": () => typed(html, "text/html"),
      "/page.js": () => typed(script, "text/javascript"),
      "/xterm.mjs": () =>
        typed(Bun.file(Bun.resolveSync("@xterm/xterm/lib/xterm.mjs", import.meta.dir)), "text/javascript"),
      "/xterm.css": () => typed(Bun.file(Bun.resolveSync("@xterm/xterm/css/xterm.css", import.meta.dir)), "text/css"),
    },
  });
}

async function rawAddress(origin: string): Promise<string> {
  const response = await fetch(`${origin}/auth/ws-ticket`, {
    method: "POST",
    headers: { Authorization: `Bearer ${TOKEN}` },
  });
  const { ticket } = (await response.json()) as { ticket: string };
  return encodeURIComponent(`${origin.replace("http", "ws")}/sessions/theirs/ws/raw?ticket=${ticket}&snapshot=1`);
}

async function painted(page: Page, address: string, ready: string): Promise<number> {
  const began = performance.now();
  await page.goto(address, { waitUntil: "domcontentloaded" });
  await page.waitForSelector(ready);
  return performance.now() - began;
}

/** From each key's event to the first change of the screen's elements. */
async function keyTimes(page: Page, screen: string): Promise<number[]> {
  await page.waitForFunction(() => document.activeElement instanceof HTMLTextAreaElement);
  await page.evaluate((selector) => {
    const times: number[] = [];
    let pressed = 0;
    Object.assign(globalThis, { benchTimes: times });
    addEventListener(
      "keydown",
      () => {
        pressed = performance.now();
      },
      true,
    );
    const target = document.querySelector(selector);
    if (target === null) return;
    new MutationObserver(() => {
      if (pressed > 0) times.push(performance.now() - pressed);
      pressed = 0;
    }).observe(target, { subtree: true, childList: true, characterData: true });
  }, screen);
  const count = () => page.evaluate(() => (globalThis as unknown as { benchTimes: number[] }).benchTimes.length);
  for (let key = 0; key < KEYS; key++) {
    const before = await count();
    await page.keyboard.press(key % 60 === 59 ? "Enter" : "a");
    await until("the echo", async () => (await count()) > before);
  }
  return page.evaluate(() => (globalThis as unknown as { benchTimes: number[] }).benchTimes);
}

async function flooded(page: Page, stage: Stage, name: string): Promise<number> {
  await page.evaluate(() => {
    const tasks: number[] = [0];
    Object.assign(globalThis, { benchTasks: tasks });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) tasks.push(duration);
    }).observe({ type: "longtask" });
  });
  // Each page's session echoes what a second process writes to its terminal.
  const { pid } = (await (await stage.get(`/sessions/${name}`)).json()) as { pid: number };
  const flood = Bun.spawn(["sh", "-c", `exec yes "a line of a flood, of the usual length" > /proc/${pid}/fd/1`]);
  await Bun.sleep(FLOOD_MS);
  flood.kill();
  await flood.exited;
  return page.evaluate(() => Math.max(...(globalThis as unknown as { benchTasks: number[] }).benchTasks));
}
