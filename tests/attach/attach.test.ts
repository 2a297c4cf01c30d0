/** A person at a terminal: tmux is the terminal, tests press keys and read its screen. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseColor } from "../../src/attach/terminal-probe.ts";
import type { SessionInfo } from "../../src/protocol/session.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { hasTmux, PersonTerminal } from "../support/terminals/tmux-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";
import { program } from "../support/wsh-program.ts";

if (!hasTmux) console.warn("tmux is not installed: tests of the attached terminal are skipped");
const withTmux = describe.skipIf(!hasTmux);

/** Four terminals that start five sessions each at once, or two that start three. */
const full = process.env.WSH_TEST_FULL === "1";

/** The prompt of a shell in a session; the bare one's is `outer>`. */
const PROMPT = /^\$$/m;

/** The instance of the tests without settings that need none of their own; each has sessions of its own. */
const usual = new Wsh();
beforeAll(() => usual.server());
afterAll(() => usual[Symbol.asyncDispose]());

/** What `wsh list` says of one session of the usual instance. */
async function listed(name: string): Promise<SessionInfo | undefined> {
  return (await usual.list()).find((session) => session.name === name);
}

withTmux("opening and leaving", () => {
  test("wsh opens a shell here, with a server beside it; prefix twice detaches; attach returns to the same state", async () => {
    await using wsh = new Wsh();
    await using person = await PersonTerminal.open(wsh);
    await person.type("echo before");
    await person.enter("wsh --tag mine");
    await person.type("echo name=$WSH_SESSION term=$TERM dir=$PWD; stty size");
    await person.sees(`name=default term=xterm-256color dir=${wsh.dir}\n24 80\n`);
    expect(await wsh.list()).toMatchObject([{ name: "default", attached: 1, clients: 1, tags: ["mine"] }]);
    await until("the server", async () => (await wsh.run("status")).code === 0);
    expect(await (await wsh.fetch("/health")).json()).toEqual({ status: "ok" });

    await person.detach();
    expect(await person.exitCode()).toBe(0);
    expect(await person.sees("[detached from session 'default']")).toContain("outer>");
    expect(await person.all()).toContain("before\n");
    expect(await wsh.list()).toMatchObject([{ name: "default", attached: 0 }]);

    await person.clear();
    await person.run("wsh attach default");
    await person.sees(`name=default term=xterm-256color dir=${wsh.dir}`);
    await person.type("echo again");
    await person.sees(/^again$/m);
  });

  test("wsh attach without a name shows the only session", async () => {
    await using wsh = new Wsh();
    await using person = await PersonTerminal.open(wsh);
    await wsh.session("first");
    await person.enter("wsh a");
    await person.type("echo in=$WSH_SESSION");
    await person.sees(/^in=first$/m);
    await person.detach();
  });

  test("the terminal works as before: line editing, echo, Ctrl+C, modes", async () => {
    await using wsh = new Wsh({ config: "reset_modes = false\n" });
    await using person = await PersonTerminal.open(wsh);
    await person.type("stty -a > before.txt");
    await person.enter("wsh");
    await person.type("printf '\\033[?1000h\\033[?1006h\\033[?2004h\\033[?1h\\033[?25l\\033[3;5r\\033[31m'");
    await until("the mouse to be on", async () => (await person.fact("mouse_any_flag")) === "1");
    await person.keys("C-\\", "C-\\");
    expect(await person.exitCode()).toBe(0);
    expect(await person.fact("mouse_any_flag")).toBe("0");
    expect(await person.fact("keypad_cursor_flag")).toBe("0");
    expect(await person.fact("cursor_flag")).toBe("1");
    expect(await person.fact("scroll_region_lower")).toBe("23");
    await person.type("stty -a > after.txt; cmp before.txt after.txt && echo same");
    await person.sees(/^same$/m);
    await person.type("sleep 60");
    await person.keys("C-c");
    await person.sees(/\^C\n/);
  });

  test("exit ends the session with a message; -c propagates the code", async () => {
    const wsh = usual;
    await using person = await PersonTerminal.open(wsh);
    await person.enter("wsh --name ends");
    await person.type("exit 7");
    expect(await person.exitCode()).toBe(0);
    await person.sees("[session 'ends' exited: 7]");
    await person.clear();
    await person.run("wsh --name c -c 'echo working; exit 3'");
    expect(await person.exitCode()).toBe(3);
    await person.sees("[session 'c' exited: 3]");
    expect(await person.screen()).toContain("working");
  });

  test("attach to an ended session shows its last screen and exits with its code", async () => {
    const wsh = usual;
    await using person = await PersonTerminal.open(wsh);
    await wsh.session("short", "--", "echo last words; exit 6");
    await until("it to end", async () => (await listed("short")) === undefined);
    await person.run("wsh attach short");
    expect(await person.exitCode()).toBe(6);
    expect(await person.screen()).toContain("last words");
    await person.sees("[session 'short' exited: 6]");
  });

  test("kill, stop, detach and a crash of the session process have distinct messages", async () => {
    await using wsh = new Wsh();
    await using person = await PersonTerminal.open(wsh);
    const ends: [name: string, end: () => Promise<unknown> | unknown, message: string, code: number][] = [
      ["a", () => wsh.ok("kill", "a"), "[session 'a' was killed]", 1],
      ["b", () => wsh.ok("detach", "b"), "[detached from session 'b']", 0],
      ["c", () => wsh.killHost(-1), "[session 'c' crashed", 1],
      ["d", () => wsh.ok("stop"), "[session 'd' was ended by wsh stop]", 1],
    ];
    for (const [name, end, message, code] of ends) {
      await person.clear();
      await wsh.session(name);
      await person.enter(`wsh attach ${name}`);
      await end();
      expect(await person.exitCode()).toBe(code);
      await person.sees(message);
    }
  });

  test("signals that end the client restore the terminal; the session continues", async () => {
    const wsh = usual;
    await using person = await PersonTerminal.open(wsh);
    await wsh.session("on");
    const signals = [
      ["SIGTERM", 143],
      ["SIGALRM", 142],
      ["SIGHUP", 129],
      ["SIGINT", 130],
      ["SIGQUIT", 131],
      ["SIGUSR1", 138],
      ["SIGUSR2", 140],
    ] as const;
    for (const [signal, code] of full ? signals : signals.slice(0, 3)) {
      await person.clear();
      await person.enter("wsh attach on");
      process.kill(await person.clientPid(), signal);
      expect(await person.exitCode()).toBe(code);
      await person.type("echo typed");
      await person.sees(/^typed$/m);
    }
    expect(await listed("on")).toMatchObject({ running: true, attached: 0 });
  });

  test("closing the terminal's window detaches", async () => {
    const wsh = usual;
    const person = await PersonTerminal.open(wsh);
    await person.enter("wsh --name left");
    const client = await person.clientPid();
    await person[Symbol.asyncDispose]();
    await until("the client to end", () => !existsSync(`/proc/${client}`));
    await until("it to be detached", async () => (await listed("left"))?.attached === 0);
  });

  test("inside a session wsh refuses to nest and names the session", async () => {
    await using wsh = new Wsh();
    await using person = await PersonTerminal.open(wsh);
    await person.enter("wsh --name outer");
    await person.type(`${program.join(" ")}; echo code=$?`);
    await person.sees(/already in session 'outer'\n(.*\n)*code=1$/m);
    await person.type(`${program.join(" ")} list --names`);
    await person.sees(/^outer$/m);
  });

  test("--alt-screen leaves the main screen unchanged", async () => {
    const wsh = usual;
    await using person = await PersonTerminal.open(wsh);
    await person.type("clear; echo untouched");
    await person.enter("wsh --name alt --alt-screen");
    expect(await person.fact("alternate_on")).toBe("1");
    await person.type("echo inside");
    await person.sees(/^inside$/m);
    await person.keys("C-\\", "C-\\");
    expect(await person.exitCode()).toBe(0);
    const screen = await person.screen();
    expect(screen).toContain("untouched");
    expect(screen).not.toContain("inside");
  });
});

