/** Marks of commands beside their prompts: their results, and folding. */
import { expect } from "bun:test";
import { type Gateway, TOKEN } from "../support/server.ts";
import { until } from "../support/until.ts";
import { browserTest, type TestBrowser } from "./support/browser.ts";
import { beforeTests } from "./support/place.ts";
import { show } from "./support/shown.ts";

let gateway: Gateway;
let browser: TestBrowser;
beforeTests((...both) => {
  [gateway, browser] = both;
});

browserTest("a command's mark says how it ended, and folds its output", async () => {
  await gateway.create({ name: "marks", shell: undefined });
  const { page, shows, faults } = await show(browser, gateway, "marks");
  await gateway.unix("/sessions/marks/exec", { json: { command: "seq 100 105" } });
  await gateway.unix("/sessions/marks/exec", { json: { command: "false" } });
  await shows(/^105$/m);
  await page.waitForSelector(".row[data-state=failed][data-mark^='exit 1']");
  await page.waitForSelector(".row[data-state=ok]");
  const at = await page.$eval(".row[data-state=ok]", (row) => {
    const { left, top, height } = row.getBoundingClientRect();
    return { x: left - 5, y: top + height / 2 };
  });
  await page.mouse.click(at.x, at.y);
  await page.waitForSelector(".menu-of-command");
  expect(await page.$eval(".menu-of-command", ({ textContent }) => textContent)).toContain("seq 100 105");
  await page.$$eval(".menu-of-command button", (buttons) =>
    buttons.find(({ textContent }) => textContent?.startsWith("Fold") === true)?.click(),
  );
  await page.waitForFunction(() => document.querySelectorAll(".row.folded").length === 6);
  expect(faults).toEqual([]);
});

browserTest(
  "marks go with their lines when the screen is erased, and nothing printed in their place has them",
  async () => {
    await gateway.create({ name: "cleared", shell: undefined });
    const { page, shows, faults } = await show(browser, gateway, "cleared");
    const exec = (command: string) => gateway.unix("/sessions/cleared/exec", { json: { command } });
    await exec("seq 3");
    await exec("(exit 3)");
    await page.waitForSelector(".row[data-mark^='exit 3']");
    await exec("printf '\\033[H\\033[2J'");
    await exec("printf '%s\\n' a b c d e f g h");
    await shows(/^h$/m);
    await exec("(exit 4)");
    await page.waitForSelector(".row[data-mark^='exit 4']");
    const commands = ["seq 3", "(exit 3)", "printf '\\033", "a b c", "(exit 4)"];
    await page.hover(".pane");
    await until("each mark beside its own command", async () => {
      await page.mouse.wheel({ deltaY: -500 });
      const marked = await page.$$eval(".row[data-state]", (rows) => rows.map(({ textContent }) => textContent ?? ""));
      return marked.length === commands.length && commands.every((command, at) => marked[at]?.includes(command));
    });
    expect(faults).toEqual([]);
  },
);

browserTest("commands that ended before the page's calls had a connection have their marks, too", async () => {
  await gateway.create({ name: "early", shell: undefined });
  const { page, faults } = await browser.page();
  await page.evaluateOnNewDocument(() => {
    const listen = WebSocket.prototype.addEventListener;
    WebSocket.prototype.addEventListener = function (this: WebSocket, type: string, heard: EventListener) {
      const isHeld = type === "open" && this.url.includes("/ws/json");
      const later = (event: Event) => setTimeout(() => heard.call(this, event), 500);
      listen.call(this, type, isHeld ? later : heard);
    } as typeof listen;
  });
  await page.goto(`${gateway.origin}/#t=${TOKEN}&session=early`);
  await page.waitForSelector(".tile .dot.live");
  await gateway.unix("/sessions/early/exec", { json: { command: "(exit 5)" } });
  await page.waitForSelector(".row[data-mark^='exit 5']");
  expect(faults).toEqual([]);
});

browserTest(
  "from command to command, over history that is not there yet; an output is copied from its mark",
  async () => {
    await gateway.create({ name: "jumps", shell: undefined });
    for (const command of ["echo first", "seq 1 3000", "(exit 3)", "seq 5001 5100", "echo last"])
      await gateway.unix("/sessions/jumps/exec", { json: { command } });
    const { page, shows, faults } = await show(browser, gateway, "jumps");
    // A headless browser gives nobody its clipboard.
    await page.evaluate(() => {
      navigator.clipboard.writeText = async (text) => void document.body.setAttribute("data-copied", text);
    });
    await shows(/^last$/m);
    const top = () =>
      page.evaluate(() => {
        const above = (document.querySelector(".scroller")?.getBoundingClientRect().top ?? 0) - 9;
        const row = Array.from(document.querySelectorAll<HTMLElement>(".pane .row")).find(
          (each) => each.offsetHeight > 0 && each.getBoundingClientRect().top > above,
        );
        return row?.textContent ?? "";
      });
    const jump = async (key: "ArrowUp" | "ArrowDown", to: RegExp) => {
      await page.keyboard.down("Control");
      await page.keyboard.down("Shift");
      await page.keyboard.press(key);
      await page.keyboard.up("Shift");
      await page.keyboard.up("Control");
      await until(`${to} at the top`, async () => to.test(await top()));
    };
    await page.waitForSelector(".row[data-state]");
    await jump("ArrowUp", /seq 5001 5100/);
    await jump("ArrowUp", /\(exit 3\)/);
    await page.waitForSelector(".row[data-state=failed][data-mark^='exit 3']");
    await jump("ArrowUp", /seq 1 3000/);
    await jump("ArrowUp", /echo first/);
    await jump("ArrowDown", /seq 1 3000/);
    await jump("ArrowDown", /\(exit 3\)/);
    await jump("ArrowUp", /seq 1 3000/);

    const choose = async (item: string) => {
      // Rows that are fetched above the mark move it: it is clicked where it is at that moment.
      await until("the mark", () =>
        page.evaluate(() => {
          const row = Array.from(document.querySelectorAll(".row[data-state]")).find(
            ({ textContent }) => textContent?.includes("seq 1 3000") === true,
          );
          const box = row?.getBoundingClientRect();
          if (row === undefined || box === undefined) return false;
          const at = { clientX: box.left, clientY: box.top + box.height / 2, bubbles: true };
          return row.dispatchEvent(new MouseEvent("click", at));
        }),
      );
      await page.waitForSelector(".menu-of-command");
      await page.$$eval(
        ".menu-of-command button",
        (buttons, text) => buttons.find(({ textContent }) => textContent === text)?.click(),
        item,
      );
    };
    await choose("Copy output");
    const copied = () => page.evaluate(() => document.body.getAttribute("data-copied") ?? "");
    await until("the output on the clipboard", async () => (await copied()) !== "");
    expect((await copied()).trim().split(/\r?\n/)).toEqual(Array.from({ length: 3000 }, (_, at) => String(at + 1)));
    await choose("Fold or unfold output");
    await page.waitForSelector(".row[data-mark='⋯ 3000 lines']");
    // The next prompt follows at once, and jumps skip the fold.
    await jump("ArrowDown", /\(exit 3\)/);
    await jump("ArrowUp", /seq 1 3000/);
    expect(faults).toEqual([]);
  },
);
