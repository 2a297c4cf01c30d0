/** What a page does for a person who is elsewhere, and under a flood: one notice, keys that are answered. */
import { afterAll, beforeAll, expect } from "bun:test";
import { Gateway, TOKEN } from "../support/server.ts";
import { until } from "../support/until.ts";
import { isCompiled } from "../support/wsh-program.ts";
import { browserTest, TestBrowser, type TestPage } from "./support/browser.ts";
import { open } from "./support/shown.ts";

let gateway: Gateway;
let browser: TestBrowser;
beforeAll(async () => {
  if (!isCompiled) return;
  gateway = await Gateway.start();
  browser = await TestBrowser.start();
});
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await gateway?.[Symbol.asyncDispose]();
});

interface NoticedPage extends TestPage {
  notices(): Promise<string[]>;
  /** The person goes elsewhere. */
  leave(): Promise<void>;
}

/** A page at a session whose person wants notices. */
async function noticed(session: string): Promise<NoticedPage> {
  const { page, faults } = await browser.page();
  await page.browserContext().overridePermissions(gateway.origin, ["notifications"]);
  await page.evaluateOnNewDocument(() => {
    localStorage.setItem("wsh.settings", JSON.stringify({ notices: true, noticeAfterS: 0 }));
  });
  await page.goto(`${gateway.origin}/#t=${TOKEN}&session=${session}`);
  await page.waitForSelector(".terminal.focused");
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await page.waitForSelector(`[data-session=${session}]`);
  const notices = () =>
    page.evaluate(async () => {
      const registration = await navigator.serviceWorker.getRegistration();
      return (await registration?.getNotifications())?.map(({ title, body }) => `${title} ${body}`) ?? [];
    });
  const leave = () =>
    page.evaluate(() => {
      Object.defineProperty(document, "hidden", { value: true, configurable: true });
      Object.defineProperty(document, "hasFocus", { value: () => false, configurable: true });
    });
  return { page, faults, notices, leave };
}

browserTest("a command that took long is told once to who is elsewhere, and not to who looks at it", async () => {
  await gateway.create({ name: "slow", shell: undefined });
  const { page, faults, notices, leave } = await noticed("slow");
  const run = (command: string) => gateway.unix("/sessions/slow/exec", { json: { command } });
  await run("echo seen");
  // The page has been told of its end, too: what comes once the person is elsewhere is the next command's.
  await page.waitForFunction(() => document.querySelector(".session .command")?.textContent === "✓ echo seen");
  expect(await notices()).toEqual([]);
  await leave();
  await run("echo unseen");
  await until("the notice", async () => (await notices()).length > 0);
  expect(await notices()).toEqual(["wsh: slow echo unseen has ended"]);
  expect(faults).toEqual([]);
});

browserTest("an agent's question is told once to who is elsewhere, and not to who looks at it", async () => {
  await gateway.create({ name: "asking" });
  const { page, faults, notices, leave } = await noticed("asking");
  const ask = (question: string) =>
    gateway.unix("/sessions/asking/ask", { json: { question, choices: ["yes", "no"], max_wait_ms: 60_000 } });
  const isListed = (question: string) =>
    page.waitForFunction(
      (text) =>
        Array.from(document.querySelectorAll(".session .question")).some((each) => each.textContent?.includes(text)),
      {},
      question,
    );
  const first = ask("Seen?");
  await isListed("Seen?");
  // The tab's title counts the sessions that wait for somebody.
  await page.waitForFunction(() => document.title === "(1) wsh");
  expect(await notices()).toEqual([]);
  const [{ ask_id }] = await (await gateway.unix("/sessions/asking/ask")).json();
  await gateway.unix(`/sessions/asking/ask/${ask_id}/answer`, { json: { answer: "yes" } });
  expect(await (await first).json()).toMatchObject({ state: "answered" });
  await page.waitForFunction(() => document.title === "wsh");

  await leave();
  const second = ask("Unseen?");
  await until("the notice", async () => (await notices()).length > 0);
  // Another question of the same session does not take its place.
  const third = ask("Nor this?");
  await until("both notices", async () => (await notices()).length > 1);
  expect((await notices()).map((text) => text.replace(/ an .* asks: /, " … asks: ")).toSorted()).toEqual([
    "wsh: asking … asks: Nor this?",
    "wsh: asking … asks: Unseen?",
  ]);
  await gateway.unix("/sessions/asking", { method: "DELETE" });
  await Promise.all([second, third]);
  expect(faults).toEqual([]);
});

browserTest(
  "miniatures cost what changes and is in sight: at most a picture a second, none while nobody looks",
  async () => {
    const sessions = Array.from({ length: 10 }, (_, index) => `mini${index}`);
    await gateway.create({ name: "shown-one" });
    for (const name of sessions) await gateway.create({ name, command: "/bin/sh -c 'echo quiet; exec cat'" });
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
    // They grow with their pictures: those that the list would have to be scrolled for then are not asked for.
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
    // The others have not changed; one that came into sight meanwhile is shown once.
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

/** Sessions that print: as many as a full size has; few where other tests need the processors. */
const NOISY = process.env.WSH_TEST_FULL === undefined ? 3 : 16;

browserTest("sessions that print without end, one in sight: keys are answered", async () => {
  await gateway.create({ name: "in-sight" });
  for (let index = 0; index < NOISY; index++)
    await gateway.create({ name: `noisy${index}`, command: "yes a line of a flood" });
  const { page, shows, faults } = await open(browser, gateway, "in-sight");
  await shows(/^\$/m);
  await page.keyboard.type("echo answered-$((40+2))\r");
  await shows("answered-42");
  await page.waitForSelector("[data-session=noisy1] .miniature:not(:empty)");
  await page.click("[data-session=noisy1] .choose");
  await shows("a line of a flood");
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
