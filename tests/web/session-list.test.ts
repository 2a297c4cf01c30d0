/** The page's list of sessions: what an entry says, its miniature, and the keyboard: one Tab stop, arrows for the rest. */
import { expect } from "bun:test";
import { type Gateway, TOKEN } from "../support/server.ts";
import { until } from "../support/until.ts";
import { browserTest, PAGE_MS, type TestBrowser } from "./support/browser.ts";
import { beforeTests } from "./support/place.ts";
import { open } from "./support/shown.ts";

let gateway: Gateway;
let browser: TestBrowser;
beforeTests((...both) => {
  [gateway, browser] = both;
});

browserTest("an entry of the list is about the active pane, as in `wsh ls`", async () => {
  const { pane_id: first } = await gateway.create({ name: "elsewhere", shell: undefined });
  await gateway.create({ name: "panes", shell: undefined });
  const made = await gateway.unix("/sessions/elsewhere/panes", { json: { direction: "right" } });
  const { pane: second } = (await made.json()) as { pane: string };
  const exec = (pane: string, command: string) => gateway.unix(`/sessions/${pane}/exec`, { json: { command } });
  await exec(first, "echo oldest");
  await exec(second, "cd /usr && (exit 7)");
  // Another session is shown: the page follows only what the list shows.
  const { page, faults } = await open(browser, gateway, "panes");
  const entry = async (): Promise<string> =>
    page.evaluate(() => {
      const session = document.querySelector("[data-session=elsewhere]");
      const textOf = (part: string): string => session?.querySelector(part)?.textContent ?? "";
      return [textOf(".path"), textOf(".command")].join(" ");
    });
  const select = (pane: string) => gateway.unix(`/sessions/${pane}/pane/select`, { method: "POST" });
  await select(second);
  await until("the other pane's command", async () => /^\/usr 7 cd \/usr/.test(await entry()), PAGE_MS);
  await select(first);
  await until("the first pane's command", async () => /✓ echo oldest$/.test(await entry()), PAGE_MS);
  await select(second);
  await until("the other pane's command again", async () => /^\/usr 7 cd/.test(await entry()), PAGE_MS);
  // A command that runs there now is shown, with its state; `wsh ls` names the same program.
  await gateway.unix(`/sessions/${second}/input`, { method: "POST", body: "sleep 1000\r" });
  await until("the running command", async () => /▸ sleep 1000$/.test(await entry()), PAGE_MS);
  await page.waitForFunction(() =>
    document.querySelector("[data-session=elsewhere] .state")?.textContent?.includes("running"),
  );
  await until("the row of wsh ls", async () => /^elsewhere +\d+ +sleep .* running/m.test(await gateway.ok("ls")));
  expect(faults).toEqual([]);
});

browserTest("the list of sessions is one stop of Tab, and arrows reach each button of it", async () => {
  for (const name of ["keys-a", "keys-b", "keys-c"]) await gateway.create({ name });
  const { page, faults } = await open(browser, gateway, "keys-b");
  await page.waitForSelector("[data-session=keys-c]");
  await page.waitForSelector("[data-session=keys-b].active");
  /** The focused element, by its label or its session. */
  const focused = () =>
    page.evaluate(() => {
      const { activeElement: element } = document;
      const session = element?.classList.contains("choose") === true ? element.closest("[data-session]") : null;
      return session?.getAttribute("data-session") ?? element?.getAttribute("aria-label") ?? element?.tagName;
    });
  const press = async (
    ...keys: readonly ("Tab" | "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown" | "Home" | "End")[]
  ) => {
    for (const key of keys) await page.keyboard.press(key);
    return focused();
  };
  const back = async () => {
    await page.keyboard.down("Shift");
    await page.keyboard.press("Tab");
    await page.keyboard.up("Shift");
    return focused();
  };
  const stops = () =>
    page.$$eval(".sessions .session button", (buttons) => buttons.filter(({ tabIndex }) => tabIndex === 0).length);

  await page.focus("[aria-label='New session']");
  expect(await press("Tab")).toBe("keys-b");
  await until("one stop", async () => (await stops()) === 1);
  expect(await press("Tab")).toBe("Palette");
  expect(await back()).toBe("keys-b");
  expect(await back()).toBe("New session");

  expect(await press("Tab", "ArrowDown")).toBe("keys-c");
  expect(await press("ArrowDown")).toBe("keys-c");
  const labels: (string | undefined)[] = [];
  for (let at = 0; at < 5; at++) labels.push(await press("ArrowRight"));
  expect(labels).toEqual([
    ...["Show keys-c beside the others", "Rename keys-c", "Tags of keys-c", "End keys-c", "End keys-c"],
  ]);
  expect(await press("ArrowLeft")).toBe("Tags of keys-c");
  await until("one stop", async () => (await stops()) === 1);
  expect(await back()).toBe("New session");
  // The focus returns to the session, whose buttons are out of view meanwhile.
  expect(await press("Tab")).toBe("keys-c");
  expect(await press("End")).toBe("End keys-c");
  expect(await press("Home")).toBe("keys-c");
  await page.keyboard.down("Control");
  expect(await press("Home")).toBe("keys-a");
  expect(await press("End")).toBe("keys-c");
  await page.keyboard.up("Control");
  expect(await press("ArrowUp", "ArrowUp")).toBe("keys-a");

  // Actions without a button that Tab reaches work all the same; one that ends a session keeps the focus.
  expect(await press("End")).toBe("End keys-a");
  await page.keyboard.press("Enter");
  await page.waitForSelector("[data-session=keys-a].ending");
  expect(await focused()).toBe("End keys-a");
  await page.type("[aria-label='Filter sessions']", "keys-b");
  await page.waitForSelector("[data-session=keys-c]", { hidden: true });
  await until("one stop", async () => (await stops()) === 1);
  expect(faults).toEqual([]);
});

browserTest(
  "miniatures cost what changes and is in sight: at most a picture a second, none while nobody looks",
  async () => {
    const sessions = Array.from({ length: 6 }, (_, index) => `mini${index}`);
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
    await page.setViewport({ width: 1000, height: 320 });
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
  expect(faults).toEqual([]);
});
