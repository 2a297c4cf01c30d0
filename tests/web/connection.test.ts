/** A page when the server goes, when another size decides, and when others write or ask. */
import { expect } from "bun:test";
import { Gateway, lastingPort, TOKEN } from "../support/server.ts";
import { until } from "../support/until.ts";
import { browserTest, PAGE_MS, type TestBrowser } from "./support/browser.ts";
import { beforeTests } from "./support/place.ts";
import { open, show } from "./support/shown.ts";

/** Longest time until a page is live again after its server, in ms: on a machine at rest two seconds. */
const RECONNECT_MS = process.env.WSH_TEST_FULL === undefined ? PAGE_MS : 2_000;
/** Longest time in which a page notices that its server has stalled, in ms: two seconds on a machine at rest. */
const SILENT_MS = process.env.WSH_TEST_FULL === undefined ? PAGE_MS : 2_000;

let gateway: Gateway;
let browser: TestBrowser;
beforeTests((...both) => {
  [gateway, browser] = both;
});

browserTest("kill -9 of the server: the same tab is live again, and nothing is typed twice", async () => {
  const port = lastingPort();
  await using own = await Gateway.start({ args: ["--bind", `127.0.0.1:${port}`] });
  const file = `${own.dir}/typed`;
  await own.create({
    name: "typed",
    command: `/bin/sh -c 'for at in $(seq 200); do echo line $at; done; stty raw -echo; printf ready; exec cat > ${file}'`,
  });
  const { page, shows, faults } = await open(browser, own, "typed");
  await shows("ready");
  const typed = async (): Promise<string> =>
    Bun.file(file)
      .text()
      .catch(() => "");
  await page.keyboard.type("before ");
  await until("what was typed", async () => (await typed()) === "before ");
  await own.end("SIGKILL");
  await page.waitForSelector(".tile > .lost");
  await page.waitForSelector(".connection.lost");
  // Below the list, in view.
  expect(
    await page.$eval(".connection", (words) => {
      const { left, top, width, height } = words.getBoundingClientRect();
      return document.elementFromPoint(left + width / 2, top + height / 2)?.closest("footer") != null;
    }),
  ).toBe(true);
  // While the server is away for a moment, a person keeps typing.
  await page.keyboard.type("meanwhile ");
  await own.serve();
  await page.waitForSelector(".tile .dot.live");
  await page.keyboard.type("after");
  await until("all that was typed", async () => (await typed()).endsWith("after"));
  expect(await typed()).toMatch(/^before (meanwhile )?after$/);

  // A stalled server closes nothing: the page notices, and input waits visibly, and can be discarded.
  // The list has a separate connection, which may return after the terminal's; a missing one is never silent.
  await page.waitForSelector(".connection.live");
  const before = await typed();
  own.signal("SIGSTOP");
  try {
    await page.waitForSelector(".connection.silent", { timeout: SILENT_MS });
    await page.waitForSelector(".tile > .lost", { timeout: SILENT_MS });
    await page.keyboard.type("dropped");
    await page.waitForFunction(() => /^7 characters pending/.test(document.querySelector(".held")?.textContent ?? ""));
    await page.evaluate(() => document.querySelector<HTMLElement>(".held + button")?.click());
    await page.waitForSelector(".held", { hidden: true });
    await page.evaluate(() => document.querySelector<HTMLElement>(".text-input")?.focus());
    await page.keyboard.type("held");
    await page.waitForFunction(() => /^4 characters pending/.test(document.querySelector(".held")?.textContent ?? ""));
  } finally {
    own.signal("SIGCONT");
  }
  await page.waitForSelector(".tile .dot.live");
  await page.waitForSelector(".connection.live");
  await page.keyboard.type(" on");
  await until("what waited, once", async () => (await typed()).endsWith(" on"));
  expect(await typed()).toBe(`${before}held on`);

  // The person's scroll position stays, too.
  await page.evaluate(() => {
    const scroller = document.querySelector(".scroller");
    scroller?.dispatchEvent(new WheelEvent("wheel", { deltaY: -100, bubbles: true }));
  });
  await page.waitForSelector(".history .row");
  const top = () =>
    page.evaluate(() => {
      const edge = document.querySelector(".scroller")?.getBoundingClientRect().top ?? 0;
      const row = Array.from(document.querySelectorAll(".pane .row")).find(
        (each) => each.getBoundingClientRect().top >= edge - 1,
      );
      return row?.textContent?.trim() ?? "";
    });
  await until("line 150 at the top", async () => {
    await page.evaluate(() => {
      const row = Array.from(document.querySelectorAll(".history .row")).find(
        ({ textContent }) => textContent?.trim() === "line 150",
      );
      row?.scrollIntoView({ block: "start" });
    });
    return (await top()) === "line 150";
  });
  // The page knows that a person reads history.
  await page.waitForSelector(".newest");
  await own.end("SIGKILL");
  await page.waitForSelector(".tile > .lost");
  await own.serve();
  await page.waitForSelector(".tile .dot.live", { timeout: RECONNECT_MS });
  expect(await top()).toBe("line 150");
  expect(await page.evaluate(() => performance.getEntriesByType("navigation").length)).toBe(1);
  expect(faults.filter((fault) => !fault.includes("WebSocket"))).toEqual([]);
});

