/** Panels beside real programs: they keep their rows, and the program has exactly the rest. */
import { describe, expect, test } from "bun:test";
import { Canvas } from "../support/drawing-api.ts";
import { shared } from "../support/shared.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { hasTmux, PersonTerminal } from "../support/terminals/tmux-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const PROMPT = /^\$ ?$/m;

const wsh = shared(new Wsh());

/** A session of its own, and an attached terminal. */
async function scene() {
  await wsh.session("s");
  const terminal = await EmulatorTerminal.attach(wsh, "s");
  return {
    wsh,
    terminal,
    canvas: new Canvas(wsh, "s"),
    async [Symbol.asyncDispose]() {
      await terminal[Symbol.asyncDispose]();
      await wsh.kill("s");
    },
  };
}

function lineOf(text: string, row: number): string {
  return text.split("\n")[row] ?? "";
}

/** A program on the alternate screen that takes commands: modes that a command leaves on are switched off at its end. */
const ALTERNATE = "tput smcup; PS1='$ ' bash --norc; tput rmcup";

/** A line that prints the size once it is this one: the program gets it a moment after the picture has changed. */
const showsSize = (size: string): string => `until [ "$(stty size)" = '${size}' ]; do :; done; clear; stty size\r`;

describe("a panel", () => {
  test("takes its rows from the program, and returns them", async () => {
    await using the = await scene();
    const { terminal, canvas } = the;
    const top = await canvas.panel({ position: "top", height: 2, background: "blue", spans: [{ text: "status" }] });
    expect(top).toMatchObject({ visible: true, rows: 22, cols: 80 });
    const bottom = await canvas.panel({ position: "bottom", height: 1, spans: [{ text: "footer" }] });
    expect(bottom).toMatchObject({ visible: true, rows: 21, cols: 80 });
    terminal.type("stty size\r");
    const text = await terminal.sees("21 80");
    expect(lineOf(text, 0)).toBe("status");
    expect(lineOf(text, 23)).toBe("footer");
    await canvas.delete("panel");
    terminal.type("clear; stty size\r");
    await terminal.sees((now) => lineOf(now, 0) === "24 80" && lineOf(now, 1) === "$");
    expect(await terminal.text()).not.toMatch(/status|footer/);
  });

  test("stays when a full-screen program starts, whose screen need not change size, and when it ends", async () => {
    await using the = await scene();
    const { terminal, canvas } = the;
    await canvas.panel({ position: "top", height: 1, spans: [{ text: "STAYS" }] });
    await canvas.panel({ position: "bottom", height: 1, screen_mode: "normal", spans: [{ text: "OUTSIDE" }] });
    terminal.type(`${ALTERNATE}\r`);
    await terminal.sees((text) => !text.includes("OUTSIDE"));
    terminal.type(showsSize("23 80"));
    await terminal.sees(/^STAYS\n23 80\n\$/);
    terminal.type("exit\r");
    await terminal.sees("OUTSIDE");
    terminal.type(showsSize("22 80"));
    await terminal.sees(/^STAYS\n22 80\n\$/);
  });

  test("is kept through clear, reset, scroll regions and scrolling", async () => {
    await using the = await scene();
    const { terminal, canvas } = the;
    await canvas.panel({ position: "top", height: 1, background: "red", spans: [{ text: "TOP" }] });
    await canvas.panel({ position: "bottom", height: 1, spans: [{ text: "BOTTOM" }] });
    for (const [command, wanted] of [
      ["clear; echo one", /^TOP\none\n\$/],
      ["printf '\\033c'; echo two", /^TOP\ntwo\n\$/],
      ["printf '\\033[2J\\033[H'; tput csr 3 8; tput cup 8 0; seq 30; tput csr 0 21; echo three", /^TOP\n/],
      ["seq 100; echo four", /^TOP\n81\n[\s\S]*^100\nfour\n\$\nBOTTOM$/m],
      ["tput cup 99 0; printf 'at the end'; tput cup 0 0; echo five", /^TOP\nfive/],
      ["reset; echo six", /^TOP\nsix\n\$/],
    ] as const) {
      terminal.type(`${command}\r`);
      const text = await terminal.sees((now) => wanted.test(now) && now.includes(command.slice(-3)));
      expect(lineOf(text, 0)).toBe("TOP");
      expect(lineOf(text, 23)).toBe("BOTTOM");
    }
    const { lines } = await terminal.grid();
    expect(lines[0]?.every(({ style }) => Bun.deepEquals(style.bg, { indexed: 1 }))).toBe(true);
  });

  test("belongs to one screen if it says so: tput smcup hides it, rmcup brings it back, with the rows", async () => {
    await using the = await scene();
    const { terminal, canvas } = the;
    await canvas.panel({ position: "top", height: 3, screen_mode: "normal", spans: [{ text: "NORMAL" }] });
    terminal.type("clear; stty size\r");
    await terminal.sees(/^NORMAL\n\n\n21 80\n\$/);
    terminal.type(`${ALTERNATE}\r`);
    await terminal.sees((text) => !text.includes("NORMAL"));
    terminal.type(showsSize("24 80"));
    await terminal.sees(/^24 80\n\$/);
    await canvas.panel({ position: "bottom", height: 2, screen_mode: "alt", spans: [{ text: "ALT" }] });
    terminal.type("clear; stty size\r");
    await terminal.sees(/^22 80\n\$[\s\S]*^ALT\n$/m);
    terminal.type("exit\r");
    await terminal.sees(/^NORMAL/);
    terminal.type(showsSize("21 80"));
    const text = await terminal.sees(/^NORMAL\n\n\n[\s\S]*^21 80\n\$/m);
    expect(text).not.toContain("ALT");
    expect(terminal.screen.terminal.buffer.active.type).toBe("normal");
  });

  test("is hidden when the terminal has no room, and returns with it: 10x3 and back", async () => {
    await using the = await scene();
    const { terminal, canvas } = the;
    await canvas.panel({ position: "top", height: 3, z: 2, spans: [{ text: "TALL" }] });
    await canvas.panel({ position: "bottom", height: 1, z: 1, spans: [{ text: "SMALL" }] });
    terminal.type("clear; stty size\r");
    await terminal.sees(/^TALL\n\n\n20 80\n\$[\s\S]*^SMALL$/m);
    terminal.resize(3, 10);
    await terminal.sees((text) => !text.includes("TALL") && lineOf(text, 2) === "SMALL");
    terminal.type("clear; stty size\r");
    await terminal.sees((text) => lineOf(text, 0) === "2 10" && lineOf(text, 1) === "$");
    terminal.resize(24, 80);
    await terminal.sees((text) => lineOf(text, 0) === "TALL" && lineOf(text, 23) === "SMALL");
    terminal.type("clear; stty size\r");
    await terminal.sees(/^TALL\n\n\n20 80\n\$[\s\S]*^SMALL$/m);
  });

  test("is displayed after detaching and attaching, and history is in the terminal's scrollback once", async () => {
    await using the = await scene();
    const { wsh, terminal, canvas } = the;
    await canvas.panel({ position: "top", height: 2, spans: [{ text: "STAYS" }] });
    terminal.type("clear; seq 2500\r");
    await terminal.sees(/^2500\n\$/m);
    for (const [flag, expected] of [
      ["all", 2500 - 21],
      ["none", 0],
      ["100", 100],
    ] as const) {
      await using other = await EmulatorTerminal.attach(wsh, "s", {
        flags: ["--scrollback", flag],
        seen: /^2500\n\$/m,
      });
      const last = 2500 - 21;
      const numbers = () => other.scrollback().then((lines) => lines.filter((line) => /^\d+$/.test(line)).map(Number));
      await other.sees((text) => lineOf(text, 0) === "STAYS" && lineOf(text, 2) === String(last + 1));
      const wanted = Array.from({ length: expected }, (_, i) => last - expected + 1 + i);
      await untilEqual(numbers, wanted);
      other.type("\x1c\x1c");
      expect(await other.exited).toBe(0);
      expect(await other.text()).not.toContain("STAYS");
    }
  });

  test("lines that scroll away under it are in the terminal's scrollback once, also when it comes and goes", async () => {
    await using the = await scene();
    const { terminal, canvas } = the;
    terminal.type("clear; seq 1 60\r");
    await terminal.sees(/^60\n\$/m);
    const { id } = await canvas.panel({ position: "top", height: 5, spans: [{ text: "P" }] });
    terminal.type("seq 61 90\r");
    await terminal.sees(/^P[\s\S]*^90\n\$/m);
    await canvas.delete("panel", id);
    terminal.type("seq 91 150\r");
    await terminal.sees((text) => /^150\n\$/m.test(text) && !text.startsWith("P"));
    // Lines that scrolled away may go there after the picture.
    const numbers = async (): Promise<number[]> => {
      const lines = [...(await terminal.scrollback()), ...(await terminal.text()).split("\n")];
      return lines.filter((line) => /^\d+$/.test(line)).map(Number);
    };
    await untilEqual(
      numbers,
      Array.from({ length: 150 }, (_, i) => i + 1),
    );
  });

  test("offsets a program's mouse by its rows, and keeps its own clicks", async () => {
    await using the = await scene();
    const { terminal, canvas } = the;
    await canvas.panel({ position: "top", height: 3, spans: [{ text: "P" }] });
    terminal.type("stty -icanon -echo; printf '\\033[?1000h\\033[?1006hready'; cat -v\r");
    await terminal.sees(/^ready/m);
    terminal.type("\x1b[<0;5;2M\x1b[<0;5;2m");
    terminal.type("\x1b[<0;7;9M\x1b[<0;7;9m");
    const text = await terminal.sees("[<0;7;6M^[[<0;7;6m");
    expect(text).not.toContain("5;2M");
  });
});

