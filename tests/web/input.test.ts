/** A person's input by keys, input method and clipboard reaches the program byte for byte. */
import { expect } from "bun:test";
import type { Page } from "puppeteer-core";
import type { Gateway } from "../support/server.ts";
import { until } from "../support/until.ts";
import { browserTest, type TestBrowser } from "./support/browser.ts";
import { beforeTests } from "./support/place.ts";
import { show } from "./support/shown.ts";

let gateway: Gateway;
let browser: TestBrowser;
beforeTests((...both) => {
  [gateway, browser] = both;
});

/** A session that writes every byte it reads to a file, in modes that it sets first. */
async function recorder(name: string, modes = ""): Promise<{ read(): Promise<string>; begin(): Promise<void> }> {
  const file = `${gateway.dir}/${name}.bytes`;
  await Bun.write(file, "");
  await gateway.create({
    name,
    command: `/bin/sh -c 'stty raw -echo; printf "${modes}recording"; exec cat > ${file}'`,
  });
  const read = async (): Promise<string> => (await Bun.file(file).text()).toString();
  return { read, begin: () => Bun.write(file, "").then(() => undefined) };
}

/** Presses keys held together: `Control+Shift+KeyA`. */
async function chord(page: Page, keys: string): Promise<void> {
  const parts = keys.split("+") as Parameters<Page["keyboard"]["press"]>[0][];
  for (const key of parts.slice(0, -1)) await page.keyboard.down(key);
  const last = parts.at(-1);
  if (last !== undefined) await page.keyboard.press(last);
  for (const key of parts.slice(0, -1).reverse()) await page.keyboard.up(key);
}

/** Bytes of each key in a terminal without modes: the table of xterm-256color. */
const plain: readonly (readonly [keys: string, bytes: string])[] = [
  ["a", "a"],
  ["Enter", "\r"],
  ["Tab", "\t"],
  ["Shift+Tab", "\x1b[Z"],
  ["Escape", "\x1b"],
  ["Backspace", "\x7f"],
  ["ArrowUp", "\x1b[A"],
  ["ArrowDown", "\x1b[B"],
  ["ArrowRight", "\x1b[C"],
  ["ArrowLeft", "\x1b[D"],
  ["Home", "\x1b[H"],
  ["End", "\x1b[F"],
  ["PageUp", "\x1b[5~"],
  ["PageDown", "\x1b[6~"],
  ["Insert", "\x1b[2~"],
  ["Delete", "\x1b[3~"],
  ["F1", "\x1bOP"],
  ["F4", "\x1bOS"],
  ["F5", "\x1b[15~"],
  ["F12", "\x1b[24~"],
  ["Control+c", "\x03"],
  ["Control+a", "\x01"],
  ["Control+z", "\x1a"],
  ["Control+Space", "\x00"],
  ["Alt+x", "\x1bx"],
  ["Alt+Enter", "\x1b\r"],
  ["Control+ArrowLeft", "\x1b[1;5D"],
  ["Shift+ArrowRight", "\x1b[1;2C"],
  ["Control+Alt+ArrowUp", "\x1b[1;7A"],
  ["Shift+F5", "\x1b[15;2~"],
  ["Control+Delete", "\x1b[3;5~"],
  ["Control+Backspace", "\b"],
  ["NumpadAdd", "+"],
];

async function typeAll(
  page: Page,
  table: readonly (readonly [string, string])[],
  read: () => Promise<string>,
): Promise<void> {
  let expected = await read();
  for (const [keys, bytes] of table) {
    await chord(page, keys);
    expected += bytes;
    await until(`${keys} to arrive`, async () => (await read()).length >= expected.length);
    expect([keys, await read()]).toEqual([keys, expected]);
  }
}

browserTest("what is typed is typed once, and what it prints is shown with colours", async () => {
  await gateway.create({ name: "typing" });
  const { page, shows, faults } = await show(browser, gateway, "typing");
  await shows(/^\$/m);
  await page.keyboard.type("printf '\\033[31mred\\033[0m %s\\n' $((40+2))");
  await page.keyboard.press("Enter");
  await shows("red 42");
  const color = await page.evaluate(
    () =>
      Array.from(document.querySelectorAll<HTMLElement>(".screen span")).find(
        ({ textContent }) => textContent === "red",
      )?.style.color,
  );
  expect(color).toBe("var(--color-1)");
  expect(faults).toEqual([]);
  expect(page.url()).not.toContain("t=");
});

browserTest("keys arrive as a terminal sends them", async () => {
  const { read } = await recorder("plain");
  const { page, shows } = await show(browser, gateway, "plain");
  await shows("recording");
  await typeAll(page, plain, read);
});