browserTest("a page that follows leaves the session's size alone, one that fits sets it", async () => {
  await gateway.create({ name: "sized", rows: 33, cols: 111 });
  await show(browser, gateway, "sized");
  const size = async () => {
    const { rows, cols } = (await (await gateway.unix("/sessions/sized")).json()) as { rows: number; cols: number };
    return [rows, cols];
  };
  await until("the page's own size", async () => (await size())[1] !== 111);
  const { page } = await browser.pageFor(gateway.origin);
  await page.evaluateOnNewDocument(() => localStorage.setItem("wsh.settings", JSON.stringify({ size: "follow" })));
  await gateway.create({ name: "followed", rows: 33, cols: 111 });
  await page.goto(`${gateway.origin}/#t=${TOKEN}&session=followed`);
  await page.waitForSelector(".tile .dot.live");
  const shows = (text: string) =>
    page.waitForFunction((wanted) => document.querySelector(".screen")?.textContent?.includes(wanted), {}, text);
  await shows("$");
  await page.waitForSelector(".terminal.focused");
  await page.keyboard.type("stty size\r");
  await shows("33 111");
});

browserTest("panes, overlays and panels are shown as in the terminal, and leave nothing behind", async () => {
  await gateway.create({ name: "drawn" });
  const { page, shows, faults } = await show(browser, gateway, "drawn");
  await shows(/^\$/m);
  const text = () => page.evaluate(() => document.querySelector(".grid")?.textContent ?? "");
  const before = await text();
  const overlay = { x: 10, y: 5, width: 20, height: 3, background: "blue", spans: [{ text: "an overlay" }] };
  const { id } = (await (await gateway.unix("/sessions/drawn/overlay", { json: overlay })).json()) as { id: string };
  await until("the overlay", async () => (await text()).includes("an overlay"));
  const panel = { position: "bottom", height: 1, spans: [{ text: "a panel" }] };
  const made = (await (await gateway.unix("/sessions/drawn/panel", { json: panel })).json()) as { id: string };
  await until("the panel", async () => (await text()).includes("a panel"));
  await gateway.unix(`/sessions/drawn/overlay/${id}`, { method: "DELETE" });
  await gateway.unix(`/sessions/drawn/panel/${made.id}`, { method: "DELETE" });
  await until("both gone", async () => (await text()) === before);
  await gateway.unix("/sessions/drawn/panes", { json: { direction: "right" } });
  await until("two panes", () => page.evaluate(() => document.querySelectorAll(".pane").length === 2));
  const width = () => page.evaluate(() => document.querySelector<HTMLElement>(".pane")?.offsetWidth ?? 0);
  const wide = await width();
  const border = await page.waitForSelector(".border.right");
  const box = await border?.boundingBox();
  if (box == null) throw new Error("no border to drag");
  await page.mouse.move(box.x + box.width / 2, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x - 100, box.y + 50, { steps: 5 });
  await page.mouse.up();
  await until("the pane to be narrower", async () => (await width()) < wide - 50);
  // A floating pane is above the others, gets clicks and keys, and is dragged by its upper edge.
  await gateway.unix("/sessions/drawn/panes", {
    json: { float: true, x: 5, y: 3, width: 30, height: 6, command: "echo floating; exec cat" },
  });
  const floating = async () => {
    const panes = await (await gateway.unix("/sessions/drawn/panes")).json();
    return (panes as { z?: number; row: number; col: number; active: boolean }[]).find(({ z }) => z === 1);
  };
  await until("the floating pane", async () => (await text()).includes("floating"));
  const inside = await page.waitForSelector(".pane[style*='z-index: 1']");
  const above = await inside?.boundingBox();
  if (above == null) throw new Error("no floating pane");
  await page.mouse.click(above.x + 40, above.y + above.height / 2);
  await until("its focus", async () => (await floating())?.active === true);
  await page.keyboard.type("into it\r");
  await until(
    "what was typed, twice",
    async () => ((await inside?.evaluate((node) => node.textContent)) ?? "").split("into it").length === 3,
  );
  const title = await (await page.waitForSelector(".border.move"))?.boundingBox();
  if (title == null) throw new Error("no title to drag");
  await page.mouse.move(title.x + 60, title.y + title.height / 2);
  await page.mouse.down();
  await page.mouse.move(title.x + 60 + title.height * 4, title.y + title.height * 3.5, { steps: 4 });
  await page.mouse.up();
  await until(
    "it further down",
    async () => ((await floating())?.row ?? 0) === 7 && ((await floating())?.col ?? 0) > 9,
  );
  // A popup gets all keys of the page, and returns its program's output.
  const popup = gateway.unix("/sessions/drawn/popup", {
    json: { command: 'printf "pick: " >/dev/tty; read x </dev/tty; echo "got $x"; exit 3', print: true },
  });
  await until("the popup", async () => (await text()).includes("pick: "));
  await page.keyboard.type("this\r");
  expect(await (await popup).json()).toMatchObject({ exit_code: 3, output: "got this\n" });
  await until("its end", async () => !(await text()).includes("pick: "));
  expect(faults).toEqual([]);
});

