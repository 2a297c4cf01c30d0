/**
 * Makes docs/web.png and docs/web-phone.png, the pictures of the browser page, from real sessions in Chromium: panes
 * with an overlay that an agent drew, and a phone. Everything else in `FOLDER`, if one is named: light, four panes, a
 * question.
 * `bun scripts/web-pictures.ts [FOLDER]`, after `bun run build.ts`.
 */
import fs from "node:fs";
import { join } from "node:path";
import type { Page } from "puppeteer-core";
import { Gateway, TOKEN } from "../tests/support/server.ts";
import { until } from "../tests/support/until.ts";
import { TestBrowser } from "../tests/web/support/browser.ts";

const docs = join(import.meta.dir, "../docs");
const [folder] = process.argv.slice(2);

await using gateway = await Gateway.start();
await using browser = await TestBrowser.start();
const post = (path: string, json: object) => gateway.unix(path, { json });

async function shell(name: string, ...lines: readonly string[]): Promise<void> {
  await gateway.create({ name, shell: undefined, rows: 36, cols: 110 });
  for (const line of lines) await post(`/sessions/${name}/exec`, { command: line });
}

async function open(
  session: string,
  theme: "light" | "dark",
  viewport: Parameters<Page["setViewport"]>[0],
): Promise<Page> {
  const { page } = await browser.page();
  await page.setViewport(viewport);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  await page.goto(`${gateway.origin}/#t=${TOKEN}&session=${session}`);
  await page.waitForSelector(".tile .dot.live");
  return page;
}

const shows = (page: Page, text: string): Promise<true> =>
  until(`the page to show ${text}`, () =>
    page.evaluate((wanted) => (document.querySelector("#wsh")?.textContent ?? "").includes(wanted) || null, text),
  );

const desk = { width: 1200, height: 720, deviceScaleFactor: 1 };
const files =
  "mkdir -p demo/src && cd demo && printf 'all:\\n\\techo built\\n' > Makefile && touch README.md src/main.c src/parse.c";
fs.mkdirSync(join(gateway.env.HOME ?? "", "demo"), { recursive: true });
fs.copyFileSync(
  join(import.meta.dir, "../src/web/connection/backoff.ts"),
  join(gateway.env.HOME ?? "", "demo/page.ts"),
);
await shell("dev", files, "clear", "ls --color -l", "make", "false");
await shell("build", "seq -f 'test %.0f: passed' 40");
await shell("logs", 'for i in 1 2 3; do echo "10:4$i GET /index.html 200"; done');

const page = await open("dev", "dark", desk);
await shows(page, "built");
await post("/sessions/dev/panes", { direction: "right", command: "vim -u NONE -N -c 'syntax on' page.ts" });
await post("/sessions/dev/panes", { direction: "down", command: "top" });
await until("three panes", () => page.evaluate(() => document.querySelectorAll(".pane").length === 3));
await post("/sessions/dev/overlay", {
  ...{ x: 34, y: 4, width: 40, height: 3, background: { r: 30, g: 78, b: 140 } },
  spans: [{ text: "\n  agent: 12 of 40 tests have passed", bold: true, fg: "white" }],
});
await shows(page, "12 of 40");
await shows(page, "Tasks:");
await shows(page, "GET /index.html");
await page.screenshot({ path: join(docs, "web.png") });

const phone = await open("build", "dark", {
  width: 390,
  height: 700,
  isMobile: true,
  hasTouch: true,
  deviceScaleFactor: 1.5,
});
await shows(phone, "test 40");
await phone.screenshot({ path: join(docs, "web-phone.png") });

if (folder !== undefined) {
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
  await page.screenshot({ path: join(folder, "light.png") });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  await post("/sessions/dev/panes", { direction: "down", command: "less page.ts" });
  await until("four panes", () => page.evaluate(() => document.querySelectorAll(".pane").length === 4));
  await shows(page, "12 of 40");
  await page.screenshot({ path: join(folder, "four-panes.png") });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
  void post("/sessions/build/ask", { question: "Deploy to production?", choices: ["Yes", "No"] }).catch(
    () => undefined,
  );
  await page.click("[data-session=build] .choose");
  await shows(page, "1 > Yes");
  await page.screenshot({ path: join(folder, "question.png") });
}
console.log("docs/web.png, docs/web-phone.png");
