/** The page's list of sessions: what each entry says of a session with several panes. */
import { expect } from "bun:test";
import type { Gateway } from "../support/server.ts";
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