browserTest("an agent's question is answered by keys, and by touch", async () => {
  await gateway.create({ name: "asked" });
  const { page, shows } = await show(browser, gateway, "asked");
  await shows(/^\$/m);
  const ask = () =>
    gateway.unix("/sessions/asked/ask", {
      json: { question: "Which one?", choices: ["first", "second"], max_wait_ms: 20_000 },
    });
  const text = () => page.evaluate(() => document.querySelector(".grid")?.textContent ?? "");
  const byKeys = ask();
  await until("the dialog", async () => (await text()).includes("Which one?"));
  // A dialog takes keys a moment after it has opened, and then shows them.
  await until("the dialog that takes keys", async () => (await text()).includes("Esc dismisses"));
  await page.keyboard.press("2");
  await until("the second to be chosen", async () => (await text()).includes("2 > second"));
  await page.keyboard.press("Enter");
  expect(await (await byKeys).json()).toMatchObject({ state: "answered", answer: "second", answered_by: "terminal" });

  await until("the dialog gone", async () => !(await text()).includes("Which one?"));
  const byTouch = ask();
  await until("the dialog again", async () => (await text()).includes("Which one?"));
  await page.waitForSelector(".session .question");
  await until("the answer by touch", async () => {
    const at = await page.evaluate(() => {
      const row = Array.from(document.querySelectorAll(".row")).find(
        ({ textContent }) => textContent?.includes("first") === true,
      );
      const range = document.createRange();
      const walker = row === undefined ? null : document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
      for (let node = walker?.nextNode(); node != null; node = walker?.nextNode()) {
        const index = node.textContent?.indexOf("first") ?? -1;
        if (index < 0) continue;
        range.setStart(node, index);
        range.setEnd(node, index + 5);
        const { x, y, width, height } = range.getBoundingClientRect();
        return { x: x + width / 2, y: y + height / 2 };
      }
      return null;
    });
    if (at !== null) await page.touchscreen.tap(at.x, at.y);
    return Promise.race([byTouch.then(() => true), Bun.sleep(500).then(() => false)]);
  });
  expect(await (await byTouch).json()).toMatchObject({ state: "answered", answer: "first", answered_by: "terminal" });
});

