/** Real programs, driven over HTTP alone and read from the screen. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import type { Span } from "../../src/protocol/screen.ts";
import { Http } from "../support/http.ts";
import { isMissing } from "../support/programs.ts";
import { shared } from "../support/shared.ts";
import { hasTmux, PersonTerminal } from "../support/terminals/tmux-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const wsh = shared(new Wsh());
const http = new Http({ unix: wsh.instance.httpSocket });

/** A bash at its prompt in a separate directory. */
async function shell(name: string, size: object = {}): Promise<string> {
  const cwd = fs.mkdtempSync(join(wsh.dir, `${name}-`));
  await http.create({ name, shell: "bash", cwd, ...size });
  await http.shows(name, /^\$/m);
  return cwd;
}

test("bash: history, completion, line editing, job control, colours", async () => {
  const cwd = await shell("bash");
  fs.writeFileSync(join(cwd, "a-file-with-a-long-name"), "its text\n");
  await http.type("bash", "echo first $((6 * 7))\r");
  await http.shows("bash", /^first 42$/m);
  await http.type("bash", "cat a-fi");
  await http.press("bash", "Tab", "Enter");
  await http.shows("bash", /^its text$/m);
  // Up twice, to the start of the line, a word forward, and Enter.
  await http.press("bash", "Up", "Up", "Home");
  await http.press("bash", "Alt+f");
  await http.type("bash", " -n");
  await http.shows("bash", "echo -n first");
  await http.press("bash", "Ctrl+U", "Ctrl+K");
  await http.type("bash", "sleep 1000\r");
  const foreground = async () => (await http.get("/sessions/bash/status")).body as { foreground?: { name: string } };
  await until("it to run", async () => (await foreground()).foreground?.name === "sleep");
  await http.press("bash", "Ctrl+Z");
  await http.shows("bash", /Stopped.*sleep 1000/);
  await http.type("bash", "kill %1; printf '\\033[32mgreen\\033[0m\\n'\r");
  await http.shows("bash", /^green$/m);
  const styled = (await http.get("/sessions/bash/screen")).body as { lines: Span[][] };
  expect(styled.lines.flat()).toContainEqual({ text: "green", fg: { indexed: 2 } });
  await http.press("bash", "Ctrl+L");
  expect((await http.shows("bash", ({ lines }) => lines[0] === "$")).cursor).toMatchObject({ row: 0, col: 2 });
  await http.type("bash", "exit 5\r");
  expect(await http.ended("bash")).toMatchObject({ exit_code: 5 });
});

test.if(!isMissing("vim"))("vim: a file is written, found again, edited and left", async () => {
  const cwd = await shell("vim");
  await http.type("vim", "vim -u NONE -N letter.txt\r");
  const empty = await http.shows("vim", ({ alternate_active, lines }) => alternate_active && lines[1] === "~");
  expect(empty.lines.filter((line) => line === "~")).toHaveLength(22);
  await http.type("vim", "ihello\rwide 日本語 text");
  await http.press("vim", "Escape");
  await http.type("vim", ":set number\r");
  await http.shows("vim", /^ {2}1 hello$/m);
  await http.type("vim", "ggdd");
  const edited = await http.shows("vim", /^ {2}1 wide 日本語 text$/m);
  expect(edited.cursor).toMatchObject({ row: 0, col: 4, visible: true });
  await http.post("/sessions/vim/resize", { rows: 10, cols: 40 });
  await http.shows("vim", ({ lines }) => lines.length === 10 && lines[8] === "~");
  await http.type("vim", ":wq\r");
  await http.shows(
    "vim",
    ({ alternate_active, lines }) => !alternate_active && lines.some((line) => line.includes("vim -u NONE")),
  );
  expect(fs.readFileSync(join(cwd, "letter.txt"), "utf8")).toBe("wide 日本語 text\n");
  await http.kill("vim");
});

test.if(!isMissing("less"))("less: paged, searched, and the screen before it comes back", async () => {
  const cwd = await shell("less");
  fs.writeFileSync(join(cwd, "numbers"), Array.from({ length: 500 }, (_, i) => `number ${i + 1}\n`).join(""));
  await http.type("less", "LESS= less numbers\r");
  const first = await http.shows("less", ({ lines }) => lines[0] === "number 1" && lines[22] === "number 23");
  expect(first.alternate_active).toBe(true);
  await http.press("less", "Space");
  await http.shows("less", ({ lines }) => lines[0] === "number 24");
  await http.type("less", "/number 321\r");
  await http.shows("less", ({ lines }) => lines[0] === "number 321");
  await http.type("less", "G");
  await http.shows("less", ({ lines }) => lines[22] === "number 500");
  await http.press("less", "PageUp");
  await http.shows("less", ({ lines }) => lines[22] === "number 477");
  await http.type("less", "q");
  await http.shows(
    "less",
    ({ alternate_active, lines }) => !alternate_active && lines.some((line) => line.includes("less numbers")),
  );
  await http.kill("less");
});

test.if(!isMissing("python3"))("python3: a REPL that remembers, an error, and its end", async () => {
  await shell("python", { rows: 40 });
  await http.type("python", "python3 -q\r");
  await http.shows("python", /^>>>/m);
  await http.type("python", "def double(n):\r    return n * 2\r\r");
  await http.type("python", "double('añ日')\r");
  await http.shows("python", /^'añ日añ日'$/m);
  await http.type("python", "1 / 0\r");
  await http.shows("python", "ZeroDivisionError");
  await http.type("python", "import time; time.sleep(1000)\r");
  await http.shows("python", "time.sleep");
  await http.press("python", "Ctrl+C");
  await http.shows("python", "KeyboardInterrupt");
  await http.type("python", "input('name? ')\r");
  await http.shows("python", /^name\?/m);
  await http.type("python", "Ada\r");
  await http.shows("python", /^'Ada'$/m);
  await http.press("python", "Ctrl+D");
  await http.type("python", "echo back in $0\r");
  await http.shows("python", /^back in -?\S*bash$/m);
  await http.kill("python");
});

