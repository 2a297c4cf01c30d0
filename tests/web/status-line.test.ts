/** The status line in a page: its segments with their styles, and what a click on it does. */
import { expect } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { Gateway } from "../support/server.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { browserTest, PAGE_MS, TestBrowser } from "./support/browser.ts";
import { open } from "./support/shown.ts";

browserTest("a page shows the line of the settings, also alone, and follows their changes", async () => {
  const config = (style: string): string =>
    `status_segments = ["session", "gap", { text = "漢{session}", style = "${style}" }, { shell = "printf '\\\\033[3mslanted'" }]\n`;
  await using gateway = await Gateway.start({ config: config("#010203 on #f0f0f0"), env: { WSH_STATUS: "on" } });
  await using browser = await TestBrowser.start();
  await gateway.session("dev");
  const { page, faults, shows } = await open(browser, gateway, "dev");
  await shows(/^\$/m);
  /** Text, colours and slant of the pieces of the last row. */
  const line = () =>
    page.evaluate(() => {
      const rows = [...document.querySelectorAll(".around .row")];
      const row = rows.findLast((each) => (each.textContent ?? "").trim() !== "");
      return [...(row?.querySelectorAll("span") ?? [])].map((span) => {
        const { color, backgroundColor, fontStyle } = getComputedStyle(span);
        return { text: span.textContent ?? "", color, backgroundColor, fontStyle };
      });
    });
  const piece = async (text: string) => (await line()).find((each) => each.text.includes(text));
  const bar = await until(
    "the line",
    async () => ((await piece("slanted")) === undefined ? null : await line()),
    PAGE_MS,
  );
  expect(bar.map(({ text }) => text).join("")).toMatch(/^ dev +漢dev slanted ?/);
  expect(await piece("漢")).toMatchObject({ color: "rgb(1, 2, 3)", backgroundColor: "rgb(240, 240, 240)" });
  expect(await piece("slanted")).toMatchObject({ fontStyle: "italic" });
  fs.writeFileSync(join(gateway.dir, "home/.config/wsh/config.toml"), config("#040506"));
  await until("the other style", async () => (await piece("漢"))?.color === "rgb(4, 5, 6)", PAGE_MS);
  // A click on a window shows it.
  await gateway.ok("window", "new", "dev");
  fs.writeFileSync(
    join(gateway.dir, "home/.config/wsh/config.toml"),
    'status_segments = ["windows", { text = "漢{session}" }]',
  );
  await until("both windows", async () => (await piece("1:bash")) !== undefined, PAGE_MS);
  const tab = await page.evaluate(() => {
    const found = [...document.querySelectorAll(".around .row span")].find(
      (span) => span.textContent?.startsWith("1:bash") || span.textContent?.startsWith(" 1:bash"),
    );
    const { left = 0, top = 0, height = 0 } = found?.getBoundingClientRect() ?? {};
    return { x: left + 20, y: top + height / 2 };
  });
  await page.mouse.click(tab.x, tab.y);
  await until("the other window", async () => (await piece("1:bash*")) !== undefined, PAGE_MS);
  // Beside a terminal of another width each has its own.
  await using person = await EmulatorTerminal.attach(gateway, "dev", { cols: 40, flags: ["--follow"] });
  await person.sees(/^ 0:bash 1:bash\* 漢dev/m);
  await until("the page's own", async () => (await line()).map(({ text }) => text).join("").length > 60, PAGE_MS);
  expect(faults).toEqual([]);
});
