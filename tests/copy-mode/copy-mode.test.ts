/** Copy mode: a person moves, searches, selects and copies in the history by keys and mouse. */
import { describe, expect, test } from "bun:test";
import { copied, copies, personAt } from "../support/person.ts";
import { until } from "../support/until.ts";

const PREFIX = "\x1c";
const LOOK = `${PREFIX}[`;
const LABEL = /\d+ of \d+ lines up/;

describe("copy mode", () => {
  test("shows the whole history while the program continues, and leaving it shows the present screen", async () => {
    await using all = await personAt();
    const { person, wsh } = all;
    person.type("seq 1 5000\r");
    await person.sees(/^5000$/m);
    person.type(LOOK);
    await person.sees(LABEL);
    person.type("g");
    const oldest = await person.sees(/^1$/m);
    expect(oldest).toMatch(/^22$/m);
    await wsh.enter("dev", "echo meanwhile");
    await person.sees(/new below/);
    expect(await person.text()).not.toContain("meanwhile");
    person.type("q");
    await person.sees(/^meanwhile$/m);
    expect(await person.text()).not.toMatch(LABEL);
    person.type("echo typed\r");
    await person.sees(/^typed$/m);
  });

  test("a search counts its matches during input; n and N wrap around", async () => {
    await using all = await personAt();
    const { person } = all;
    person.type("seq 1 3000; echo Needle; seq 1 50; echo needle\r");
    await person.sees(/^needle$/m);
    person.type(`${LOOK}?nee`);
    await person.sees(/4 of 4/);
    person.type("dle\r");
    await person.sees(/4 of 4/);
    person.type("n");
    await person.sees(/3 of 4/);
    person.type("nnn");
    await person.sees(/4 of 4/);
    person.type("N");
    await person.sees(/1 of 4/);
    person.type("/Needle\r");
    await person.sees(/ of 2$/m);
    person.type("/nothing of that");
    await person.sees("no match");
    person.type("\x1b");
    await until("the search before", async () => (await person.text()).match(/ of 2$/m) !== null);
    // Read as an RE2 pattern.
    person.type("?\x12^30[0-9]{2}$");
    await person.sees(/regex\?\^30/);
    await person.sees(/1 of 1/);
    expect(await person.text()).toMatch(/^3000$/m);
  });

  for (const place of ["the only pane", "one of two panes"]) {
    test(`a search is visible while it is typed, also right after a copy: in ${place}`, async () => {
      await using all = await personAt();
      const { person } = all;
      if (place !== "the only pane") {
        person.type(`${PREFIX}%`);
        await person.sees("│");
      }
      person.type("seq 1 50\r");
      await person.sees(/(?:^|[│┃])50 *$/m);
      person.type(`${LOOK}Vy`);
      await person.sees("copied");
      person.type(`${LOOK}/4`);
      await person.sees(/\/4 *$/m);
      expect(await person.text()).not.toContain("copied");
    });
  }

  test("copies the selection: characters, lines, a rectangle, with wraps joined and whole wide characters", async () => {
    await using all = await personAt({ rows: 12, cols: 40 });
    const { person } = all;
    const long = "abcdefghij".repeat(7);
    person.type(`clear; printf '%s\\n' ${long} '漢字 wide' 'one two' 'six ten'\r`);
    await person.sees(/^six ten$/m);
    person.type(`${LOOK}?abcde\rnnnnnnV`);
    person.type("y");
    await copies(person, `${long}\n`);
    await person.sees("copied 71 characters");
    person.type(`${LOOK}?漢\rvly`);
    await copies(person, "漢字");
    person.type(`${LOOK}?one two\r4l\x16jlly`);
    await copies(person, "two\nten");
    // From the middle of the wrapped line to the next one.
    person.type(`${LOOK}?abcde\r0vj`);
    person.type("0jy");
    await until("another copy", () => copied(person)?.startsWith("abcdefghij".repeat(4)) === true);
  });

  test("commands: jumps between them, and selection of one's whole output", async () => {
    await using all = await personAt();
    const { person, wsh } = all;
    person.type("echo first; seq 1 40\r");
    await person.sees(/^40$/m);
    await person.sees(/^\$ $|^\$$/m);
    expect((await wsh.run("exec", "dev", "--", "true")).code).toBe(0);
    expect((await wsh.run("exec", "dev", "--", "seq 100 103")).code).toBe(0);
    await person.sees(/^103$/m);
    person.type(`${LOOK}[oy`);
    await copies(person, "100\n101\n102\n103\n");
    person.type(`${LOOK}[[o`);
    await person.sees("the command printed nothing");
    person.type("[oy");
    await copies(person, `first\n${Array.from({ length: 40 }, (_, index) => index + 1).join("\n")}\n`);
  });

  test("the mouse: a drag copies and stays, a double click selects a path, a triple click a line, the wheel scrolls", async () => {
    await using all = await personAt();
    const { person } = all;
    person.type("clear; echo see /usr/share/doc/x.txt: fine\r");
    await person.sees(/^see \/usr/m);
    person.type(LOOK);
    await person.sees(LABEL);
    person.type("\x1b[<0;5;1M\x1b[<32;8;1M\x1b[<0;8;1m");
    await copies(person, "/usr");
    await person.sees(LABEL);
    const click = "\x1b[<0;9;1M\x1b[<0;9;1m";
    person.type(click.repeat(2));
    await copies(person, "/usr/share/doc/x.txt");
    // Three at a time: a later one begins a new series, as one elsewhere does.
    person.type(`\x1b[<0;20;5M\x1b[<0;20;5m${click.repeat(3)}`);
    await copies(person, "see /usr/share/doc/x.txt: fine\n");
    person.type("q");
    await until("leaving", async () => !LABEL.test(await person.text()));
    person.type("seq 1 200\r");
    await person.sees(/^200$/m);
    person.type(`${LOOK}\x1b[<64;5;5M`);
    await until("three rows up", async () => /^179$/m.test(await person.text()) && !/^200$/m.test(await person.text()));
  });

  test("a selection outlives a flood below it, with the same text", async () => {
    await using all = await personAt();
    const { person, wsh } = all;
    person.type("clear; echo keep this line\r");
    await person.sees(/^keep this line$/m);
    person.type(`${LOOK}?keep\r`);
    await person.sees(/1 of 1/);
    const found = JSON.stringify(await person.rows());
    person.type("V");
    await until("the selection", async () => JSON.stringify(await person.rows()) !== found);
    await wsh.enter("dev", "clear; seq 1 30000; clear; echo over");
    await until("the flood is over", async () => /^over$/m.test(await wsh.screen("dev")));
    expect(await person.text()).toMatch(/^keep this line/m);
    person.type("y");
    await copies(person, "keep this line\n");
    await person.sees(/^over$/m);
  });

  test("among several panes, one is in copy mode and its neighbour continues", async () => {
    await using all = await personAt();
    const { person } = all;
    person.type("seq 1 300; echo needle\r");
    await person.sees(/^needle$/m);
    person.type(`${PREFIX}%`);
    await person.sees(/[│┃]\$/);
    person.type(`${PREFIX}\x1b[D${LOOK}g`);
    await person.sees(/^2 +[│┃]/m);
    person.type("G?needle\rV");
    await person.sees(/^needle +[│┃]/m);
    person.type("y");
    await copies(person, "needle\n");
    await until("leaving", async () => !LABEL.test(await person.text()));
    person.type(`${LOOK}g`);
    await person.sees(/^2 +[│┃]/m);
    person.type(`${PREFIX}\x1b[Cecho beside\r`);
    await person.sees(/[│┃]beside/);
    expect(await person.text()).toMatch(/^2 +[│┃]/m);
  });

  test("over a full-screen program it has that screen; emacs keys if set; any size", async () => {
    await using all = await personAt({ rows: 10, cols: 50, config: "mode_keys = 'emacs'\n" });
    const { person } = all;
    person.type("seq 1 100\r");
    await person.sees(/^100$/m);
    person.type("printf '\\033[?1049h\\033[Hfull screen here'; read x; printf '\\033[?1049l'\r");
    await person.sees(/^full screen here/m);
    person.type(`${LOOK}\x1b<`);
    await person.sees(/^2$/m);
    person.type("\x1b>");
    await person.sees("full screen here");
    person.resize(6, 30);
    await person.sees(/lines up/);
    person.type("\x12full\r\0\x1bf\x1bw");
    await copies(person, "full");
    person.type("\r");
    await person.sees(/^\$/m);
  });

  test("copies are kept: pasted by a key, printed, listed, and they move with a split", async () => {
    await using all = await personAt();
    const { person, wsh } = all;
    person.type(`${PREFIX}]`);
    await person.sees("nothing has been copied yet");
    person.type("echo one; echo two\r");
    await person.sees(/^two$/m);
    person.type(`${LOOK}?one\rVy`);
    await copies(person, "one\n");
    await person.sees("copied");
    await wsh.enter("dev", "printf '\\033]52;c;%s\\a' $(printf two | base64)");
    await until("the program's copy", async () => (await wsh.ok("buffer", "show")) === "two");
    person.type(`${PREFIX}%`);
    await person.sees(/[│┃]\$/);
    expect(await wsh.ok("buffer", "show", "buffer0")).toBe("one\n");
    expect((await wsh.runWith({ input: "echo pasted" }, "buffer", "set", "--session", "dev")).code).toBe(0);
    // A key of the person does not type what an agent has stored meanwhile.
    const byAgent = { input: "echo agents", env: { WSH_AGENT: "claude" } };
    expect((await wsh.runWith(byAgent, "buffer", "set", "--session", "dev")).code).toBe(0);
    expect(await wsh.ok("buffer", "list")).toContain("echo agents");
    expect(await wsh.ok("buffer", "show")).toBe("echo pasted");
    person.type(`${PREFIX}]\r`);
    await person.sees(/[│┃]pasted/);
    await wsh.ok("buffer", "paste", "--to", "dev:0.0");
    await until("the person's buffer by the command line", async () =>
      /^\$ echo pasted$/m.test(await wsh.screen("dev")),
    );
    await wsh.call("dev:0.0", "input.send", { keys: ["Ctrl+U"] });
    await wsh.ok("buffer", "delete", "buffer3");
    person.type(`${PREFIX}[?pasted\rVy`);
    await copies(person, "pasted\n");
    await until("the copy in the list", async () => (await wsh.ok("buffer", "show")) === "pasted\n");
    expect(JSON.parse(await wsh.ok("buffer", "list", "--json"))).toMatchObject([
      { begins: "pasted\n", bytes: 7 },
      { begins: "echo pasted" },
      { begins: "two" },
      { begins: "one\n" },
    ]);
    expect((await wsh.run("buffer", "show", "none")).stderr).toContain("no paste buffer 'none'");
    // Another session sees them, chosen from a list; a private one keeps its own.
    await wsh.ok("new", "other", "--private");
    await wsh.ok("buffer", "set", "--session", "other", "for me alone");
    expect(await wsh.ok("buffer", "show", "--session", "other")).toBe("for me alone");
    expect(await wsh.ok("buffer", "list", "--session", "other")).toContain("echo pasted");
    expect(await wsh.ok("buffer", "list")).not.toContain("alone");
    person.type(`${PREFIX}=`);
    await person.sees("Paste buffers");
    person.type("echo");
    await person.sees(/^>\S+ +echo pasted/m);
    person.type("\x18y");
    await until("its end", async () => !(await wsh.ok("buffer", "list")).includes("echo pasted"));
    person.type("\x15two\r");
    await person.sees(/two$/m);
  });
});
