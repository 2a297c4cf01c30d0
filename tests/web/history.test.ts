/** History on the page: scrolled by wheel, searched, copied, kept at the reader's position. */
import { afterAll, afterEach, beforeAll, expect } from "bun:test";
import { Gateway } from "../support/server.ts";
import { until } from "../support/until.ts";
import { isCompiled } from "../support/wsh-program.ts";
import { browserTest, TestBrowser } from "./support/browser.ts";
import { endSessions } from "./support/place.ts";
import { show } from "./support/shown.ts";

/** Lines above the screen: some pages of history; all that a page mounts in the large size. */
const LINES = process.env.WSH_TEST_FULL === undefined ? 1_000 : 20_000;

let gateway: Gateway;
let browser: TestBrowser;
beforeAll(async () => {
  if (!isCompiled) return;
  gateway = await Gateway.start({ config: "scrollback_lines = 30000\n" });
  browser = await TestBrowser.start();
});
afterEach(() => endSessions(gateway, browser));
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await gateway?.[Symbol.asyncDispose]();
});

browserTest("the wheel leads to the first line, and the newest output is a click away", async () => {
  await gateway.create({ name: "long", command: `/bin/sh -c 'seq -f "line %.0f" ${LINES}; exec sleep 600'` });
  const { page, shows, faults } = await show(browser, gateway, "long");
  await shows(`line ${LINES}`);
  await page.mouse.move(300, 300);
  await until("the first line", async () => {
    await page.mouse.wheel({ deltaY: -20_000 });
    return page.evaluate(() => {
      const scroller = document.querySelector(".scroller");
      return scroller?.scrollTop === 0 && document.querySelector(".history .row")?.textContent === "line 1";
    });
  });
  const lines = await page.evaluate(() =>
    Array.from(document.querySelectorAll(".scroller .row"), (row) => row.textContent ?? "").filter(
      (text) => text !== "",
    ),
  );
  expect(lines).toEqual(Array.from({ length: LINES }, (_, index) => `line ${index + 1}`));
  await page.click(".newest");
  await page.waitForFunction(() => {
    const scroller = document.querySelector(".scroller");
    return scroller !== null && scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop < 2;
  });
  expect(faults).toEqual([]);
});

browserTest("what a person reads stays where it is while the program prints", async () => {
  await gateway.create({ name: "reading" });
  const { page, shows } = await show(browser, gateway, "reading");
  await page.keyboard.type("seq 300\r");
  await shows(/^300$/m);
  await page.mouse.move(300, 300);
  await until("history in sight", async () => {
    await page.mouse.wheel({ deltaY: -400 });
    return page.evaluate(
      () =>
        (document.querySelector(".scroller")?.scrollTop ?? 0) > 300 &&
        document.querySelectorAll(".history .row").length > 200,
    );
  });
  await page.mouse.wheel({ deltaY: -400 });
  const topRow = () =>
    page.evaluate(() => {
      const box = document.querySelector(".scroller")?.getBoundingClientRect();
      return document.elementFromPoint((box?.left ?? 0) + 15, (box?.top ?? 0) + 5)?.closest(".row")?.textContent;
    });
  let before = await topRow();
  let same = 0;
  await until("the page to stand still", async () => {
    await Bun.sleep(100);
    const now = await topRow();
    same = now === before ? same + 1 : 0;
    before = now;
    return same === 5;
  });
  await gateway.type("reading", "seq 1000 1200\r");
  await until("the new output on the screen", async () =>
    (await page.evaluate(() => document.querySelector(".screen")?.textContent ?? "")).includes("1200"),
  );
  expect(await topRow()).toBe(before);
});