browserTest("sessions are made, renamed, tagged, and ended with time to take it back", async () => {
  await gateway.create({ name: "first" });
  const { page, shows, faults } = await open(browser, gateway, "first");
  await shows(/^\$/m);
  await page.click("button[aria-label='New session']");
  await page.waitForSelector("dialog[aria-label='New session'] input");
  await page.keyboard.type("made-here");
  await page.keyboard.press("Enter");
  await page.waitForSelector("[data-session='made-here'].active");
  // Not at a position: rows grow while others' first miniatures come.
  const act = (session: string, action: string) =>
    page.$eval(`[data-session='${session}'] [aria-label^='${action}']`, (button) => (button as HTMLElement).click());
  await act("made-here", "Rename");
  await page.waitForSelector("dialog[aria-label=Rename] input");
  await page.$eval("dialog[aria-label=Rename] input", (input) => input.select());
  await page.keyboard.type("first");
  await page.keyboard.press("Enter");
  // Why it is refused can be read above the dialog, which stays.
  await page.waitForFunction(() => {
    const message = document.querySelector(".toast.error span");
    const { left, top, width, height } = message?.getBoundingClientRect() ?? new DOMRect();
    const topmost = document.elementFromPoint(left + width / 2, top + height / 2);
    return message?.textContent?.includes("first") === true && topmost === message;
  });
  await page.$eval("dialog[aria-label=Rename] input", (input) => input.select());
  await page.keyboard.type("renamed");
  await page.keyboard.press("Enter");
  await page.waitForSelector("[data-session=renamed]");
  await act("renamed", "End");
  await page.waitForSelector("[data-session=renamed].ending");
  const undo = await page.waitForSelector(".toast button");
  await undo?.click();
  await page.waitForSelector("[data-session=renamed]:not(.ending)");
  await act("renamed", "End");
  await until("the end", async () => (await gateway.unix("/sessions/renamed")).status === 404);
  await page.waitForSelector("[data-session=renamed]", { hidden: true });
  expect(faults).toEqual([]);
  // A page that is closed takes nothing back: its request is carried out.
  await act("first", "End");
  await page.waitForSelector("[data-session=first].ending");
  await page.goto("about:blank");
  await until("the end", async () => (await gateway.unix("/sessions/first")).status === 404);
});