withTmux("what lives on", () => {
  test("kill -9 of the server while attached changes nothing on screen, and the next server has everything", async () => {
    await using wsh = new Wsh();
    await using person = await PersonTerminal.open(wsh);
    await person.enter("wsh --name dev");
    await until("the server", () => wsh.servers().length === 1);
    await person.type("export KEPT=yes; echo marker");
    await person.sees(/^marker$/m);
    const before = (await wsh.list())[0];
    await wsh.killServer();
    await until("the server to be gone", () => wsh.servers().length === 0);
    await person.type("echo still $KEPT");
    await person.sees(/^still yes$/m);
    await person.detach();
    expect((await wsh.list())[0]).toMatchObject({
      name: "dev",
      pid: before?.pid ?? 0,
      created_at: before?.created_at ?? 0,
    });
    await wsh.ok("server", "--ensure", "--bind", "none");
    expect(await (await wsh.fetch("/sessions/dev")).json()).toMatchObject({ name: "dev", pid: before?.pid });
    await person.clear();
    await person.run("wsh attach dev");
    expect(await person.sees("still yes")).toContain("marker");
  });

  test("kill -9 of the client in the middle of output leaves the session intact", async () => {
    const wsh = usual;
    await using person = await PersonTerminal.open(wsh);
    await person.enter("wsh --name busy");
    await person.type("for i in $(seq 1 400); do echo line $i; read -rt 0.002 _; done; echo all done");
    await person.sees(/line 3\d/);
    process.kill(await person.clientPid(), "SIGKILL");
    await wsh.shows("busy", /^all done$/m);
    expect((await wsh.ok("output", "busy", "-n", "500")).match(/^line \d+$/gm)?.length).toBe(400);
  });

  test("a full-screen program is restored with its keys and modes", async () => {
    const wsh = usual;
    await using person = await PersonTerminal.open(wsh);
    writeFileSync(join(wsh.dir, "text"), Array.from({ length: 200 }, (_, index) => `row ${index + 1}\n`).join(""));
    await person.enter("wsh --name vim");
    await person.type("vim -u NONE -c 'set mouse=a' text");
    await person.sees(/^row 1$/m);
    await person.keys("G");
    await person.sees(/^row 200$/m);
    await person.keys("C-\\", "C-\\");
    expect(await person.exitCode()).toBe(0);
    expect(await person.fact("alternate_on")).toBe("0");
    await person.clear();
    await person.run("wsh attach vim");
    await person.sees(/^row 200$/m);
    expect(await person.fact("alternate_on")).toBe("1");
    // Modes are written after the rows.
    await until("the mouse to be on", async () => (await person.fact("mouse_any_flag")) === "1");
    await person.keys("g", "g");
    await person.sees(/^row 1$/m);
    await person.type(":q");
    await person.sees(PROMPT);
  });

  test("history is written to the terminal's own scrollback: all, none, or the newest lines", async () => {
    const wsh = usual;
    await using person = await PersonTerminal.open(wsh);
    await wsh.session("long");
    await wsh.exec("long", "seq 1 100");
    for (const [choice, oldest, missing] of [
      ["all", 1, 0],
      ["10", 70, 60],
      ["none", 80, 70],
    ] as const) {
      await person.clear();
      await person.run(`wsh attach long --scrollback ${choice}`);
      await person.sees(/^100$/m);
      const all = await person.all();
      expect(all).toMatch(new RegExp(`^${oldest}$`, "m"));
      if (missing > 0) expect(all).not.toMatch(new RegExp(`^${missing}$`, "m"));
      await person.detach();
    }
  });
});