browserTest("what a person reads stays in sight when the window gets another size", async () => {
  const line = "of a text that wraps in a narrow window ".repeat(3);
  await gateway.create({
    name: "resizing",
    command: `/bin/sh -c 'for at in $(seq 300); do echo "[$at] ${line}"; done; exec sleep 600'`,
  });
  const { page, shows } = await show(browser, gateway, "resizing");
  await shows("[300]");
  await page.mouse.move(300, 300);
  const isSeen = (text: string) =>
    page.evaluate((wanted) => {
      const frame = document.querySelector(".scroller")?.getBoundingClientRect();
      const row = Array.from(document.querySelectorAll(".history .row")).find((each) =>
        each.textContent?.startsWith(wanted),
      );
      const box = row?.getBoundingClientRect();
      return frame !== undefined && box !== undefined && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
    }, text);
  const gridWidth = () => page.$eval(".grid", (grid) => (grid as HTMLElement).style.width);
  await until("line 150", async () => {
    await page.mouse.wheel({ deltaY: -150 });
    return isSeen("[150]");
  });
  for (const width of [800, 640, 900]) {
    const before = await gridWidth();
    await page.setViewport({ width, height: 600 });
    // The display before the rows of the new width arrive proves nothing.
    await until("the new width", async () => (await gridWidth()) !== before);
    await until(`line 150 in a width of ${width}`, () => isSeen("[150]"));
  }
  await page.click(".newest");
  await until("the newest line", () =>
    page.evaluate(() => {
      const scroller = document.querySelector(".scroller");
      return scroller !== null && scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop < 2;
    }),
  );
});

browserTest("find goes from match to match over all history, with n of m", async () => {
  await gateway.create({ name: "finding", command: `/bin/sh -c 'seq -f "row %.0f end" ${LINES}; exec sleep 600'` });
  const { page, shows, faults } = await show(browser, gateway, "finding");
  await shows(`row ${LINES} end`);
  await page.keyboard.down("Control");
  await page.keyboard.down("Shift");
  await page.keyboard.press("KeyF");
  await page.keyboard.up("Shift");
  await page.keyboard.up("Control");
  await page.waitForSelector(".find input[type=text]");
  await page.keyboard.type("row 77");
  const wanted = Array.from({ length: LINES }, (_, index) => index + 1).filter((line) =>
    String(line).startsWith("77"),
  ).length;
  const count = () => page.$eval(".find .count", ({ textContent }) => textContent);
  await until("the newest match", async () => (await count()) === `${wanted} of ${wanted}`);
  await page.keyboard.press("Enter");
  await until("the match above it", async () => (await count()) === `${wanted - 1} of ${wanted}`);
  // Wraps around to the oldest.
  for (let at = wanted - 2; at >= 1; at--) {
    await page.keyboard.press("Enter");
    await until(`match ${at}`, async () => (await count()) === `${at} of ${wanted}`);
  }
  // The rows of a match are fetched after its number is known.
  const isSeen = () =>
    page.evaluate(() => {
      const found = Array.from(document.querySelectorAll(".scroller .row")).find(
        ({ textContent }) => textContent === "row 77 end",
      );
      const box = found?.getBoundingClientRect();
      const frame = document.querySelector(".scroller")?.getBoundingClientRect();
      return box !== undefined && frame !== undefined && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
    });
  await until("the match in sight", isSeen);
  await until("its highlight", () => page.evaluate(() => CSS.highlights.has("found")));
  expect(faults).toEqual([]);
});

browserTest("a selection over history and screen is copied with wrapped lines joined", async () => {
  const long = "abcdefghij".repeat(30);
  await gateway.create({ name: "copying", command: `/bin/sh -c 'seq 100; echo ${long}; seq 5; exec sleep 600'` });
  const { page, shows } = await show(browser, gateway, "copying");
  await shows(/^5$/m);
  await page.mouse.move(300, 300);
  await until("history", async () => {
    await page.mouse.wheel({ deltaY: -300 });
    return page.evaluate(() => document.querySelectorAll(".history .row").length > 50);
  });
  const text = await page.evaluate(() => {
    const rows = Array.from(document.querySelectorAll(".scroller .row"));
    const first = rows.find(({ textContent }) => textContent === "99");
    const last = rows.findLast(({ textContent }) => textContent === "2");
    if (first === undefined || last === undefined) return "";
    getSelection()?.setBaseAndExtent(first, 0, last, last.childNodes.length);
    const data = new DataTransfer();
    const event = new ClipboardEvent("copy", { clipboardData: data, bubbles: true, cancelable: true });
    first.dispatchEvent(event);
    return data.getData("text/plain");
  });
  expect(text).toBe(`99\n100\n${long}\n1\n2`);
});