async function untilEqual(probe: () => Promise<number[]>, wanted: number[]): Promise<void> {
  let last: number[] = [];
  await until("the numbers", async () => {
    last = await probe();
    return Bun.deepEquals(last, wanted);
  }).catch(() => expect(last).toEqual(wanted));
}

describe.skipIf(!hasTmux)("in tmux", () => {
  test("a panel at the top while top runs", async () => {
    await using wsh = new Wsh();
    await Promise.all([wsh.session("s"), wsh.server()]);
    await using person = await PersonTerminal.open(wsh);
    const canvas = new Canvas(wsh, "s");
    await person.run("wsh attach s");
    await person.sees(PROMPT);
    await person.type("top -d 0.2");
    await person.sees(/^top - [\s\S]*PID USER/m);
    const { id } = await canvas.panel({
      position: "top",
      height: 2,
      background: "cyan",
      spans: [{ text: "agent at work" }],
    });
    const first = await person.sees(/^agent at work\n\n(?:.*\n)?top - .*\n[\s\S]*PID USER/m);
    // It continues below the panel, which stays.
    const clock = /top - (\S+)/.exec(first)?.[1];
    const later = await person.sees((text) => (/top - (\S+)/.exec(text)?.[1] ?? clock) !== clock);
    expect(later).toMatch(/^agent at work\n\ntop - /);
    await canvas.delete("panel", id);
    await person.sees(/^top - /);
    await person.keys("q");
    await person.sees(PROMPT);
  });
});
