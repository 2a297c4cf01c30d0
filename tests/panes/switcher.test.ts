/** The switcher: a person finds a session, window or pane by a few letters and switches to it in the same terminal. */
import { describe, expect, test } from "bun:test";
import { fuzzyCost, fuzzyRanked } from "../../src/protocol/fuzzy.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";
import { program } from "../support/wsh-program.ts";

const PREFIX = "\x1c";

describe("the switcher", () => {
  test("filters by letters, previews, switches, and the terminal stays attached to the new one", async () => {
    await using wsh = new Wsh();
    await wsh.session("alpha");
    await wsh.session("beta");
    await wsh.exec("beta", "echo in beta");
    await using person = await EmulatorTerminal.attach(wsh, "alpha");
    person.type("echo in alpha\r");
    await person.sees(/^in alpha$/m);
    person.type(`${PREFIX}s`);
    await person.sees(/^>alpha +prompt, attached/m);
    await person.sees(/│in alpha/);
    person.type("bt");
    await person.sees(/^>beta/m);
    await person.sees(/│in beta/);
    expect(await person.text()).not.toMatch(/^.alpha/m);
    person.type("\r");
    await person.sees(/^in beta$/m);
    person.type("echo still typed\r");
    await person.sees(/^still typed$/m);
    expect(await wsh.screen("beta")).toContain("still typed");
    expect(await wsh.screen("alpha")).not.toContain("still typed");
    await until("one terminal at beta", async () => {
      const all = await wsh.list();
      return all.every(({ name, attached }) => attached === (name === "beta" ? 1 : 0));
    });
    person.type(`${PREFIX}${PREFIX}`);
    await person.sees("[detached from session 'beta']");
  });

  test("says in the same words what a session and its pane wait for", async () => {
    await using wsh = new Wsh();
    await wsh.session("alpha");
    await wsh.ok("new", "reads", "--", "cat");
    await wsh.ok("wait", "reads", "waiting_for_input");
    await using person = await EmulatorTerminal.attach(wsh, "alpha");
    person.type(`${PREFIX}w`);
    await person.sees(/@\d+ cat +waiting for input/);
    await person.sees(/^.reads +waiting for input/m);
  });

  test("lists windows and panes of all sessions; a chosen pane gets the focus, also in a session of several", async () => {
    await using wsh = new Wsh();
    await wsh.session("one");
    await wsh.session("many");
    await using person = await EmulatorTerminal.attach(wsh, "many");
    person.type("echo first pane\r");
    await person.sees(/^first pane/m);
    person.type(`${PREFIX}c`);
    person.type("echo second window\r");
    await person.sees(/^second window$/m);
    const first = (await wsh.list()).find(({ name }) => name === "many")?.pane_id ?? "";
    person.type(`${PREFIX}w`);
    await person.sees(/0: /);
    await person.sees(new RegExp(`${first} `));
    person.type(first);
    await person.sees(/│first pane/);
    person.type("\r");
    await person.sees(/^first pane$/m);
    // From a session of several panes to one of a single pane, and back.
    person.type(`${PREFIX}sone\r`);
    await until("one", async () => (await person.text()).trim() === "$");
    person.type("echo over here\r");
    await person.sees(/^over here$/m);
    person.type(`${PREFIX}smany\r`);
    await person.sees(/^first pane$/m);
  });

  test("renames, makes and ends sessions; ending asks, and Escape leaves all unchanged", async () => {
    await using wsh = new Wsh();
    await wsh.session("alpha");
    await wsh.session("beta");
    await using person = await EmulatorTerminal.attach(wsh, "alpha");
    person.type(`${PREFIX}s`);
    await person.sees(/^>alpha/m);
    person.type("beta");
    await person.sees(/^>beta/m);
    person.type("\x12");
    await person.sees("new name of session 'beta'");
    person.type("gamma\r");
    await person.sees(/^.gamma/m);
    person.type("gamma");
    await person.sees(/^>gamma/m);
    person.type("\x18");
    await person.sees("end session 'gamma' and all its programs?");
    person.type("n");
    await until("the list again", async () => !(await person.text()).includes("and all its programs?"));
    expect((await wsh.list()).length).toBe(2);
    // Enter is not a yes.
    person.type("gamma\x18");
    await person.sees("end session 'gamma'");
    person.type("\r");
    await until("the list again", async () => !(await person.text()).includes("and all its programs?"));
    expect((await wsh.list()).length).toBe(2);
    person.type("\x1b[200~gamma\x1b[201~");
    await person.sees(/^>gamma/m);
    person.type("\x18");
    await person.sees("end session 'gamma'");
    person.type("y");
    await until("one session", async () => (await wsh.list()).length === 1);
    person.type("\x15\x14");
    await person.sees("name of the new session");
    person.type("delta\r");
    await until("at the new session", async () => {
      return (await wsh.list()).some(({ name, attached }) => name === "delta" && attached === 1);
    });
    person.type("echo made\r");
    await person.sees(/^made$/m);
    person.type(`${PREFIX}s\x1b`);
    await person.sees(/^made$/m);
  });

  test("input after Enter is typed in the chosen session, at any speed; nothing is lost or typed elsewhere", async () => {
    await using wsh = new Wsh();
    for (const name of ["alpha", "beta"]) await wsh.session(name);
    await using person = await EmulatorTerminal.attach(wsh, "alpha");
    // Before the list is displayed, and after it.
    person.type(`${PREFIX}sbeta\recho go''ne\r`);
    await person.sees(/^gone$/m);
    expect(await wsh.screen("beta")).toContain("gone");
    person.type(`${PREFIX}s`);
    await person.sees(/^>beta/m);
    person.type("alpha\recho ba''ck\r");
    await person.sees(/^back$/m);
    expect(await wsh.screen("alpha")).toContain("back");
    // To a session that is being made, a paste, too.
    person.type(`${PREFIX}s`);
    await person.sees(/^>alpha/m);
    person.type("\x14gamma\recho ma''de \x1b[200~pasted\x1b[201~\r");
    await person.sees(/^made pasted$/m);
    expect(await wsh.screen("gamma")).toContain("made pasted");
    // After the end of another one, and through the list as it is then.
    person.type(`${PREFIX}s`);
    await person.sees(/^>gamma/m);
    person.type("beta\x18yalpha\recho la''st\r");
    await person.sees(/^last$/m);
    expect((await wsh.list()).map(({ name }) => name).toSorted()).toEqual(["alpha", "gamma"]);
    expect(await wsh.screen("alpha")).toMatch(/^back$[\s\S]*^last$/m);
  });

  test("a question and a name prompt keep their session, also when it has ended", async () => {
    await using wsh = new Wsh();
    for (const name of ["alpha", "beta", "gamma"]) await wsh.session(name);
    await using person = await EmulatorTerminal.attach(wsh, "alpha");
    person.type(`${PREFIX}s`);
    await person.sees(/^>alpha/m);
    for (const [name, key, asked] of [
      ["beta", "\x18", "end session 'beta' and all its programs?"],
      ["gamma", "\x12", "new name of session 'gamma':"],
    ] as const) {
      person.type(name);
      await person.sees(new RegExp(`^>${name}`, "m"));
      person.type(key);
      await person.sees(asked);
      await wsh.ok("kill", name);
      await person.sees((text) => !new RegExp(`^.${name} `, "m").test(text));
      expect(await person.text()).toContain(asked);
      expect(await person.text()).not.toMatch(/^>alpha/m);
      person.type(key === "\x18" ? "y" : "new\r");
      await person.sees(`session '${name}' no longer exists`);
      await person.sees(/^>alpha/m);
    }
    expect((await wsh.list()).map(({ name }) => name)).toEqual(["alpha"]);
  });

  test("reports that there is no agent, and that nothing has the typed name", async () => {
    await using wsh = new Wsh();
    await wsh.session("dev");
    await using person = await EmulatorTerminal.attach(wsh, "dev");
    person.type(`${PREFIX}a`);
    await person.sees("no agent is running");
    person.type("x");
    await person.sees("no match");
  });

  test("no session is shown in itself", async () => {
    await using wsh = new Wsh();
    await wsh.session("outer");
    await wsh.session("inner");
    await using person = await EmulatorTerminal.attach(wsh, "outer");
    person.type(`WSH_PREFIX=C-g ${program.join(" ")} attach --nested inner\r`);
    await until(
      "inner to be shown",
      async () => (await wsh.list()).find(({ name }) => name === "inner")?.attached === 1,
    );
    person.type("\x07souter\r");
    await person.sees("this terminal is already in session 'outer'");
  });
});

