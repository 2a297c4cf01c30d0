/** A page whose person is elsewhere, and a page under a flood: one notice, keys with answers. */
import { expect } from "bun:test";
import { type Gateway, TOKEN } from "../support/server.ts";
import { until } from "../support/until.ts";
import { browserTest, type TestBrowser, type TestPage } from "./support/browser.ts";
import { beforeTests } from "./support/place.ts";
import { open } from "./support/shown.ts";

let gateway: Gateway;
let browser: TestBrowser;
beforeTests((...both) => {
  [gateway, browser] = both;
}, true);

interface NoticedPage extends TestPage {
  /** Notices that the browser accepted, in order. */
  notices(): Promise<string[]>;
  /** The person leaves; time out of view passes at once. */
  leave(): Promise<void>;
}

/** Values that the tests have put into the page. */
interface Watched {
  notices: string[];
  /** Answers to the page from the journal of events. */
  read: string[];
  /** Ends the page's connections, and refuses new ones until it is called again. */
  cut(isCut: boolean): void;
}

/** Time out of view after which a terminal closes its connection, in ms. */
const HIDDEN_MS = 30_000;
/** Time that notices wait for the worker to start, in ms. */
const WORKER_MS = 5_000;

/** A page at a session, whose person gets notices by default. */
async function noticed(session: string, wanted = true): Promise<NoticedPage> {
  const { page, faults } = await browser.page();
  await page.browserContext().overridePermissions(gateway.origin, ["notifications"]);
  await page.evaluateOnNewDocument(
    (notices, hiddenMs) => {
      localStorage.setItem("wsh.settings", JSON.stringify({ notices, noticeAfterS: 0 }));
      const watched = globalThis as unknown as Watched & typeof globalThis;
      watched.notices = [];
      watched.read = [];
      // Not read from the browser: `getNotifications` forgets a notice that is about to be shown.
      const { prototype } = ServiceWorkerRegistration;
      const { showNotification } = prototype;
      prototype.showNotification = async function (title, options) {
        await showNotification.call(this, title, options);
        watched.notices.push(`${title} ${options?.body}`);
      };
      const { setTimeout } = globalThis;
      const sooner = (run: () => void, ms?: number): unknown => setTimeout(run, ms === hiddenMs ? 0 : ms);
      Object.assign(globalThis, { setTimeout: sooner });
      const sockets = new Set<WebSocket>();
      let isOff = false;
      watched.WebSocket = class extends WebSocket {
        constructor(url: string | URL) {
          if (isOff) throw new Error("no network");
          super(url);
          sockets.add(this);
          this.addEventListener("message", ({ data }) => {
            if (typeof data === "string" && data.includes('"result":{"events":[')) watched.read.push(data);
          });
        }
      };
      watched.cut = (isCut) => {
        isOff = isCut;
        if (isCut) for (const socket of sockets) socket.close();
      };
    },
    wanted,
    HIDDEN_MS,
  );
  await page.goto(`${gateway.origin}/#t=${TOKEN}&session=${session}`);
  await page.waitForSelector(".tile .dot.live");
  await page.waitForSelector(".terminal.focused");
  await page.waitForSelector(`[data-session=${session}]`);
  const notices = () => page.evaluate(() => (globalThis as unknown as Watched).notices);
  const leave = () =>
    page.evaluate(async () => {
      Object.defineProperty(document, "hidden", { value: true, configurable: true });
      Object.defineProperty(document, "hasFocus", { value: () => false, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
      await new Promise((resolve) => setTimeout(resolve));
    });
  return { page, faults, notices, leave };
}

/** The number of terminals and pages that show a session. */
async function attachedTo(session: string): Promise<number> {
  return (await (await gateway.unix(`/sessions/${session}`)).json()).attached;
}

browserTest("a command that took long is told once to who is elsewhere, and not to who looks at it", async () => {
  await gateway.create({ name: "slow", shell: undefined });
  const { page, faults, notices, leave } = await noticed("slow");
  await gateway.unix("/sessions/slow/wait", { json: { any_of: ["prompt"] } });
  const run = async (command: string) => {
    const answer = await (await gateway.unix("/sessions/slow/exec", { json: { command } })).json();
    expect(answer).toMatchObject({ state: "finished", exit_code: 0 });
  };
  await page.waitForFunction(() => (globalThis as unknown as Watched).read.length > 0);
  await run("echo seen");
  // The page has received its end, too: later events belong to the next command.
  await page.waitForFunction(() => document.querySelector(".session .command")?.textContent === "✓ echo seen");
  await page.waitForFunction(() => (globalThis as unknown as Watched).read.some((text) => text.includes("echo seen")));
  expect(await notices()).toEqual([]);
  await leave();
  await run("echo unseen");
  await until("the notice", async () => (await notices()).length > 0);
  expect(await notices()).toEqual(["wsh: slow echo unseen has ended"]);
  expect(faults).toEqual([]);
});

browserTest(
  "commands and notifications of every pane are told, also of one that came from another session",
  async () => {
    for (const name of ["panes-a", "panes-b"]) await gateway.create({ name, shell: undefined });
    const post = async (path: string, json: object) => {
      const response = await gateway.unix(`/sessions/${path}`, { json });
      expect(response.ok).toBe(true);
      return response.status === 204 ? null : await response.json();
    };
    const { pane: beside } = await post("panes-a/panes", { direction: "right" });
    const { pane: hidden } = await post("panes-a/windows", { focus: false });
    const { page, faults, notices, leave } = await noticed("panes-a");
    // A window that is not shown concerns the person while they look at the other.
    await page.waitForFunction(() => document.hasFocus());
    const run = (pane: string, command: string) => post(`${encodeURIComponent(pane)}/exec`, { command });
    await until("the page to follow the events", async () => {
      await run(hidden, "echo hidden");
      return (await notices()).length > 0;
    });
    expect((await notices())[0]).toBe("wsh: panes-a echo hidden has ended");
    await leave();
    const seen = async (text: string) => (await notices()).includes(`wsh: ${text}`);
    await run(beside, "echo beside");
    await until("the pane beside", () => seen("panes-a echo beside has ended"));
    await post(`${encodeURIComponent(beside)}/pane/move`, { to: "panes-b" });
    await run(beside, "printf '\\033]9;from %s\\033\\\\' inside");
    await until("its notification, with its session", () => seen("panes-b from inside"));
    for (const name of ["panes-a", "panes-b"]) await gateway.unix(`/sessions/${name}`, { method: "DELETE" });
    expect(faults).toEqual([]);
  },
);

/** The text of notices of questions, without the asker. */
const questionsOf = (notices: readonly string[]): string[] =>
  notices.map((text) => text.replace(/^wsh: asking\S* an .* asks: /, ""));

function asker(session: string): (question: string, fields?: object) => Promise<Response> {
  return (question, fields = {}) =>
    gateway.unix(`/sessions/${session}/ask`, {
      json: { question, choices: ["yes", "no"], max_wait_ms: 60_000, ...fields },
    });
}

browserTest("an agent's question is told once to who is elsewhere, and not to who looks at it", async () => {
  await gateway.create({ name: "asking" });
  const { page, faults, notices, leave } = await noticed("asking");
  const ask = asker("asking");
  const isListed = (question: string) =>
    page.waitForFunction(
      (text) =>
        Array.from(document.querySelectorAll(".session .question")).some((each) => each.textContent?.includes(text)),
      {},
      question,
    );
  const first = ask("Seen?");
  await isListed("Seen?");
  // The tab's title counts the sessions that wait for a person.
  await page.waitForFunction(() => document.title === "(1) wsh");
  expect(await notices()).toEqual([]);
  const [{ ask_id }] = await (await gateway.unix("/sessions/asking/ask")).json();
  await gateway.unix(`/sessions/asking/ask/${ask_id}/answer`, { json: { answer: "yes" } });
  expect(await (await first).json()).toMatchObject({ state: "answered" });
  await page.waitForFunction(() => document.title === "wsh");

  await leave();
  const second = ask("Unseen?");
  await until("the notice", async () => (await notices()).length > 0);
  // Another question of the same session does not replace it.
  const third = ask("Nor this?");
  await until("both notices", async () => (await notices()).length > 1);
  expect(questionsOf(await notices())).toEqual(["Unseen?", "Nor this?"]);
  await gateway.unix("/sessions/asking", { method: "DELETE" });
  await Promise.all([second, third]);
  expect(faults).toEqual([]);
});

browserTest("who gets notices can be asked for as long as the page lives, others while they look", async () => {
  await gateway.create({ name: "asking-long" });
  const without = await noticed("asking-long", false);
  await until("the page to be there", async () => (await attachedTo("asking-long")) === 1);
  await without.leave();
  await until("its terminal to be given up", async () => (await attachedTo("asking-long")) === 0);
  await without.page.close();

  const { faults, notices, leave } = await noticed("asking-long");
  await until("the page to be there", async () => (await attachedTo("asking-long")) === 1);
  await leave();
  const asked = asker("asking-long")("Still there?");
  await until("the notice", async () => (await notices()).length > 0);
  expect(questionsOf(await notices())).toEqual(["Still there?"]);
  await gateway.unix("/sessions/asking-long", { method: "DELETE" });
  await asked;
  expect(faults).toEqual([]);
});

browserTest("a question that came while the page was not connected is told once it is, others not again", async () => {
  await gateway.create({ name: "asking-cut" });
  const { page, faults, notices, leave } = await noticed("asking-cut");
  const cut = (isCut: boolean) => page.evaluate((on) => (globalThis as unknown as Watched).cut(on), isCut);
  const ask = asker("asking-cut");
  await leave();
  const first = ask("Before?");
  await until("the first notice", async () => (await notices()).length > 0);
  await cut(true);
  await until("the page to be gone", async () => (await attachedTo("asking-cut")) === 0);
  const second = ask("Meanwhile?", { wait_for_person: true });
  await until("both to wait", async () => (await (await gateway.unix("/sessions/asking-cut/ask")).json()).length === 2);
  await cut(false);
  await until("the second notice", async () => (await notices()).length > 1);
  expect(questionsOf(await notices())).toEqual(["Before?", "Meanwhile?"]);
  await gateway.unix("/sessions/asking-cut", { method: "DELETE" });
  await Promise.all([first, second]);
  expect(faults).toEqual([]);
});

browserTest("notices wait for the worker that shows them; where it cannot, the page does", async () => {
  await gateway.create({ name: "asking-early" });
  const { page, faults, leave } = await noticed("asking-early");
  await page.evaluateOnNewDocument((workerMs) => {
    // The worker starts when the test says so, however slow the machine is.
    const { setTimeout } = globalThis;
    const patient = (run: () => void, ms?: number): unknown => (ms === workerMs ? 0 : setTimeout(run, ms));
    Object.assign(globalThis, { setTimeout: patient });
    const shown: string[] = [];
    let isActive = false;
    const ready = Promise.withResolvers<unknown>();
    const registration = {
      showNotification: async (_title: string, { body }: { body: string }) => {
        if (!isActive) throw new TypeError("no active worker");
        if (body.includes("removed")) throw new TypeError("the worker was removed");
        shown.push(`worker ${body}`);
      },
    };
    const container = Object.assign(new EventTarget(), { register: async () => registration, ready: ready.promise });
    Object.defineProperty(navigator, "serviceWorker", { value: container });
    class PageNotice extends EventTarget {
      static readonly permission = "granted";
      constructor(_title: string, { body }: { body: string }) {
        super();
        shown.push(`page ${body}`);
      }
    }
    const begin = (): void => {
      isActive = true;
      ready.resolve(registration);
    };
    Object.assign(globalThis, { Notification: PageNotice, begin, shown });
  }, WORKER_MS);
  await page.goto(`${gateway.origin}/?again#t=${TOKEN}&session=asking-early`);
  await page.waitForSelector(".tile .dot.live");
  await page.waitForSelector("[data-session=asking-early]");
  await leave();
  const ask = asker("asking-early");
  const asked = [ask("early?")];
  await page.waitForFunction(() => document.title === "(1) wsh");
  const shown = () => page.evaluate(() => (globalThis as unknown as { shown: string[] }).shown);
  expect(await shown()).toEqual([]);
  await page.evaluate(() => (globalThis as unknown as { begin(): void }).begin());
  await until("the early notice", async () => (await shown()).length > 0);
  asked.push(ask("removed?"));
  await until("the other notice", async () => (await shown()).length > 1);
  expect((await shown()).map((text) => text.replace(/ an .* asks:/, ""))).toEqual(["worker early?", "page removed?"]);
  await gateway.unix("/sessions/asking-early", { method: "DELETE" });
  await Promise.all(asked);
  expect(faults).toEqual([]);
});

browserTest(
  "miniatures cost what changes and is in sight: at most a picture a second, none while nobody looks",
  async () => {
    const sessions = Array.from({ length: 10 }, (_, index) => `mini${index}`);
    await gateway.create({ name: "shown-one" });
    for (const name of sessions) await gateway.create({ name, command: "/bin/sh -c 'echo quiet; exec cat'" });
    // A later line would be a second picture.
    for (const name of sessions) await gateway.shows(name, /^quiet\n/);
    const { page } = await browser.page();
    const asked = new Map<string, boolean>();
    const pictures: string[] = [];
    const client = await page.createCDPSession();
    await client.send("Network.enable");
    client.on("Network.webSocketFrameSent", ({ response }) => {
      if (!response.payloadData.includes("subscribe_window")) return;
      const { session, params } = JSON.parse(response.payloadData);
      asked.set(session, params.events.length > 0);
    });
    client.on("Network.webSocketFrameReceived", ({ response }) => {
      if (!response.payloadData.startsWith('{"event":"frame"')) return;
      pictures.push(JSON.parse(response.payloadData).session);
    });
    await page.setViewport({ width: 1000, height: 500 });
    await page.goto(`${gateway.origin}/#t=${TOKEN}&session=shown-one`);
    const seen = "mini0";
    // Rows grow with their pictures: those below the list's visible part are not requested.
    await until("pictures of those in sight, and of no more", async () => {
      const on = [...asked].filter(([, isOn]) => isOn).length;
      const shown = await page.$$eval(".miniature:not(:empty)", ({ length }) => length);
      return on > 0 && on < sessions.length && on <= shown && pictures.includes(seen);
    });
    const before = pictures.length;
    const began = performance.now();
    for (let line = 0; line < 12; line++) {
      await gateway.type(seen, `changed ${line}\r`);
      await Bun.sleep(100);
    }
    await page.waitForFunction(() =>
      Array.from(document.querySelectorAll(".miniature")).some(({ textContent }) =>
        textContent?.includes("changed 11"),
      ),
    );
    const elapsed = (performance.now() - began) / 1_000;
    const came = pictures.slice(before);
    expect(came.filter((session) => session === seen).length).toBeLessThanOrEqual(Math.floor(elapsed) + 2);
    // The others have not changed; one that came into view meanwhile is drawn once.
    for (const name of sessions)
      if (name !== seen) expect(came.filter((session) => session === name).length).toBeLessThanOrEqual(1);
    await page.evaluate(() => {
      Object.defineProperty(document, "hidden", { value: true, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await until("no miniature to be asked for", async () => [...asked.values()].every((on) => !on));
    await page.evaluate(() => {
      Object.defineProperty(document, "hidden", { value: false, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    });
    await until("them again", async () => [...asked.values()].some((on) => on));
    for (const name of ["shown-one", ...sessions]) await gateway.unix(`/sessions/${name}`, { method: "DELETE" });
  },
);

/** Sessions with output: as many as a full size has; few where other tests need the processors. */
const NOISY = process.env.WSH_TEST_FULL === undefined ? 2 : 16;

browserTest("sessions that print without end, one in sight: keys are answered", async () => {
  await gateway.create({ name: "in-sight" });
  for (let index = 0; index < NOISY; index++)
    await gateway.create({ name: `noisy${index}`, command: "yes a line of a flood" });
  const { page, shows, faults } = await open(browser, gateway, "in-sight");
  await shows(/^\$/m);
  await page.keyboard.type("echo answered-$((40+2))\r");
  await shows("answered-42");
  await page.waitForSelector("[data-session=noisy1] .miniature:not(:empty)");
  // Not at a position: rows grow while others' first miniatures come.
  await page.$eval("[data-session=noisy1] .choose", (row) => (row as HTMLElement).click());
  await shows("a line of a flood");
  await page.waitForSelector(".terminal.focused");
  await page.keyboard.down("Control");
  await page.keyboard.press("c");
  await page.keyboard.up("Control");
  // Ctrl+C ends `yes`, and with it the session.
  await until("the session's end", async () => {
    const response = await gateway.unix("/sessions/noisy1");
    return response.status === 404 || ((await response.json()) as { running: boolean }).running === false;
  });
  for (let index = 0; index < NOISY; index++) await gateway.unix(`/sessions/noisy${index}`, { method: "DELETE" });
  expect(faults).toEqual([]);
});