browserTest("the mouse draws a selection over three screens, and what wraps is copied as one line", async () => {
  const long = "abcdefghij".repeat(30);
  const print = `seq 1 40; echo ${long}; seq 41 100`;
  await gateway.create({ name: "dragging", command: `/bin/sh -c '${print}; exec sleep 600'` });
  const { page, shows, faults } = await show(browser, gateway, "dragging");
  // A headless browser gives nobody its clipboard.
  await page.evaluate(() => {
    navigator.clipboard.writeText = async (text) => void document.body.setAttribute("data-copied", text);
  });
  await shows(/^100$/m);
  const { right, y, left, top } = await page.evaluate(() => {
    const row = Array.from(document.querySelectorAll(".screen .row")).findLast(
      ({ textContent }) => textContent === "99",
    );
    const box = row?.getBoundingClientRect();
    const pane = document.querySelector(".pane")?.getBoundingClientRect();
    if (box === undefined || pane === undefined) throw new Error("no row to begin at");
    return { right: box.left + 100, y: box.top + box.height / 2, left: pane.left, top: pane.top };
  });
  await page.mouse.move(right, y);
  await page.mouse.down();
  await page.mouse.move(right, top + 50, { steps: 3 });
  // Beyond the upper edge, over the head of the terminal: it scrolls by itself, up to the first line.
  await page.mouse.move(left, top - 15);
  await until("the first line in sight", () =>
    page.evaluate(
      () =>
        document.querySelector(".scroller")?.scrollTop === 0 &&
        document.querySelector(".history .row")?.textContent === "1",
    ),
  );
  await page.mouse.up();
  await page.keyboard.down("Control");
  await page.keyboard.down("Shift");
  await page.keyboard.press("KeyC");
  await page.keyboard.up("Shift");
  await page.keyboard.up("Control");
  const copied = () => page.evaluate(() => document.body.getAttribute("data-copied"));
  await until("the text on the clipboard", async () => (await copied()) !== null);
  const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);
  expect(await copied()).toBe([...numbers(1, 40), long, ...numbers(41, 99)].join("\n"));
  expect(faults).toEqual([]);
});

browserTest("two clicks select a path whole, three a line, also where it wraps", async () => {
  const path = `/usr/share/${"deeper-and-".repeat(20)}end.txt:12`;
  await gateway.create({ name: "clicking", command: `/bin/sh -c 'echo see "(${path})" there; exec sleep 600'` });
  const { page, shows, faults } = await show(browser, gateway, "clicking");
  await shows("there");
  await page.evaluate(() => {
    navigator.clipboard.writeText = async (text) => void document.body.setAttribute("data-copied", text);
  });
  const copied = async (row: number, count: number) => {
    const at = await page.evaluate((index) => {
      const box = document.querySelectorAll(".screen .row")[index]?.getBoundingClientRect();
      return { x: (box?.left ?? 0) + 60, y: (box?.top ?? 0) + 8 };
    }, row);
    await page.evaluate(() => document.body.removeAttribute("data-copied"));
    await page.mouse.click(at.x, at.y, { count });
    await page.keyboard.down("Control");
    await page.keyboard.down("Shift");
    await page.keyboard.press("KeyC");
    await page.keyboard.up("Shift");
    await page.keyboard.up("Control");
    const handle = await page.waitForFunction(() => document.body.getAttribute("data-copied"));
    return handle.jsonValue();
  };
  for (const row of [0, 1]) {
    expect(await copied(row, 2)).toBe(path);
    expect(await copied(row, 3)).toBe(`see (${path}) there`);
  }
  expect(faults).toEqual([]);
});

browserTest("a selection survives output below it", async () => {
  await gateway.create({ name: "selecting" });
  const { page, shows } = await show(browser, gateway, "selecting");
  await page.keyboard.type("echo keep-this; seq 10\r");
  await shows(/^10$/m);
  const box = await page.evaluate(() => {
    const row = Array.from(document.querySelectorAll(".screen .row")).find(
      ({ textContent }) => textContent === "keep-this",
    );
    const { left, top, height } = row?.getBoundingClientRect() ?? { left: 0, top: 0, height: 0 };
    return { x: left, y: top + height / 2 };
  });
  await page.mouse.move(box.x + 1, box.y);
  await page.mouse.down();
  await page.mouse.move(box.x + 9 * 8.5, box.y, { steps: 4 });
  await page.mouse.up();
  const selected = () => page.evaluate(() => getSelection()?.toString());
  const before = await selected();
  expect(before).toContain("keep-thi");
  await gateway.type("selecting", "seq 2000 2100\r");
  await until("the output", async () =>
    (await page.evaluate(() => document.querySelector(".screen")?.textContent ?? "")).includes("2100"),
  );
  expect(await selected()).toBe(before ?? "");
});