test.if(!isMissing("top"))("top: a screen that renews itself, sorted by a key, left by q", async () => {
  await shell("top", { rows: 20, cols: 100 });
  await http.type("top", "top -d 0.2\r");
  const screen = await http.shows("top", /^ *PID +USER/m);
  expect(screen.lines[0]).toMatch(/^top - \d+:\d+:\d+ up/);
  await http.shows("top", (next) => next.epoch > screen.epoch && next.lines[0] !== screen.lines[0]);
  await http.post("/sessions/top/resize", { rows: 12, cols: 60 });
  await http.shows(
    "top",
    ({ rows, lines }) => rows === 12 && /^top - /.test(lines[0] ?? "") && lines.every((line) => line.length <= 60),
  );
  await http.type("top", "q");
  // The prompt itself: top discards input that was typed before its end.
  await http.shows("top", ({ lines, cursor }) => lines[cursor.row] === "$" && cursor.col === 2);
  await http.type("top", "echo left\r");
  await http.shows("top", /^left$/m);
  await http.kill("top");
});

test.if(!isMissing("git", "less"))("git log in its pager", async () => {
  const cwd = await shell("git");
  const git = (...args: readonly string[]): void => {
    const { exitCode, stderr } = Bun.spawnSync(["git", "-c", "user.name=Ada", "-c", "user.email=a@b.c", ...args], {
      cwd,
      env: wsh.env,
    });
    if (exitCode !== 0) throw new Error(stderr.toString());
  };
  git("init", "-q", "-b", "main");
  for (let n = 1; n <= 30; n++) git("commit", "-q", "--allow-empty", "-m", `change number ${n}`);
  await http.type("git", "GIT_PAGER=less LESS=FRX git log --oneline --decorate\r");
  await http.shows(
    "git",
    ({ lines }) => /^[0-9a-f]+ \(HEAD -> main\) change number 30$/.test(lines[0] ?? "") && lines.at(-1) === ":",
  );
  const styled = (await http.get("/sessions/git/screen")).body as { lines: Span[][] };
  expect(styled.lines[0]?.[0]).toMatchObject({ text: expect.stringMatching(/^[0-9a-f]+ \(?$/), fg: { indexed: 3 } });
  await http.type("git", "G");
  await http.shows("git", /change number 1$/m);
  await http.type("git", "q");
  await http.type("git", "git status --short --branch\r");
  await http.shows("git", /^## main$/m);
  await http.kill("git");
});

/** Sends each query, and shows the answers as one line of hexadecimal each. */
const ASK = `
import os, select, sys, termios, tty
tty.setraw(0)
def ask(question):
    os.write(1, question)
    answer = b""
    # The status report behind it is the last to be answered.
    os.write(1, b"\\x1b[5n")
    while not answer.endswith(b"\\x1b[0n"):
        answer += os.read(0, 1024)
    while select.select([0], [], [], 0.2)[0]:
        answer += b"LATE" + os.read(0, 1024)
    return answer[:-4].decode("latin1")
while True:
    answers = [ask(q) for q in (b"\\x1b[c", b"\\x1b[6n", b"\\x1b]11;?\\x07", b"\\x1b[>q", b"\\x1b[?u")]
    os.write(1, b"\\r\\n" + repr(answers).encode() + b"\\r\\nasked\\r\\n")
    os.read(0, 1)
    os.write(1, b"\\x1b[2J\\x1b[H")
`;

test.if(hasTmux && !isMissing("python3"))(
  "questions to the terminal have one answer each, however many terminals look on",
  async () => {
    const script = join(wsh.dir, "ask.py");
    fs.writeFileSync(script, ASK.replaceAll("\\\\", "\\"));
    await http.create({ name: "ask", command: `python3 ${script}`, cols: 200 });
    const answers = async (): Promise<string> => {
      const { lines } = await http.shows("ask", /^asked$/m);
      return lines
        .slice(0, lines.indexOf("asked"))
        .join("")
        .replace(/^.*?\[/, "[");
    };
    const alone = await answers();
    expect(alone).not.toContain("LATE");
    const [attributes, cursor, background, version, keyboard] = JSON.parse(
      alone.replaceAll("'", '"').replaceAll("\\x", "\\u00"),
    ) as string[];
    expect(attributes).toMatch(/^\x1b\[\?[0-9;]+c$/);
    expect(cursor).toMatch(/^\x1b\[\d+;\d+R$/);
    expect(background).toMatch(/^\x1b\]11;rgb:[0-9a-f/]+(\x07|\x1b\\)$/);
    expect(version).toMatch(/^\x1bP>\|wsh .*\x1b\\$/);
    expect(keyboard).toBe("");
    await using first = await PersonTerminal.open(wsh, { cols: 200 });
    await using second = await PersonTerminal.open(wsh, { cols: 90, rows: 20 });
    for (const person of [first, second]) {
      await person.type("wsh attach ask");
      await person.sees(/asked/);
    }
    await http.type("ask", "x");
    await http.shows("ask", ({ lines }) => !lines.includes("asked"));
    const watched = await answers();
    expect(watched).not.toContain("LATE");
    // The cursor is elsewhere and the colours are the newest terminal's; the number of answers is the same.
    expect(watched.split(/', ?'/)).toHaveLength(5);
    expect(watched.match(/R'/g)).toHaveLength(1);
    await http.kill("ask");
  },
);