browserTest("the palette finds what can be done, and does it", async () => {
  await gateway.create({ name: "palette" });
  const { page, shows } = await show(browser, gateway, "palette");
  await shows(/^\$/m);
  await page.keyboard.down("Control");
  await page.keyboard.down("Shift");
  await page.keyboard.press("KeyP");
  await page.keyboard.up("Shift");
  await page.keyboard.up("Control");
  await page.waitForSelector(".palette input");
  await page.keyboard.type("split right");
  await page.waitForFunction(() =>
    document.querySelector(".palette [aria-selected=true]")?.textContent?.includes("Split to the right"),
  );
  // Input right after it is for the new pane, and stays in order.
  await page.keyboard.press("Enter");
  await page.keyboard.type("echo by-palette\r");
  const panes = () =>
    page.evaluate(() => Array.from(document.querySelectorAll(".pane .screen"), ({ textContent }) => textContent ?? ""));
  await until("two panes", async () => (await panes()).length === 2);
  await until("what was typed", async () => (await panes()).some((text) => /by-palette.*by-palette/s.test(text)));
  await page.evaluate(() => {
    document.querySelector<HTMLElement>("[aria-label='Split below']")?.click();
    const init = { inputType: "insertText", data: "echo by-button\n", bubbles: true, cancelable: true };
    document.activeElement?.dispatchEvent(new InputEvent("beforeinput", init));
  });
  await until("three panes", async () => (await panes()).length === 3);
  await until("what was typed", async () => (await panes()).some((text) => /by-button.*by-button/s.test(text)));
  const typed = (await panes()).map((text) => /by-(palette|button)/.exec(text)?.[0]);
  expect(typed).toEqual([undefined, "by-palette", "by-button"]);

  // Letters that match a destructive operation never select it before all others; it names the loss, and asks.
  await page.click("[aria-label=Palette]");
  await page.waitForSelector(".palette input");
  await page.keyboard.type("history");
  // The list of all actions begins with the sessions.
  await page.waitForFunction(() =>
    /history/i.test(document.querySelector(".palette [role=option]")?.textContent ?? ""),
  );
  await page.waitForFunction(() => document.querySelectorAll(".palette [role=option]").length > 2);
  const names = await page.$$eval(".palette [role=option]", (all) => all.map(({ textContent }) => textContent ?? ""));
  expect(names[0]).not.toContain("Clear");
  expect(names.findIndex((name) => name.includes("Clear screen"))).toBeGreaterThan(1);
  await page.$eval(".palette input", (input) => input.select());
  await page.keyboard.type("clear");
  await page.waitForFunction(() =>
    document.querySelector(".palette [aria-selected=true]")?.textContent?.includes("Clear screen"),
  );
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog[aria-label=Confirm]");
  expect(await page.$eval("dialog[aria-label=Confirm]", ({ textContent }) => textContent)).toMatch(/\d+ lines above/);
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog", { hidden: true });
  expect((await panes())[2]).toContain("by-button");

  await gateway.ok("buffer", "set", "echo from-a-buffer");
  await page.waitForSelector(".terminal.focused");
  await page.keyboard.down("Control");
  await page.keyboard.press("Backslash");
  await page.keyboard.up("Control");
  await page.keyboard.press("=");
  await page.waitForSelector(".palette [role=option]");
  await page.waitForFunction(() =>
    document.querySelector(".palette [aria-selected=true]")?.textContent?.includes("echo from-a-buffer"),
  );
  await page.keyboard.press("Enter");
  await until("what was pasted", async () => (await panes()).some((text) => text.includes("echo from-a-buffer")));
});

browserTest("a screen reader finds the screen's lines and where it can go", async () => {
  await gateway.create({ name: "read-aloud" });
  const { page, shows } = await show(browser, gateway, "read-aloud");
  await page.keyboard.type("echo spoken-line\r");
  await shows(/^spoken-line$/m);
  const tree = JSON.stringify(await page.accessibility.snapshot({ interestingOnly: false }));
  expect(tree).toContain("spoken-line");
  expect(tree).toContain("Terminal input");
  expect(tree).toContain("New session");
  // The key that leaves the terminal, which takes Tab for itself.
  await page.keyboard.down("Control");
  await page.keyboard.down("Shift");
  await page.keyboard.press("KeyL");
  await page.keyboard.up("Shift");
  await page.keyboard.up("Control");
  const focused = () =>
    page.evaluate(() => document.activeElement?.closest("[data-session]")?.getAttribute("data-session"));
  expect(await focused()).toBe("read-aloud");
  // Arrows go from session to session, Escape back to the terminal.
  await gateway.create({ name: "read-aloud-2" });
  await page.waitForSelector("[data-session=read-aloud-2]");
  await page.keyboard.press("ArrowDown");
  expect(await focused()).toBe("read-aloud-2");
  await page.keyboard.press("ArrowUp");
  expect(await focused()).toBe("read-aloud");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".terminal.focused");
});

