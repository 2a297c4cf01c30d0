/**
 * The same bytes of a program have the same effect on a person's terminal with one pane and with several: the drawing,
 * cell by cell, modes, title, and the terminal's other actions (notifications, progress, clipboard); and the
 * program gets the same answers. The terminal is our own emulator, which records what xterm's public interface hides.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { plainStyle, type Row, type Style } from "../../src/protocol/grid.ts";
import { TerminalModel } from "../../src/terminal/model.ts";
import { defaultProfile } from "../../src/terminal/profile.ts";
import { splitServer } from "../support/panes.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";

type All = Awaited<ReturnType<typeof splitServer>>;

/** Columns that both have: the split one is half as wide. */
const COLS = 36;
/** Rows above the mark, and above the status line. */
const ROWS = 18;

/** One session with a program that prints the test's bytes, and an attached person. */
class Picture {
  private constructor(
    private readonly person: EmulatorTerminal,
    private readonly pipe: string,
    private readonly answers: string,
  ) {}

  static async open({ wsh, http }: All, name: string, panes: number): Promise<Picture> {
    const [pipe, answers] = [join(wsh.dir, `${name}.pipe`), join(wsh.dir, `${name}.answers`)];
    Bun.spawnSync(["mkfifo", pipe]);
    fs.writeFileSync(answers, "");
    const command = `stty raw -echo; printf ready; (while :; do cat ${pipe}; done) & exec cat >> ${answers}`;
    await wsh.session(name, "--", command);
    const person = await EmulatorTerminal.attach(wsh, name, { seen: "ready" });
    for (let at = 1; at < panes; at++)
      await http.post(`/sessions/${name}/panes`, { command: "cat", direction: "right" });
    if (panes > 1) await person.sees("│");
    return new Picture(person, pipe, answers);
  }

  /** Screen, state and actions of the terminal once the program has printed this. */
  async after(text: string, mark: string) {
    const answered = fs.readFileSync(this.answers, "utf8").length;
    const before = this.person.bytes.length;
    fs.writeFileSync(this.pipe, `${text}\x1b[20;1H\x1b[0m${mark}\x1b[H\x1b[6n`);
    await this.person.sees(mark);
    // The answer to the last query ends the answers.
    const answers = await until("the answers", () => {
      const sent = fs.readFileSync(this.answers, "utf8").slice(answered);
      return sent.endsWith("\x1b[1;1R") ? sent : null;
    });
    const written = this.person.bytes;
    const model = await modelOf(written);
    const { lines, cursor } = model.grid();
    const cells = lines.slice(0, ROWS).map((row) => rowText(row));
    const { wrap: _w, origin: _o, insert: _i, synchronizedOutput: _s, ...modes } = model.modes;
    const { title } = model;
    model.dispose();
    return {
      cells,
      cursor,
      modes,
      title,
      did: deeds(written.slice(before)),
      answers,
    };
  }

  /** The terminal's actions when the person detaches. */
  async left(): Promise<string[]> {
    const before = this.person.bytes.length;
    this.person.type("\x1cd");
    await this.person.exited;
    return deeds(this.person.bytes.slice(before));
  }

  close(): Promise<void> {
    return this.person[Symbol.asyncDispose]();
  }
}

function rowText(row: Row): string {
  return row
    .slice(0, COLS)
    .map(({ text, style }) => (isPlain(style) ? text : `${text}<${JSON.stringify(style)}>`))
    .join("")
    .trimEnd();
}

function isPlain(style: Style): boolean {
  return JSON.stringify(style) === JSON.stringify(plainStyle);
}

async function modelOf(written: string): Promise<TerminalModel> {
  const nothing = (): void => {};
  const sink = {
    reply: nothing,
    bell: nothing,
    alternate: nothing,
    reset: nothing,
    mark: nothing,
    title: nothing,
    cwd: nothing,
    clipboard: nothing,
    chunk: nothing,
  };
  const model = new TerminalModel(
    { rows: 24, cols: 80, historyLines: 10, historyBytes: 10_000, nonce: null, profile: defaultProfile },
    sink,
  );
  await model.write(new TextEncoder().encode(written));
  return model;
}

/** The terminal's actions besides showing. */
function deeds(written: string): string[] {
  const found = written.match(/\x1b\]\d+;[^\x07\x1b]*(?:\x07|\x1b\\)|\x07/g) ?? [];
  return found.flatMap((each) => {
    if (each === "\x07") return "bell";
    const text = each.replace(/\x07|\x1b\\?|\]/g, "");
    return /^(?:7|9|22|52|99|777|1337);/.test(text) ? text : [];
  });
}

let all: All;
let one: Picture;
let many: Picture;
beforeAll(async () => {
  all = await splitServer({ config: 'mouse = "off"\n' });
  one = await Picture.open(all, "one", 1);
  many = await Picture.open(all, "many", 2);
});
afterAll(async () => {
  await one?.close();
  await many?.close();
  await all?.[Symbol.asyncDispose]();
});