browserTest("keys arrive as the program has asked for them: application cursor keys and keypad", async () => {
  const { read } = await recorder("application", "\\033[?1h\\033=");
  const { page, shows } = await show(browser, gateway, "application");
  await shows("recording");
  await typeAll(
    page,
    [
      ["ArrowUp", "\x1bOA"],
      ["Home", "\x1bOH"],
      ["Control+ArrowUp", "\x1b[1;5A"],
      ["NumpadAdd", "\x1bOk"],
      ["NumpadEnter", "\x1bOM"],
    ],
    read,
  );
});

browserTest("keys arrive in the kitty protocol where a program asked for it", async () => {
  const { read } = await recorder("kitty", "\\033[>1u");
  const { page, shows } = await show(browser, gateway, "kitty");
  await shows("recording");
  await typeAll(
    page,
    [
      ["Escape", "\x1b[27u"],
      ["Control+c", "\x1b[99;5u"],
      ["Alt+x", "\x1b[120;3u"],
      ["Enter", "\r"],
      ["a", "a"],
    ],
    read,
  );
});

browserTest("AltGr types its character, with Ctrl and Alt, without them, or by its own name", async () => {
  const { read } = await recorder("altgr");
  const { page, shows } = await show(browser, gateway, "altgr");
  await shows("recording");
  const client = await page.createCDPSession();
  let expected = "";
  const arrived = async (what: string): Promise<void> => {
    await until(`${what} to arrive`, async () => (await read()).length >= expected.length);
    expect([what, await read()]).toEqual([what, expected]);
  };
  // A German keyboard: Linux sends no modifiers, a remote desktop Ctrl and Alt.
  const keys = [
    ["@", "KeyQ"],
    ["€", "KeyE"],
    ["{", "Digit7"],
    ["\\", "Minus"],
    ["~", "BracketRight"],
  ] as const;
  const CTRL_ALT = 3;
  for (const modifiers of [0, CTRL_ALT]) {
    for (const [key, code] of keys) {
      await client.send("Input.dispatchKeyEvent", { type: "keyDown", key, code, text: key, modifiers });
      await client.send("Input.dispatchKeyEvent", { type: "keyUp", key, code, modifiers });
      expected += key;
      await arrived(`${code} with modifiers ${modifiers}`);
    }
  }
  // Windows reports AltGr with Ctrl and Alt; no driver does, so the event is made here, and its text follows.
  for (const [key, code] of keys) {
    const isTaken = await page.evaluate(
      (pressed) =>
        document.activeElement?.dispatchEvent(
          new KeyboardEvent("keydown", {
            ...{ ...pressed, ctrlKey: true, altKey: true, modifierAltGraph: true },
            ...{ bubbles: true, cancelable: true },
          }),
        ) === false,
      { key, code },
    );
    expect(isTaken).toBe(false);
    await client.send("Input.insertText", { text: key });
    expected += key;
    await arrived(`${code} with AltGraph`);
  }
  await chord(page, "Control+Alt+KeyQ");
  expected += "\x1b\x11";
  await arrived("Ctrl+Alt+Q");
});

browserTest("an input method's text is typed once", async () => {
  const { read } = await recorder("ime");
  const { page, shows } = await show(browser, gateway, "ime");
  await shows("recording");
  const client = await page.createCDPSession();
  for (const text of ["n", "ni", "にh", "にほ", "にほん"]) {
    await client.send("Input.imeSetComposition", { text, selectionStart: text.length, selectionEnd: text.length });
  }
  expect(await read()).toBe("");
  await client.send("Input.insertText", { text: "日本" });
  await until("the text", async () => (await read()) !== "");
  await page.keyboard.press("a");
  await until("the key after it", async () => (await read()).endsWith("a"));
  expect(await read()).toBe("日本a");
});