browserTest(
  "on a phone: a swipe looks back or scrolls a full-screen program; the prompt stays above the keyboard, whose bar types; the list is a drawer",
  async () => {
    const file = `${gateway.dir}/swipes.bytes`;
    await Bun.write(file, "");
    const full = `stty raw -echo; printf "\\033[?1049hfull screen"; exec cat > ${file}`;
    await gateway.create({ name: "swipe", command: `/bin/sh -c 'seq 300; echo at-the-end; read go; ${full}'` });
    const { page } = await browser.page();
    await page.setViewport({ width: 390, height: 844, isMobile: true, hasTouch: true, deviceScaleFactor: 2 });
    await page.goto(`${gateway.origin}/#t=${TOKEN}&session=swipe`);
    await page.waitForFunction(() => document.querySelector(".screen")?.textContent?.includes("at-the-end"));
    const client = await page.createCDPSession();
    const swipe = async (from: number, to: number) => {
      const at = (y: number) => [{ x: 150, y, id: 0 }];
      await client.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: at(from) });
      for (let step = 1; step <= 10; step++) {
        const y = from + ((to - from) * step) / 10;
        await client.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: at(y) });
      }
      await client.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    };
    // Down over the terminal: to earlier output.
    await until("rows of the history in sight", async () => {
      await swipe(80, 240);
      return page.evaluate(() => {
        const scroller = document.querySelector(".scroller");
        const edge = scroller?.getBoundingClientRect().top ?? 0;
        const top = Array.from(document.querySelectorAll(".history .row")).find(
          (row) => row.getBoundingClientRect().top >= edge,
        );
        return top !== undefined;
      });
    });

    // The keyboard covers the lower half: no driver can show one, so its size is reported as a phone reports it.
    await page.tap(".pane");
    await page.waitForSelector(".terminal.focused");
    await client.send("Input.insertText", { text: "typed" });
    await page.waitForFunction(() => document.querySelector(".screen")?.textContent?.includes("typed"));
    await page.evaluate(() => {
      Object.defineProperty(visualViewport, "height", { value: 420, configurable: true });
      visualViewport?.dispatchEvent(new Event("resize"));
    });
    await until("the prompt and the keys above the keyboard", () =>
      page.evaluate(() => {
        const bottom = (selector: string) => document.querySelector(selector)?.getBoundingClientRect().bottom ?? 9999;
        return bottom(".key-bar") <= 421 && bottom(".cursor") <= 421 && bottom(".cursor") > 0;
      }),
    );
    await page.evaluate(() => {
      Object.defineProperty(visualViewport, "height", { value: 844, configurable: true });
      visualViewport?.dispatchEvent(new Event("resize"));
    });
    await page.tap(".key-bar [aria-label='Escape']");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".screen")?.textContent?.includes("full screen"));
    await until("arrows in the program, and nothing else", async () => {
      await swipe(220, 60);
      return /^(\x1b\[B)+$/.test(await Bun.file(file).text());
    });

    // The key bar types, and its Ctrl holds for the next key.
    const typed = `${gateway.dir}/phone.bytes`;
    await gateway.create({ name: "phone", command: `/bin/sh -c 'stty raw -echo; printf ready; exec cat > ${typed}'` });
    await page.waitForSelector("[data-session=phone]");
    await page.evaluate(() => {
      location.hash = "session=phone";
    });
    // Before that the terminal would take the keys: Ctrl+C would end the program.
    await page.waitForFunction(() => document.querySelector(".screen")?.textContent?.includes("ready"));
    await page.tap(".pane");
    await page.waitForSelector(".terminal.focused");
    for (const label of ["Escape", "Up"]) await page.tap(`.key-bar [aria-label='${label}']`);
    await page.tap(".key-bar button");
    await page.waitForSelector(".key-bar [aria-pressed=true]");
    await page.keyboard.press("c");
    // A phone's keyboard reports no keys: only text and deletions.
    await client.send("Input.insertText", { text: "x" });
    await until("what was typed", async () =>
      (
        await Bun.file(typed)
          .text()
          .catch(() => "")
      ).endsWith("x"),
    );
    expect(await Bun.file(typed).text()).toBe("\x1b\x1b[A\x03x");
    // Two fingers apart: a larger font.
    const fontSize = () => page.$eval(".grid", (grid) => Number.parseFloat(getComputedStyle(grid).fontSize));
    const small = await fontSize();
    const fingers = (apart: number) => [150, 150 + apart].map((x, id) => ({ x, y: 300, id }));
    await client.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: fingers(60) });
    await client.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: fingers(90) });
    await client.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    await until("a larger font", async () => (await fontSize()) > small);
    await page.tap(".menu");
    await page.waitForSelector(".drawer-open [data-session=phone]");
  },
);