const sequences: Readonly<Record<string, string>> = {
  attributes: "\x1b[1mb\x1b[0;2mf\x1b[0;3mi\x1b[0;4mu\x1b[0;5mk\x1b[0;7mr\x1b[0;8mh\x1b[0;9ms\x1b[0;53mo\x1b[0m.",
  "underline styles": "\x1b[4:2mdouble\x1b[4:3mcurly\x1b[4:4mdots\x1b[4:5mdash\x1b[21mtwo\x1b[24mno",
  "underline colours": "\x1b[4;58:5:9mindexed\x1b[58:2::1:2:3mrgb\x1b[58;2;9;8;7mold\x1b[59mnone",
  colours: "\x1b[31mr\x1b[92mg\x1b[38;5;123mi\x1b[48;2;1;2;3mrgb\x1b[38:2::4:5:6mc\x1b[39;49mno",
  links: "\x1b]8;id=a;https://example.com/\x1b\\link\x1b]8;;\x1b\\ plain",
  "wide and joined characters": "日本 e\u0301 \u{1f600} x\u200by",
  title: "\x1b]2;a title\x07",
  "title of GNU screen": "\x1bkother title\x1b\\",
  "kitty keyboard": "\x1b[>5u\x1b[?u",
  "kitty keyboard ends": "\x1b[<u\x1b[?u",
  modifyOtherKeys: "\x1b[>4;2m",
  "modifyOtherKeys ends": "\x1b[>4m",
  "application cursor and keypad": "\x1b[?1h\x1b=",
  "their ends": "\x1b[?1l\x1b>",
  "bracketed paste": "\x1b[?2004h",
  "bracketed paste ends": "\x1b[?2004l",
  focus: "\x1b[?1004h",
  "focus ends": "\x1b[?1004l",
  mouse: "\x1b[?1002;1006h",
  "mouse ends": "\x1b[?1002;1006l",
  "cursor shape": "\x1b[5 q",
  "cursor hidden": "\x1b[?25l",
  "cursor shown": "\x1b[?25h\x1b[0 q",
  "reverse video": "\x1b[?5hx",
  "reverse video ends": "\x1b[?5l",
  "synchronized output": "\x1b[?2026hinside\x1b[?2026l",
  "scheme updates": "\x1b[?2031h\x1b[?2031l",
  "modes that are asked for":
    "\x1b[?1$p\x1b[?25$p\x1b[?1004$p\x1b[?2004$p\x1b[?2026$p\x1b[?2027$p\x1b[?2031$p\x1b[?2048$p\x1b[4$p\x1b[?9999$p",
  "settings that are asked for": "\x1bP$q q\x1b\\\x1bP$qm\x1b\\\x1b[c\x1b[>c\x1b[5n",
  "colours that are asked for": "\x1b]10;?\x07\x1b]11;?\x07\x1b]4;1;?\x07",
  "alternate screen": "\x1b[?1049hfull",
  "alternate screen ends": "\x1b[?1049l",
  "line drawing": "\x1b(0lqk\x1b(B",
  "insert and erase": "abcdef\x1b[3G\x1b[2@\x1b[6G\x1b[1P\x1b[8G\x1b[1X",
  "scroll region": "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\n5\x1b[r",
};

/** The terminal's actions besides showing. */
const effects: Readonly<Record<string, string>> = {
  "notification of iTerm2": "\x1b]9;build is done\x07",
  "notification of urxvt": "\x1b]777;notify;title;body\x1b\\",
  "notification of kitty": "\x1b]99;i=1:d=0;Hello\x1b\\\x1b]99;i=1:p=body;there\x1b\\",
  progress: "\x1b]9;4;1;50\x07",
  "progress ends": "\x1b]9;4;0\x07",
  clipboard: "\x1b]52;c;aGVsbG8=\x07",
  bell: "\x07",
  directory: "\x1b]7;file://host/tmp\x07",
  pointer: "\x1b]22;pointer\x07",
  "user variable": "\x1b]1337;SetUserVar=a=Yg==\x07",
  "tmux passthrough": "\x1bPtmux;\x1b\x1b]9;inside\x07\x1b\\",
};

let at = 0;
async function both(text: string) {
  const mark = `mark${++at};`;
  const sent = `\x1b[H\x1b[2J${text}`;
  return { alone: await one.after(sent, mark), split: await many.after(sent, mark) };
}

test.each(Object.entries(sequences))("%s", async (_, text) => {
  const { alone, split } = await both(text);
  expect(split).toEqual(alone);
});

test.each(Object.entries(effects))("%s", async (_, text) => {
  const { alone, split } = await both(text);
  expect(alone.did).not.toEqual([]);
  expect(split).toEqual(alone);
});

test("modes that programs have left on are switched off on detach", async () => {
  await both("\x1b]9;4;1;50\x07\x1b]22;pointer\x07");
  const left = await one.left();
  expect(left.length).toBeGreaterThan(1);
  expect(await many.left()).toEqual(left);
});

test("a notification of a window out of view reaches the person", async () => {
  await using person = await EmulatorTerminal.attach(all.wsh, "one", { seen: "mark" });
  const command = "printf '\\033]9;from elsewhere\\007'; exec cat";
  await all.http.expect(201, all.http.post("/sessions/one/windows", { command, focus: false }));
  await until("the notification", () => person.bytes.includes("\x1b]9;from elsewhere\x07"));
});