withTmux("keys", () => {
  test("programs can receive the prefix key; an unbound key is discarded with a message", async () => {
    const wsh = usual;
    await using person = await PersonTerminal.open(wsh);
    await person.enter("wsh --name prefix");
    await person.type("stty -icanon -echo -isig min 1; echo raw; dd bs=1 count=2 2>/dev/null | od -An -tx1");
    await person.sees(/^raw$/m);
    await person.keys("C-\\", "y");
    await person.sees("Ctrl+\\ y is not bound");
    await person.keys("C-\\", "\\", "q");
    await person.sees("1c 71");
    await until("the line to go", async () => !(await person.screen()).includes("not bound"));
  });

  test("prefix ? shows all keys until the next key, which still has its effect", async () => {
    const wsh = usual;
    await using person = await PersonTerminal.open(wsh);
    await person.enter("wsh --name all-keys");
    await person.type("echo here");
    await person.sees(/^here$/m);
    for (const leaving of ["q", "Enter"]) {
      await person.keys("C-\\", "?");
      await person.sees("Keys after Ctrl+\\");
      await person.keys(leaving);
      await until("the keys to go", async () => !(await person.screen()).includes("Keys after"));
    }
    await person.keys("C-\\", "?");
    await person.sees("Keys after Ctrl+\\");
    await person.keys("x");
    await until("the keys to go", async () => !(await person.screen()).includes("Keys after"));
    expect(await person.sees(/^\$ x$/m)).toContain("here");
  });

  test("a pause after the prefix shows the possible keys; the next key runs and leaves nothing on screen", async () => {
    const wsh = usual;
    await using person = await PersonTerminal.open(wsh);
    await person.enter("wsh --name pause");
    await person.type("echo here");
    await person.sees(/^here$/m);
    await person.keys("C-\\");
    const map = await person.sees("split to the right");
    expect(map).toContain("Ctrl+\\ and");
    await person.keys("Escape");
    await until("the map to go", async () => !(await person.screen()).includes("split"));
    await person.keys("C-\\");
    await person.sees("split to the right");
    await person.keys("d");
    await person.sees("[detached from session 'pause']");
    expect(await person.screen()).not.toContain("split");
  });

  test("settings bind keys, and a flag sets the prefix; an error names its line and key", async () => {
    const keys = '[keys]\n"g" = "pane.split direction=right focus=true"\n"z" = "none"\n"M-v" = "view.keys"\n';
    await using wsh = new Wsh({ config: keys });
    await wsh.session("dev");
    await using person = await EmulatorTerminal.attach(wsh, "dev", { flags: ["--prefix", "C-a"] });
    person.type("\x01z");
    await person.sees("Ctrl+A z is not bound");
    person.type("\x01g");
    await person.sees(/│/);
    person.type("\x01\x1bv");
    await person.sees(/g +pane\.split direction=ri…/);
    const told = JSON.parse(await wsh.ok("keys", "--json"));
    expect(told.keys.find((each: { key: string }) => each.key === "g")).toMatchObject({
      operation: "pane.split",
      changed: true,
    });
    expect(told.keys.some((each: { key: string }) => each.key === "z")).toBe(false);

    for (const [entry, wrong] of [
      ['"g" = "pane.spilt"', "no operation 'pane.spilt'"],
      ['"gg" = "pane.zoom"', 'unknown key "gg"'],
      ['"g" = "pane.split direction=sideways"', "direction"],
      ['"g" = "pane.zoom onn=true"', "'pane.zoom' has no parameter 'onn'"],
      ['"g" = 3', "must be a line, a list of lines or a table"],
      ['"g" = "view.keys x=1"', "view.keys takes no parameters"],
      ['"g" = "view.go"', "view.go needs session=NAME"],
      ['"g" = "pane.zoom on=true on=false"', "'on' is given twice"],
      ['"C-a" = "pane.zoom"\n"^A" = "pane.close"', "is already bound on line 4"],
    ] as const) {
      const lines = entry.split("\n").length;
      await Bun.write(join(wsh.dir, "keys.toml"), `# mine\n\n[keys]\n${entry}\n`);
      const failed = await wsh.run("keys", "--config", join(wsh.dir, "keys.toml"));
      expect(failed.code).not.toBe(0);
      expect(failed.stderr).toContain(`keys.toml:${3 + lines}: [keys] `);
      expect(failed.stderr).toContain(wrong);
    }
  });

  test("settings bind keys without the prefix, key tables, several operations, programs and keys for the program", async () => {
    const name = "$(touch hit)";
    await using wsh = new Wsh({
      config: `[keys]
"r" = "view.table table=more timeout=5000"
"t" = ["pane.split direction=right", "pane.zoom"]
"!" = 'view.run run=sh,-c,"exit 3"'
[keys.more]
"x" = "window.update name=named"
[keys.root]
"M-w" = 'view.run run=sh,-c,"env > \${WSH_SOCKET%/*}/ran"'
"M-k" = 'input.send data="echo sent" submit=true'
"M-n" = "window.create focus=true"
"e" = "none"
[keys.copy]
"M-n" = "copy.leave"
"x" = "copy.top"
"M-z" = "pane.zoom"
`,
    });
    await wsh.session(name);
    await using person = await EmulatorTerminal.attach(wsh, name, { rows: 20, cols: 100 });
    person.type("\x1bk");
    await person.sees(/^sent$/m);
    person.type("\x1bw");
    const ran = join(wsh.instance.runtimeDir, "ran");
    await until(
      "the program of a key",
      () => existsSync(ran) && readFileSync(ran, "utf8").includes(`WSH_SESSION=${name}\n`),
    );
    expect(existsSync(join(wsh.dir, "hit"))).toBe(false);
    person.type("\x1c!");
    await person.sees("sh: exit code 3");
    person.type("\x1cry");
    await person.sees("y (more) is not bound");
    person.type("\x1crx");
    const windows = async () => (await wsh.list())[0]?.windows ?? [];
    await until("the window's name", async () => (await windows()).some((window) => window.name === "named"));
    // Dialogs and copy mode take keys before the bindings without the prefix.
    person.type("\x1c,");
    await person.sees("Name of the window");
    person.type("\x1bn\x1b[27u");
    await until("the dialog to go", async () => !(await person.text()).includes("Name of the window"));
    person.type("\x1c[");
    await person.sees(/\d of \d+ lines up/);
    person.type("\x1bn");
    person.type("echo back\r");
    await person.sees(/^back$/m);
    expect(await windows()).toHaveLength(1);
    person.type("\x1bn");
    await until("a second window", async () => (await windows()).length === 2);
    person.type("\x1ct");
    await until("a split that is zoomed", async () => {
      const [, second] = await windows();
      return second?.panes.length === 2 && second.zoomed === true;
    });
    const listed = await wsh.ok("keys");
    expect(listed).toMatch(/WITHOUT THE PREFIX/);
    expect(listed).toMatch(/Alt\+n +window\.create focus=true +config/);
    expect(listed).toMatch(/x +window\.update name=named +config/);
    expect(listed).toMatch(/x +oldest line +config/);
  });

  test("the prefix key can be changed or turned off by a setting", async () => {
    await using wsh = new Wsh({ config: "prefix_key = 'Ctrl+G'\n" });
    await using person = await PersonTerminal.open(wsh);
    await person.enter("wsh");
    await person.keys("C-g", "C-g");
    await person.sees("[detached from session 'default']");
    await wsh.ok("kill", "default");
  });

  test("Escape, arrows, mouse, paste and wide characters reach the program unchanged", async () => {
    const wsh = usual;
    await using person = await PersonTerminal.open(wsh);
    await person.enter("wsh --name bytes");
    const typed = "\x1b[A\x1bOB\x1b[<0;5;6M\x1b[200~a\nb\x1b[201~é漢👍🏽\x01\x7f";
    const count = Buffer.byteLength(typed) + 1;
    await person.type(
      `stty -icanon -echo -isig -icrnl min 1; echo raw; dd bs=1 count=${count} 2>/dev/null | od -An -v -tx1 -w100`,
    );
    await person.sees(/^raw$/m);
    await person.bytes(typed);
    await person.keys("Escape");
    const wanted = [...Buffer.from(`${typed}\x1b`)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const seen = async (): Promise<boolean> => (await person.screen()).replace(/\s/g, "").includes(wanted);
    await until("every byte", seen);
  });

  test("a large paste arrives complete", async () => {
    const wsh = usual;
    await using person = await PersonTerminal.open(wsh);
    await person.enter("wsh --name paste");
    await person.type("stty -echo; echo ready; cat > pasted; stty echo; cksum pasted");
    await person.sees(/^ready$/m);
    const text = Array.from({ length: 3000 }, (_, index) => `pasted line number ${index}`).join("\n");
    const path = join(wsh.dir, "big");
    writeFileSync(path, `${text}\n`);
    await person.paste(path);
    await person.keys("C-d");
    const [sum] = Bun.spawnSync(["cksum", path]).stdout.toString().split(" big");
    await person.sees(String(sum).split(" ").slice(0, 2).join(" "));
  });

  test("a read-only terminal sees everything, sends no input and does not decide the size", async () => {
    const wsh = usual;
    await using person = await PersonTerminal.open(wsh, { cols: 60, rows: 20 });
    await wsh.session("shown", "--size", "60x20");
    await person.enter("wsh attach shown --read-only");
    await person.type("echo intruder");
    await wsh.exec("shown", "echo visible");
    await person.sees(/^visible$/m);
    expect(await person.screen()).not.toContain("intruder");
    await person.detach();
  });
});

withTmux("sizes", () => {
  test("the program follows the terminal's size", async () => {
    const wsh = usual;
    await using person = await PersonTerminal.open(wsh);
    await person.enter("wsh --name follows");
    await person.resize(101, 33);
    await until("the session to follow", async () => (await listed("follows"))?.cols === 101);
    await person.type("stty size");
    await person.sees(/^33 101$/m);
  });

  test("the terminal that typed last decides the size; the other shows the part that fits, with a message", async () => {
    const wsh = usual;
    await using large = await PersonTerminal.open(wsh, { cols: 100, rows: 30 });
    await using small = await PersonTerminal.open(wsh, { cols: 60, rows: 15 });
    await large.enter("wsh --name both");
    // The size is displayed for a while only.
    await Promise.all([large.sees("session 60x15"), small.enter("wsh attach both")]);
    await until("the small one to decide", async () => (await listed("both"))?.cols === 60);
    await Promise.all([small.sees("session 100x30"), large.type("stty size")]);
    await large.sees(/^30 100$/m);
    await small.detach();
    await large.type("echo alone");
    expect(await large.sees(/^alone$/m)).not.toContain("session 60x15");
  });

  test("with size_policy smallest the screen fits every terminal", async () => {
    await using wsh = new Wsh({ config: "size_policy = 'smallest'\n" });
    await using large = await PersonTerminal.open(wsh, { cols: 100, rows: 30 });
    await using small = await PersonTerminal.open(wsh, { cols: 60, rows: 15 });
    await large.enter("wsh --name both");
    await small.enter("wsh attach both");
    await large.type("stty size");
    await large.sees(/^15 60\b/m);
    await small.sees(/^15 60$/m);
    await small.detach();
    await large.type("stty size");
    await large.sees(/^30 100$/m);
  });
});

withTmux("colours", () => {
  test("a program's query for the background gets the terminal's own colour; the answer is never typed", async () => {
    await using person = await PersonTerminal.open(usual);
    await person.style("fg=#102030,bg=#f0f1f2");
    await person.enter("wsh --name colours");
    // The answer ends with a backslash.
    const ask = `stty -echo; printf '\\033]11;?\\033\\\\'; IFS= read -rsd '\\' said; stty echo; printf %q "$said"; echo`;
    await person.type(ask);
    await person.sees(/\]11;rgb:f0f0\/f1f1\/f2f2.*\n+\$$/m);
    await person.type("exit");
    expect(await person.exitCode()).toBe(0);
    await person.clear();
    for (let round = 0; round < (full ? 3 : 1); round++) {
      await person.run("wsh -c true");
      expect(await person.exitCode()).toBe(0);
      await person.type("echo next");
      await person.sees(/^next$/m);
      expect(await person.screen()).not.toContain("rgb:");
      await person.clear();
    }
  });

  test("colours are parsed in every form that terminals report", () => {
    expect(parseColor("\x1b]10;rgb:0000/8080/ffff\x1b\\")).toEqual({
      name: "foreground",
      rgb: { r: 0, g: 128, b: 255 },
    });
    expect(parseColor("\x1b]11;rgb:0/8/f\x07")).toEqual({ name: "background", rgb: { r: 0, g: 136, b: 255 } });
    expect(parseColor("\x1b]12;rgba:00/80/ff/ff\x07")).toEqual({ name: "cursor", rgb: { r: 0, g: 128, b: 255 } });
    expect(parseColor("\x1b]4;rgb:00/80/ff\x07")).toBeNull();
  });
});

