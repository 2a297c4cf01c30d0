/** Attaching again, falling behind, and detaching: the terminal has the right content, and is restored at the end. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { SessionInfo } from "../../src/protocol/session.ts";
import { Canvas } from "../support/drawing-api.ts";
import { stopProcess } from "../support/processes.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { hasTmux, PersonTerminal } from "../support/terminals/tmux-terminal.ts";
import { until } from "../support/until.ts";
import { hostOf, Wsh } from "../support/wsh.ts";

/** The instance of the tests without settings, with a server for what they draw; each has a session of its own. */
const wsh = new Wsh();
beforeAll(() => wsh.server());
afterAll(() => wsh[Symbol.asyncDispose]());

/** A program that leaves every mode set that a terminal has. It is one process: once it has printed, keys interrupt it. */
const MESS =
  "(printf '\\033[?1049h\\033[?1;5;9;1000;1002;1003;1004;1006;2004h\\033=\\033[4h\\033[5;10r\\033[?6h\\033[?7l\\033[?25l\\033(0\\033[31;44;1m\\033]0;mess\\007\\033[3 qlqk'; exec sleep 1000)";

/** The terminal has none of these modes. */
function expectRestored(terminal: EmulatorTerminal): void {
  const { buffer, modes } = terminal.screen.terminal;
  expect(buffer.active.type).toBe("normal");
  expect(modes).toMatchObject({
    applicationCursorKeysMode: false,
    applicationKeypadMode: false,
    bracketedPasteMode: false,
    insertMode: false,
    mouseTrackingMode: "none",
    originMode: false,
    sendFocusMode: false,
    wraparoundMode: true,
  });
  // Reverse video, the cursor and its shape are not in the emulator's modes: the last sequence counts.
  expect(terminal.bytes.match(/\x1b\[\?5[hl]/g)?.at(-1)).toBe("\x1b[?5l");
  expect(terminal.bytes.match(/\x1b\[\?25[hl]/g)?.at(-1)).toBe("\x1b[?25h");
  expect(terminal.bytes.match(/\x1b\[\d q/g)?.at(-1)).toBe("\x1b[0 q");
}

describe("the terminal is restored on every way out", () => {
  const ways: [
    name: string,
    leave: (terminal: EmulatorTerminal, session: SessionInfo) => Promise<unknown> | unknown,
    code: number,
  ][] = [
    ["detach", (terminal) => terminal.type("\x1c\x1c"), 0],
    ["the program's end", (terminal) => terminal.type("\x03exit 5\r"), 5],
    ["kill", (_, { name }) => wsh.ok("kill", name), 1],
    ["SIGHUP", (terminal) => process.kill(terminal.pid, "SIGHUP"), 129],
    ["SIGTERM", (terminal) => process.kill(terminal.pid, "SIGTERM"), 143],
    ["kill -9 of the host", (_, { pid }) => process.kill(hostOf(pid), "SIGKILL"), 1],
  ];
  for (const [name, leave, code] of ways) {
    for (const drawn of [false, true]) {
      test(`${name}, ${drawn ? "rendered" : "passed through"}`, async () => {
        const session = await wsh.session(`${name.replaceAll(/\W/g, "-")}-${drawn}`);
        await using terminal = await EmulatorTerminal.attach(wsh, session.name);
        terminal.type(`${MESS}\r`);
        await terminal.sees(/┌─┐/);
        if (drawn) {
          await new Canvas(wsh, session.name).overlay({ x: 40, y: 1, width: 5, height: 1, spans: [{ text: "DRAWN" }] });
          await terminal.sees("DRAWN");
        }
        await leave(terminal, session);
        expect(await terminal.ended()).toBe(code);
        const text = await terminal.sees("[");
        expect(text).not.toContain("DRAWN");
        expectRestored(terminal);
      });
    }
  }

  test.skipIf(!hasTmux)("after kill -9 of the client itself, by wsh reset-terminal", async () => {
    await wsh.session("mess");
    await using person = await PersonTerminal.open(wsh);
    await person.run("wsh attach mess");
    await person.sees(/^\$ ?$/m);
    await person.type(MESS.replace("\\033[4h\\033[5;10r\\033[?6h", ""));
    await until("the mess", async () => (await person.fact("mouse_any_flag")) === "1");
    process.kill(await person.clientPid(), "SIGKILL");
    await until("the client's end", async () => (await person.fact("pane_current_command")) === "bash");
    await person.type("wsh reset-terminal");
    const is = (flag: string, value: string) =>
      until(`${flag} to be ${value}`, async () => (await person.fact(flag)) === value);
    const off = ["alternate_on", "mouse_any_flag", "keypad_flag", "keypad_cursor_flag", "insert_flag", "origin_flag"];
    for (const flag of off) await is(flag, "0");
    for (const flag of ["cursor_flag", "wrap_flag"]) await is(flag, "1");
    await person.run("stty -a | grep -o ' echo '; echo visible");
    await person.sees(/^visible$/m);
  });
});

describe("what reaches the terminal", () => {
  // The answers arrive as input, which is read up to the end of the last one (the cursor's position) and discarded.
  const print =
    "stty -echo; printf '\\033]0;a title\\007\\033]52;c;Y29waWVk\\007\\033[c\\033]11;?\\007\\033[>q\\033[6n'; read -rsd R x; stty echo; echo done\r";

  for (const rendered of [false, true]) {
    const flags = rendered ? ["--alt-screen"] : [];
    const how = rendered ? "rendered" : "passed through";

    test(`${how}: settings decide titles and clipboard; queries never pass`, async () => {
      const { name } = await wsh.session(`seen-${rendered}`);
      await using terminal = await EmulatorTerminal.attach(wsh, name, { flags });
      terminal.forgetBytes();
      terminal.type(print);
      await terminal.sees(/^done\n\$/m);
      await until(
        "title and clipboard",
        () => /\x1b\][02];a title/.test(terminal.bytes) && /\x1b\]52;c;Y29waWVk/.test(terminal.bytes),
      );
      expect(terminal.bytes).not.toMatch(/\x1b\[c|\x1b\]11;\?|\x1b\[6n|\x1b\[>q/);
      expect(terminal.bytes.split("\x1b]52;c;Y29waWVk")).toHaveLength(2);
    });

    test(`${how}: neither when they are off, also after attaching again`, async () => {
      await using wsh = new Wsh({ config: "title = 'off'\nclipboard = 'off'\n" });
      await wsh.session("s");
      await using terminal = await EmulatorTerminal.attach(wsh, "s", { flags });
      terminal.type(print);
      await terminal.sees(/^done\n\$/m);
      await using again = await EmulatorTerminal.attach(wsh, "s", { flags });
      again.type("printf '\\033[22;0t\\033[23;0tend\\n'\r");
      await again.sees(/^end$/m);
      for (const { bytes } of [terminal, again])
        expect(bytes).not.toMatch(/\x1b\][02];a title|\x1b\]52|\x1b\[2[23];0t/);
      // The session still knows its title.
      expect((await wsh.list())[0]?.title).toBe("a title");
    });

    test(`${how}: the program's modes, reverse video among them`, async () => {
      const { name } = await wsh.session(`modes-${rendered}`);
      await using terminal = await EmulatorTerminal.attach(wsh, name, { flags });
      terminal.type("printf '\\033[?5;1000;1006h\\033[?1h\\033[5 q'; echo set; sleep 1000\r");
      await terminal.sees(/^set$/m);
      const modes = () => terminal.screen.terminal.modes;
      await until("the mouse", () => modes().mouseTrackingMode === "vt200");
      const last = (sequence: RegExp) => terminal.bytes.match(sequence)?.at(-1) ?? "";
      await until("reverse video", () => last(/\x1b\[\?5(?:;[\d;]*)?[hl]/g).endsWith("h"));
      await until("the cursor's shape", () => last(/\x1b\[\d q/g) === "\x1b[5 q");
      await until("application cursor keys", () => modes().applicationCursorKeysMode);
    });
  }
});

describe("history", () => {
  let long: Promise<unknown> | null = null;
  const longSession = (): Promise<unknown> => {
    long ??= wsh.session("long", "--", "seq 1500; exec sleep 1000").then(() => wsh.shows("long", "1500"));
    return long;
  };

  test.each([
    ["all", 1477],
    ["none", 0],
    ["50", 50],
  ])("--scrollback %s brings %d lines above the screen, and none twice", async (choice, count) => {
    await longSession();
    await using terminal = await EmulatorTerminal.attach(wsh, "long", {
      flags: ["--scrollback", choice],
      seen: "1500",
    });
    const above = (await terminal.scrollback()).filter((line) => line !== "").map(Number);
    expect(above).toEqual(Array.from({ length: count }, (_, i) => 1478 - count + i));
    expect(
      (await terminal.text())
        .split("\n")
        .filter((line) => line !== "")
        .map(Number),
    ).toEqual(Array.from({ length: 23 }, (_, i) => 1478 + i));
  });

  test("a program's alternate screen is restored with the main screen under it", async () => {
    await wsh.session("two-screens");
    await using first = await EmulatorTerminal.attach(wsh, "two-screens");
    first.type("clear; echo under; printf '\\033[?1049h\\033[2J\\033[3;4Hover'; read x; printf '\\033[?1049l'\r");
    await first.sees(/^ {3}over/m);
    await using second = await EmulatorTerminal.attach(wsh, "two-screens", { seen: /^ {3}over/m });
    expect(second.screen.terminal.buffer.active.type).toBe("alternate");
    second.type("\r");
    await second.sees(/^under\n/);
    expect(second.screen.terminal.buffer.active.type).toBe("normal");
  });
});

test("a stopped client costs its session process bounded memory, delays nobody, and sees the newest screen on continuing", async () => {
  await wsh.session("flood");
  await using terminal = await EmulatorTerminal.attach(wsh, "flood");
  await stopProcess(terminal.pid);
  // 1.6 megabytes in long lines, which cost least, then more short ones than the history keeps: the amount that the
  // session process keeps for the client is sent when the client continues.
  await wsh.enter("flood", "seq -f %079g 20000; seq 11000; echo flood over");
  await wsh.shows("flood", /^flood over$/m);
  terminal.forgetBytes();
  process.kill(terminal.pid, "SIGCONT");
  await terminal.sees(/^11000\nflood over\n\$/m);
  expect(terminal.bytes.length).toBeLessThan(1024 * 1024);
  // Scrollback lines of a flood are sent after it has ended.
  await until("the newest lines in the scrollback", async () => {
    const newest = (await terminal.scrollback()).slice(-5).map(Number);
    return newest.join() === "10974,10975,10976,10977,10978";
  });
});
