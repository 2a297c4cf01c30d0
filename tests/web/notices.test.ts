/** A page whose person is elsewhere: one notice of each thing that concerns them. */
import { expect } from "bun:test";
import { type Gateway, TOKEN } from "../support/server.ts";
import { until } from "../support/until.ts";
import { browserTest, TestBrowser, type TestPage } from "./support/browser.ts";
import { beforeTests } from "./support/place.ts";

let gateway: Gateway;
let browser: TestBrowser;
beforeTests((...both) => {
  [gateway, browser] = both;
});

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

/**
 * A page at a session, whose person gets notices by default. A browser without windows has no notifications: its pages
 * get a permission and a list in their place.
 */
async function noticed(session: string, { wanted = true, by = browser } = {}): Promise<NoticedPage> {
  const { page, faults } = await by.page();
  const isReal = by !== browser;
  await page.browserContext().overridePermissions(gateway.origin, ["notifications"]);
  await page.evaluateOnNewDocument(
    (notices, hiddenMs, isReal) => {
      localStorage.setItem("wsh.settings", JSON.stringify({ notices, noticeAfterS: 0 }));
      const watched = globalThis as unknown as Watched & typeof globalThis;
      watched.notices = [];
      watched.read = [];
      // Not read from the browser: `getNotifications` forgets a notice that is about to be shown.
      const { prototype } = ServiceWorkerRegistration;
      const { showNotification } = prototype;
      prototype.showNotification = async function (title, options) {
        if (isReal) await showNotification.call(this, title, options);
        watched.notices.push(`${title} ${options?.body}`);
      };
      if (!isReal) Object.defineProperty(Notification, "permission", { value: "granted" });
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
    isReal,
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
  await using whole = await TestBrowser.start(1, null, true);
  const { page, faults, notices, leave } = await noticed("slow", { by: whole });
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
  const without = await noticed("asking-long", { wanted: false });
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