withTmux("many and much", () => {
  test("many wsh at once make one session each and one server", async () => {
    await using wsh = new Wsh();
    await using person = await PersonTerminal.open(wsh);
    const people = await Promise.all(Array.from({ length: full ? 4 : 2 }, () => PersonTerminal.open(wsh)));
    const count = people.length * (full ? 5 : 3);
    for (const one of people) {
      await one.type(`for i in ${full ? "1 2 3 4 5" : "1 2 3"}; do wsh -c 'sleep 60' < /dev/null 2> /dev/null & done`);
    }
    await until("all sessions", async () => (await wsh.list()).length === count);
    const names = (await wsh.list())
      .map(({ name }) => name)
      .sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    expect(names).toEqual([...Array.from({ length: count - 1 }, (_, index) => String(index)), "default"]);
    await until("the server to know them", async () => {
      if (wsh.servers().length !== 1) return false;
      // It may not listen yet.
      const response = await wsh.fetch("/sessions").catch(() => null);
      return ((await response?.json()) as unknown[] | undefined)?.length === count;
    });
    await wsh.ok("stop");
    for (const one of people) await one[Symbol.asyncDispose]();
    await person.type("echo fine");
    await person.sees(/^fine$/m);
  });

  test("a flood is displayed to its end, and Ctrl+C stops one at once", async () => {
    await using person = await PersonTerminal.open(usual);
    await person.enter("wsh --name calm");
    await person.type("seq 1 30000; echo flood over");
    expect(await person.sees(/^flood over\n\$$/m)).toMatch(/^30000$/m);
    await person.type("yes 'endless endless endless'");
    await person.sees(/^endless endless endless$/m);
    await person.keys("C-c");
    await person.sees(/\^C\n\$$/m);
    await person.type("echo calm");
    await person.sees(/^calm$/m);
  });

  test("a terminal that does not read delays nobody, and shows the newest screen when it reads again", async () => {
    const wsh = usual;
    await using person = await PersonTerminal.open(wsh);
    await person.enter("wsh --name flood");
    const freeze = await person.freezer();
    freeze("SIGSTOP");
    // Long lines cost less than many.
    await wsh.enter("flood", "seq -f %079g 8000; echo written");
    await wsh.shows("flood", /^written$/m);
    freeze("SIGCONT");
    await person.sees(/^0+8000\nwritten$/m);
    await person.type("echo in order");
    await person.sees(/^in order$/m);
  });
});
