/** State that programs set at a person's terminal is undone on detach; state that cannot be undone never reaches it. */
import { describe, expect, test } from "bun:test";
import { capsFromEnvironment, restoreTerminal } from "../../src/attach/render/modes.ts";
import { type Answers, TerminalProbe } from "../../src/attach/terminal-probe.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { hasTmux, PersonTerminal } from "../support/terminals/tmux-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

/** More than the buffers of a terminal hold: the line waits for Enter, floods, and its last number is seen in the session. */
const FLOOD = "read -r _; seq 200000";
/** Longer than a client waits for the session's last bytes, in ms. */
const GIVEN_UP_MS = 1_500;

/** Kitty's keyboard flags of the screen in use, after everything that was written. */
function keyboardFlags(bytes: string): number {
  let stacks: [number[], number[]] = [[0], [0]];
  let screen: 0 | 1 = 0;
  for (const [, mode, on, how, first = "", second = ""] of bytes.matchAll(
    /\x1b\[\?(1049)([hl])|\x1b\[([<>=])(\d*)(?:;(\d*))?u|\x1bc/g,
  )) {
    if (mode !== undefined) screen = on === "h" ? 1 : 0;
    else if (how === undefined) stacks = [[0], [0]];
    const stack = stacks[screen];
    if (how === ">") stack.push(Number(first));
    if (how === "<") stack.splice(Math.max(1, stack.length - Number(first || 1)));
    if (how === "<" && stack.length === 1) stack[0] = 0;
    if (how === "=") {
      const now = stack.pop() ?? 0;
      const flags = Number(first);
      stack.push(second === "2" ? now | flags : second === "3" ? now & ~flags : flags);
    }
  }
  return stacks[screen].at(-1) ?? 0;
}

async function detached(terminal: EmulatorTerminal): Promise<void> {
  terminal.type("\x1c\x1c");
  await terminal.exited;
  await terminal.sees("[detached");
}

const MESS = [
  "\\033[>1u\\033[>31u\\033[=5;1u",
  "\\033]4;1;rgb:ff/00/ff\\007\\033]10;#123456\\007\\033]11;#654321\\007\\033]12;#ff0000\\007\\033]22;wait\\007",
  "\\033[3g\\033[5G\\033H\\r",
  "\\033[?1007l\\033[?1036h\\033[?45h",
].join("");

test.skipIf(!hasTmux)("a terminal that was stopped during its detach is restored when it continues", async () => {
  await using wsh = new Wsh();
  await using person = await PersonTerminal.open(wsh);
  await wsh.session("s");
  await person.type("wsh attach s");
  await person.sees(/^\$ ?$/m);
  await person.type(`printf '\\033[?1000h\\033[?1h\\033[?25l'; ${FLOOD}`);
  await until("the mouse to be on", async () => (await person.fact("mouse_any_flag")) === "1");
  const client = await person.clientPid();
  const freeze = await person.freezer();
  freeze("SIGSTOP");
  try {
    // The terminal's queue is full then: the client has bytes that it cannot write.
    await wsh.enter("s", "");
    await wsh.shows("s", /^200000$/m);
    await wsh.ok("detach", "s");
    await until("the session to be alone", async () => (await wsh.list())[0]?.attached === 0);
    await Bun.sleep(GIVEN_UP_MS);
  } finally {
    freeze("SIGCONT");
  }
  await person.sees("[detached from session 's']");
  await until("the client's end", () => !wsh.processes().some(({ pid }) => pid === client));
  for (const [flag, value] of [
    ["mouse_any_flag", "0"],
    ["keypad_cursor_flag", "0"],
    ["cursor_flag", "1"],
  ] as const) {
    expect([flag, await person.fact(flag)]).toEqual([flag, value]);
  }
});

test.skipIf(!hasTmux)("a signal ends a client whose terminal is stopped", async () => {
  await using wsh = new Wsh();
  await using person = await PersonTerminal.open(wsh);
  await wsh.session("s");
  await person.type("wsh attach s");
  await person.sees(/^\$ ?$/m);
  await person.type(FLOOD);
  const client = await person.clientPid();
  const freeze = await person.freezer();
  freeze("SIGSTOP");
  try {
    await wsh.enter("s", "");
    await wsh.shows("s", /^200000$/m);
    process.kill(client, "SIGTERM");
    await until("the client's end", () => !wsh.processes().some(({ pid }) => pid === client));
  } finally {
    freeze("SIGCONT");
  }
});

describe("restored after detaching", () => {
  for (const attached of [false, true]) {
    test(`keyboard flags, colours, pointer and tab stops set ${attached ? "while attached" : "before"}`, async () => {
      await using wsh = new Wsh();
      await wsh.session("s");
      const show = `printf '${MESS}set\\n'; cat`;
      await using first = await EmulatorTerminal.attach(wsh, "s");
      first.type(`${show}\r`);
      await first.sees(/^set/m);
      if (!attached) await detached(first);
      await using terminal = attached ? first : await EmulatorTerminal.attach(wsh, "s", { seen: /^set/m });
      // Modes are written after the rows.
      await until("the keyboard's flags", () => keyboardFlags(terminal.bytes) === 5);
      await detached(terminal);
      const { bytes } = terminal;
      expect(keyboardFlags(bytes)).toBe(0);
      const after = (set: RegExp, undo: string): boolean => {
        const last = [...bytes.matchAll(set)].at(-1)?.index ?? -1;
        return last >= 0 && bytes.indexOf(undo, last) > last;
      };
      expect(after(/\x1b\]4;1;/g, "\x1b]104\x1b\\")).toBe(true);
      for (const code of [10, 11, 12])
        expect(after(new RegExp(`\x1b\\]${code};[r#]`, "g"), `\x1b]1${code}\x1b\\`)).toBe(true);
      if (attached) expect(after(/\x1b\]22;wait/g, "\x1b]22;\x1b\\")).toBe(true);
      const saved = /\x1b\[\?([\d;]+)s/.exec(bytes)?.[1];
      expect(saved?.split(";")).toContain("1036");
      expect(after(/\x1b\[\?1036h/g, `\x1b[?${saved}r`)).toBe(true);
      await terminal.screen.write("\r\x1b[K\tA\tB");
      expect((await terminal.text()).split("\n").at(terminal.screen.grid().cursor.row)).toBe("        A       B");
    });
  }

  test("keyboard flags that the person's own programs had set are restored", () => {
    const learned: Answers[] = [];
    const probe = new TerminalProbe((answers) => learned.push(answers));
    expect(new TextDecoder().decode(probe.buildQuestions({ depth: false, graphics: false, widths: false }))).toContain(
      "\x1b[?u",
    );
    for (const answer of ["\x1b[?5u", "\x1b[6;19;9t", "\x1b[6;0;0t", "\x1b[?62;22c"]) {
      probe.handleReply(new TextEncoder().encode(answer));
    }
    expect(learned).toEqual([{ keyboardFlags: 5, colors: { cell: { width: 9, height: 19 } } }]);
    const caps = capsFromEnvironment({ TERM: "xterm-kitty" });
    const restored = restoreTerminal(caps, { alternate: "program", keyboardFlags: 5 });
    expect(keyboardFlags(`\x1b[>31u\x1b[?1049h\x1b[>31u${new TextDecoder().decode(restored)}`)).toBe(5);
  });

  test("reset-terminal undoes them, too", async () => {
    await using wsh = new Wsh();
    await using terminal = EmulatorTerminal.run(wsh, ["reset-terminal"]);
    await terminal.exited;
    await until("the end", () => terminal.bytes.includes("\x1b[?25h"));
    for (const undo of ["\x1b[<99u", "\x1b]104", "\x1b]110", "\x1b]111", "\x1b]112", "\x1b[2l", "\x1b[12h"]) {
      expect(terminal.bytes).toContain(undo);
    }
  });
});

test("modes that wsh's screens do not have are not passed on to the terminal; those beside them are", async () => {
  await using wsh = new Wsh();
  await wsh.session("s");
  await using terminal = await EmulatorTerminal.attach(wsh, "s");
  terminal.forgetBytes();
  const foreign =
    '\\033[2h\\033[12l\\033[?2l\\033[?67;2004;9001h\\033[?1000s\\033[?1000r\\033[>1;3m\\033[61"p\\033#6\\033 G\\033%%@\\033l\\033]50;fixed\\007';
  terminal.type(`printf '${foreign}set\\n'\r`);
  await terminal.sees(/^set$/m);
  const set = terminal.bytes.slice(terminal.bytes.lastIndexOf("\n", terminal.bytes.indexOf("set\r\n")));
  expect(set.slice(0, set.indexOf("set\r\n"))).toEndWith("\x1b[?00;2004;0000h\x1b[?1000l\x1b%G");
  // Unchanged colours are left alone: they may be the person's own.
  await detached(terminal);
  expect(terminal.bytes).not.toMatch(/\x1b\](104|110|111|112)/);
});

describe.skipIf(!hasTmux)("the title of the person's terminal", () => {
  for (const flags of ["", " --alt-screen"]) {
    test(`is restored after detaching${flags}`, async () => {
      await using wsh = new Wsh();
      await using person = await PersonTerminal.open(wsh);
      await wsh.session("s");
      await person.type("printf '\\033]2;mine\\033\\\\'");
      await until("the terminal to have its title", async () => (await person.fact("pane_title")) === "mine");
      await person.type(`wsh attach s${flags}`);
      await person.sees(/^\$$/m);
      await person.type("printf '\\033]2;of a program\\033\\\\'");
      await until("the program's title", async () => (await person.fact("pane_title")) === "of a program");
      await person.detach();
      await until("its own title again", async () => (await person.fact("pane_title")) === "mine");
    });
  }
});