test("before it opens another one, wsh prints how many sessions there are; wsh a attaches", async () => {
  await using wsh = new Wsh();
  await using first = EmulatorTerminal.run(wsh, ["--name", "first"]);
  await first.sees(/^\$/m);
  expect(first.bytes).not.toContain("other session");
  await using second = EmulatorTerminal.run(wsh, ["--name", "second"]);
  await second.sees(/^\$/m);
  expect(second.bytes).toContain("1 other session is running: wsh ls lists them, wsh a NAME attaches");
  first.type("echo shared\r");
  await first.sees(/^shared$/m);
  await using third = EmulatorTerminal.run(wsh, ["a", "first"]);
  await third.sees(/^shared$/m);
});

describe("letters", () => {
  test("match in their order; beginnings of words and neighbours come first", () => {
    expect(fuzzyCost("build server", "xs")).toBeNull();
    expect(fuzzyRanked(["obscure", "build server", "bs"], "bs", (text) => text)).toEqual([
      "bs",
      "build server",
      "obscure",
    ]);
    expect(fuzzyRanked(["b", "a"], "  ", (text) => text)).toEqual(["b", "a"]);
    // Words in any order, whole ones before scattered letters; the second text last.
    expect(fuzzyCost("build server", "server build")).toBe(0);
    const places = [{ name: "x", about: "the build" }, { name: "b-u-i-l-d" }, { name: "rebuild" }, { name: "s build" }];
    const found = fuzzyRanked(
      places,
      "build",
      ({ name }) => name,
      ({ about = "" }) => about,
    );
    expect(found.map(({ name }) => name)).toEqual(["s build", "rebuild", "b-u-i-l-d", "x"]);
  });
});