browserTest(
  "a paste ends no bracket and carries no controls; several lines are asked about where nothing brackets them",
  async () => {
    const { read, begin } = await recorder("bracketed", "\\033[?2004h");
    const bracketed = await show(browser, gateway, "bracketed");
    await bracketed.shows("recording");
    const paste = (page: Page, text: string) =>
      page.evaluate((pasted) => {
        const data = new DataTransfer();
        data.setData("text/plain", pasted);
        document.activeElement?.dispatchEvent(
          new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }),
        );
      }, text);
    await paste(bracketed.page, "one\ntwo\x1b[201~\x07three");
    await until("the paste", async () => (await read()).endsWith("\x1b[201~"));
    expect(await read()).toBe("\x1b[200~one\rtwothree\x1b[201~");
    await begin();

    // An image becomes a file, whose path is pasted.
    await begin();
    await bracketed.page.evaluate(() => {
      const data = new DataTransfer();
      const gif = Uint8Array.from(atob("R0lGODlhAQABAAAAACwAAAAAAQABAAAC"), (c) => c.charCodeAt(0));
      data.items.add(new File([gif], "image.gif", { type: "image/gif" }));
      document.activeElement?.dispatchEvent(
        new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }),
      );
    });
    await until("the image's path", async () => (await read()).endsWith("\x1b[201~"));
    expect(await read()).toMatch(/\x1b\[200~\/[^\x1b]*\.gif\x1b\[201~$/);

    const bare = await recorder("bare");
    const { page, shows } = await show(browser, gateway, "bare");
    await shows("recording");
    await paste(page, "rm -rf a\nrm -rf b\n");
    await page.waitForSelector("dialog[aria-label=Paste]");
    expect(await bare.read()).toBe("");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog[aria-label=Paste]", { hidden: true });
    await page.waitForSelector(".terminal.focused");
    await paste(page, "one\ntwo\n");
    await page.waitForSelector("dialog[aria-label=Paste] .primary");
    expect(await page.$eval("dialog[aria-label=Paste] h2", ({ textContent }) => textContent)).toBe("Paste 2 lines?");
    await page.click("dialog[aria-label=Paste] .primary");
    await until("the paste", async () => (await bare.read()) !== "");
    expect(await bare.read()).toBe("one\rtwo\r");
  },
);

browserTest("a program that asks for the mouse gets it, and Shift keeps it for the page", async () => {
  const { read } = await recorder("mouse", "\\033[?1002h\\033[?1006h");
  const { page, shows } = await show(browser, gateway, "mouse");
  await shows("recording");
  await until("the mode", () => page.evaluate(() => document.querySelector(".pane") !== null));
  const at = await page.evaluate(() => {
    const { left, top } = document.querySelector(".grid")?.getBoundingClientRect() ?? { left: 0, top: 0 };
    const style = getComputedStyle(document.documentElement);
    const side = (name: string) => Number.parseFloat(style.getPropertyValue(name));
    return { left, top, width: side("--cell-width"), height: side("--cell-height") };
  });
  const cell = (row: number, col: number) =>
    [at.left + (col + 0.5) * at.width, at.top + (row + 0.5) * at.height] as const;
  await page.mouse.move(...cell(4, 9));
  await page.mouse.down();
  await page.mouse.move(...cell(4, 12));
  await page.mouse.up();
  await page.mouse.wheel({ deltaY: 120 });
  const reports = `\x1b[<0;10;5M\x1b[<32;13;5M\x1b[<0;13;5m${"\x1b[<65;13;5M".repeat(3)}`;
  await until("the reports", async () => (await read()).length >= reports.length);
  expect(await read()).toBe(reports);
  const before = await read();
  await page.keyboard.down("Shift");
  await page.mouse.move(...cell(0, 0));
  await page.mouse.down();
  await page.mouse.move(...cell(0, 9), { steps: 3 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  expect(await page.evaluate(() => getSelection()?.toString())).toContain("recordin");
  expect(await read()).toBe(before);
});

browserTest("a dialog has the keys as soon as it is there: what is typed then is not the program's", async () => {
  await gateway.create({ name: "below" });
  const { page } = await show(browser, gateway, "below");
  await page.evaluate(() => {
    const look = (): void => {
      const dialog = document.querySelector("dialog");
      if (dialog !== null) document.body.dataset.dialog ??= `${dialog.open} ${dialog.contains(document.activeElement)}`;
    };
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  });
  await page.click("button[aria-label='New session']");
  await page.waitForSelector("body[data-dialog]");
  expect(await page.evaluate(() => document.body.dataset.dialog)).toBe("true true");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { hidden: true });
});

browserTest("programs are told the page's own background, and that it has kitty's keyboard protocol", async () => {
  const file = `${gateway.dir}/told.bytes`;
  const ask = String.raw`printf "\033]11;?\033\\\\\033[?996n\033[?u"`;
  await gateway.create({
    name: "told",
    command: `/bin/sh -c 'stty raw -echo; printf ready; head -c 1 >/dev/null; ${ask}; exec cat > ${file}'`,
  });
  const { page, shows } = await show(browser, gateway, "told");
  await shows("ready");
  const ground = await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--ground"));
  const [r, g, b] = [1, 3, 5].map((at) =>
    ground
      .trim()
      .slice(at, at + 2)
      .repeat(2),
  );
  await page.keyboard.press("a");
  const wanted = `\x1b]11;rgb:${r}/${g}/${b}\x1b\\\x1b[?997;2n\x1b[?0u`;
  const read = (): Promise<string> =>
    Bun.file(file)
      .text()
      .catch(() => "");
  await until("the answers", async () => (await read()).endsWith("u"));
  expect(await read()).toBe(wanted);
});
