/** Windows, panes and layouts on the command line, inside and outside a session. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

interface Window {
  readonly id: string;
  readonly index: number;
  readonly name: string;
  readonly active: boolean;
  readonly zoomed?: boolean;
  readonly panes: readonly {
    readonly id: string;
    readonly command: string;
    readonly rows: number;
    readonly cols: number;
    readonly cwd: string;
    readonly active: boolean;
    readonly program?: string;
    readonly exit_code?: number | null;
  }[];
}

async function instance() {
  const wsh = new Wsh();
  const windows = async (name: string): Promise<Window[]> =>
    (await wsh.call(name, "window.list", {})) as unknown as Window[];
  const places = async (name: string) =>
    (await windows(name)).map(({ panes }) => panes.map(({ rows, cols }) => `${cols}x${rows}`));
  const file = (name: string, text: string): string => {
    fs.writeFileSync(join(wsh.dir, name), text);
    return name;
  };
  return { wsh, windows, places, file, [Symbol.asyncDispose]: () => wsh[Symbol.asyncDispose]() };
}

describe("split, pane and window", () => {
  test("a pane is made, changed, listed and closed; every answer names it", async () => {
    await using all = await instance();
    const { wsh, windows, places } = all;
    const { pane_id: first } = await wsh.session("dev");
    const second = (await wsh.ok("split", "dev", "-d", "down", "--size", "25%", "--title", "logs", "--", "cat")).trim();
    expect(second).toMatch(/^@\d+$/);
    expect(await places("dev")).toEqual([["80x17", "80x6"]]);
    expect(await wsh.ok("pane", "list", "dev")).toMatch(new RegExp(`^${second} +0\\.1 +80x6 .*cat +logs$`, "m"));
    expect((await windows("dev"))[0]?.panes.map(({ active }) => active)).toEqual([true, false]);

    await wsh.ok("pane", "resize", second, "--rows", "10");
    expect(await places("dev")).toEqual([["80x13", "80x10"]]);
    await wsh.ok("pane", "select", "dev:0.0", "--to", "down");
    expect((await windows("dev"))[0]?.panes.map(({ active }) => active)).toEqual([false, true]);
    await wsh.ok("pane", "zoom", first);
    expect((await windows("dev"))[0]).toMatchObject({ zoomed: true });
    await wsh.ok("pane", "zoom", first);
    await wsh.ok("pane", "swap", first, second);
    expect((await windows("dev"))[0]?.panes.map(({ id }) => id)).toEqual([second, first]);
    expect(await wsh.ok("pane", "move", second)).toBe(`${second}\n`);
    expect((await windows("dev")).map(({ panes }) => panes.map(({ id }) => id))).toEqual([[first], [second]]);
    await wsh.ok("pane", "move", second, "--to", first, "-d", "left");
    expect((await windows("dev"))[0]?.panes.map(({ id }) => id)).toEqual([second, first]);
    const again = (await wsh.ok("pane", "respawn", second, "--", "sleep 100")).trim();
    expect((await windows("dev"))[0]?.panes[0]).toMatchObject({ id: again, command: "sleep 100" });
    // Until then it is the shell that becomes it.
    await until("sleep", async () => (await windows("dev"))[0]?.panes[0]?.program === "sleep");
    expect(await wsh.ok("pane", "close", again)).toBe(`Pane ${again} closed; ended 'sleep'.\n`);
    expect(await places("dev")).toEqual([["80x24"]]);
  });

  test("windows are made, named, numbered, shown and closed", async () => {
    await using all = await instance();
    const { wsh, windows } = all;
    await wsh.session("dev");
    const logs = (await wsh.ok("window", "new", "dev", "--name", "logs", "--", "cat")).trim();
    expect(logs).toMatch(/^@w\d+$/);
    expect(await windows("dev")).toMatchObject([{ active: true }, { id: logs, index: 1, name: "logs", active: false }]);
    await wsh.ok("window", "rename", "dev:logs", "output");
    await wsh.ok("window", "move", "dev:output", "7");
    await wsh.ok("window", "select", logs);
    expect((await windows("dev"))[1]).toMatchObject({ index: 7, name: "output", active: true });
    await wsh.ok("window", "select", logs, "--to", "next");
    expect((await windows("dev"))[0]).toMatchObject({ active: true });
    await wsh.ok("window", "synchronize", logs, "on");
    expect(await wsh.ok("window", "list", "dev")).toMatch(/output .*synchronized/);
    await until("cat", async () => (await windows("dev"))[1]?.panes[0]?.program === "cat");
    expect(await wsh.ok("window", "close", logs)).toBe(`Window ${logs} closed; ended 'cat'.\n`);
    expect(await windows("dev")).toHaveLength(1);
  });

  test("inside a session the default is the surrounding pane, but none of another instance", async () => {
    await using all = await instance();
    const { wsh, windows } = all;
    const { pane_id } = await wsh.session("dev");
    await wsh.ok("split", "dev");
    const [command = ""] = wsh.command();
    const cli = wsh
      .command()
      .map((word) => `'${word}'`)
      .join(" ");
    expect(command).not.toBe("");
    await wsh.exec("dev", `${cli} split -d down --title inner -- cat`);
    const [window] = await windows("dev");
    // Below the caller's pane, not beside the active or the newest one.
    expect(window?.panes.map(({ rows }) => rows)).toEqual([12, 11, 24]);
    expect(await wsh.exec("dev", `${cli} pane list --json`)).toContain(`"id": "${pane_id}"`);
    const inner = window?.panes[1]?.id ?? "";
    await until("cat", async () => (await windows("dev"))[0]?.panes[1]?.program === "cat");
    expect(await wsh.exec("dev", `${cli} pane close ${inner}`)).toBe(`Pane ${inner} closed; ended 'cat'.\n`);
    expect(await wsh.run("pane", "list")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("not inside a session"),
    });
    const env = { WSH_PANE: pane_id, WSH_SOCKET: wsh.instance.httpSocket };
    expect((await wsh.runWith({ env }, "-L", "other", "pane", "list")).code).toBe(2);
  });
});

describe("an invalid request", () => {
  const all = new Wsh();
  beforeAll(() => all.session("dev"));
  afterAll(() => all[Symbol.asyncDispose]());

  test.each([
    [["split", "dev", "--size", "0"], 2, "is not a size"],
    [["split", "dev", "--size", "100%"], 2, "is not a size"],
    [["split", "dev", "-d", "sideways"], 2, "sideways"],
    [["split", "dev", "--view", "other", "--", "cat"], 2, "--view"],
    [["split", "dev", "--cwd", "/none"], 1, "/none"],
    [["split", "dev", "--shell", "noshell"], 1, "noshell"],
    [["split", "dev", "--view", "dev"], 1, "itself"],
    [["split", "none"], 1, "none"],
    [["pane", "dance"], 2, "dance"],
    [["pane", "resize", "dev"], 2, "--rows"],
    [["pane", "swap", "dev", "@99"], 1, "@99"],
    [["pane", "keep", "dev", "maybe"], 2, "maybe"],
    [["pane", "list", "dev", "--", "cat"], 2, "respawn"],
    [["window", "rename"], 2, "a name"],
    [["window", "rename", "dev", "7"], 1, "name"],
    [["window", "close", "dev:9"], 1, "9"],
    [["layout", "preset", "dev", "round"], 2, "round"],
    [["layout", "set", "dev", "0000,80x24,0,0,1"], 1, "checksum"],
    [["layout", "set", "dev", "none.toml"], 1, "none.toml"],
    [["layout", "set", "/nosuch", "dev"], 2, "The file comes last: wsh layout set dev /nosuch"],
    [["layout", "save", "./x.toml", "dev"], 2, "The file comes last: wsh layout save dev ./x.toml"],
    [["layout", "set", "/one", "/two"], 2, "Give a session"],
    [["layout", "set", "dev", "/dev/null"], 1, "not a regular file"],
  ])("%j is refused with %d: %s", async (args, code, said) => {
    const finished = await all.run(...args);
    expect([finished.code, finished.stderr]).toEqual([code, expect.stringContaining(said)]);
    expect(finished.stdout).toBe("");
  });

  test("changes nothing", async () => {
    expect((await all.list()).map(({ name }) => name)).toEqual(["dev"]);
    expect(JSON.parse(await all.ok("window", "list", "dev", "--json"))).toMatchObject([{ panes: [{}] }]);
  });
});

test("a layout comes from standard input with -, and never from a pipe, which may have no writer", async () => {
  await using wsh = new Wsh();
  await wsh.session("dev");
  const pipe = join(wsh.dir, "pipe");
  Bun.spawnSync(["mkfifo", pipe]);
  const refused = await wsh.run("layout", "set", "dev", pipe);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("not a regular file")]);
  const input = '{"row": [{"command": "cat"}, {"command": "cat"}]}';
  expect((await wsh.runWith({ input }, "layout", "set", "dev", "-")).code).toBe(0);
  expect(JSON.parse(await wsh.ok("pane", "list", "dev", "--json"))).toHaveLength(2);
});

describe("layout files", () => {
  const toml = `
[[windows]]
name = "edit"
row = [
  { command = "cat", weight = 2, title = "editor" },
  { column = [
    { cwd = "sub", focus = true, env = { WHERE = "here" } },
    { command = "echo done; exit 3", keep_after_exit = true },
  ] },
]

[[windows]]
name = "logs"
command = "sleep 100"
`;

  test("start a session, are saved, and start the same again", async () => {
    await using all = await instance();
    const { wsh, windows, places, file } = all;
    fs.mkdirSync(join(wsh.dir, "sub"));
    expect(await wsh.ok("new", "dev", "--layout", file("dev.toml", toml))).toBe("dev\n");
    const [edit, logs] = await windows("dev");
    expect(edit).toMatchObject({ name: "edit", active: true, panes: [{ command: "cat" }, { active: true }, {}] });
    expect(logs).toMatchObject({ name: "logs", panes: [{ command: "sleep 100" }] });
    expect(await places("dev")).toEqual([["53x24", "26x12", "26x11"], ["80x24"]]);
    const shell = edit?.panes[1]?.id ?? "";
    expect(await wsh.exec(shell, 'echo "$WHERE $PWD"')).toBe(`here ${join(wsh.dir, "sub")}\n`);
    await until("the kept pane's end", async () => (await wsh.ok("pane", "list", "dev")).includes("exited: 3"));

    for (const saved of ["saved.toml", "saved.json"]) {
      await wsh.ok("layout", "save", "dev", saved);
      const twice = await wsh.run("layout", "save", "dev", saved);
      expect([twice.code, twice.stderr]).toEqual([1, expect.stringContaining("exists")]);
      await wsh.ok("layout", "save", "dev", saved, "--force");
      const name = `from-${saved}`;
      // Ended programs are started again.
      fs.writeFileSync(
        join(wsh.dir, saved),
        fs.readFileSync(join(wsh.dir, saved), "utf8").replace("echo done; exit 3", "cat"),
      );
      await wsh.ok("new", name, "--layout", saved);
      expect(await places(name)).toEqual(await places("dev"));
      const again = await windows(name);
      expect(again.map(({ name: called, active }) => [called, active])).toEqual([
        ["edit", true],
        ["logs", false],
      ]);
      expect(again[0]?.panes.map(({ active }) => active)).toEqual([false, true, false]);
      expect(again[0]?.panes[1]?.cwd).toBe(join(wsh.dir, "sub"));
      expect(await wsh.exec(again[0]?.panes[1]?.id ?? "", 'echo "$WHERE"')).toBe("here\n");
    }
    expect(await wsh.ok("layout", "save", "dev", "-")).toStartWith("[[windows]]\n");
  });

  test("may begin with a byte order mark", async () => {
    await using all = await instance();
    const { wsh, windows, file } = all;
    for (const [name, text] of [
      ["toml", '[[windows]]\ncommand = "cat"\n'],
      ["json", '{"row": [{"command": "cat"}, {"command": "cat"}]}'],
    ] as const) {
      await wsh.ok("new", name, "--layout", file(`marked.${name}`, `\ufeff${text}`));
      expect((await windows(name))[0]?.panes[0]).toMatchObject({ command: "cat" });
    }
  });

  test("keep titles, keep-after-end settings, and given names, and no others", async () => {
    await using all = await instance();
    const { wsh, windows } = all;
    await wsh.session("dev");
    await wsh.ok("split", "dev", "--keep", "--title", "jobs", "--", "true");
    await wsh.ok("window", "new", "dev");
    await wsh.ok("layout", "save", "dev", "dev.toml");
    await wsh.ok("new", "again", "--layout", "dev.toml");
    const [first, second] = await until("the kept pane's end", async () => {
      const found = await windows("again");
      return found[0]?.panes[1]?.exit_code === 0 ? found : null;
    });
    expect(first?.panes[1]).toMatchObject({ title: "jobs", command: "true" });
    await wsh.enter(`${second?.id}`, "sleep 1000");
    await until("a name after the program", async () => (await windows("again"))[1]?.name === "sleep");
  });

  test("keep the variables that a pane was started with, except secrets", async () => {
    await using all = await instance();
    const { wsh } = all;
    const own = ["--env", "PLACE=first", "--env", "API_TOKEN=s3cret", "--env", "DB=postgres://me:s3cret@db/x"];
    await wsh.ok("new", "dev", ...own);
    const saved = async (): Promise<string> => wsh.ok("layout", "save", "dev", "-");
    expect(await saved()).toContain('env = { PLACE = "first" }');
    expect(await saved()).not.toContain("s3cret");
    // The second pane has the first one's variables.
    await wsh.ok("split", "dev", "--env", "ODD.NAME=a b", "--env", "SECRET_KEY=s3cret", "--", "sleep 1000");
    const both = await saved();
    expect(both).toContain('env = { PLACE = "first" }');
    expect(both).toContain('env = { "ODD.NAME" = "a b" }');
    expect(both).not.toContain("s3cret");
    fs.writeFileSync(join(wsh.dir, "dev.toml"), both);
    await wsh.ok("new", "again", "--layout", "dev.toml");
    expect(await wsh.exec("again", 'echo "$PLACE"')).toBe("first\n");
    expect(await wsh.ok("layout", "save", "again", "-")).toBe(both);
  });

  test("tmux's own layouts: as an argument, as a file, and in a file with programs", async () => {
    await using all = await instance();
    const { wsh, places, windows, file } = all;
    const tmux = "d463,159x48,0,0{79x48,0,0,0,79x48,80,0,1}";
    await wsh.ok("new", "one", "--size", "159x48", "--layout", tmux);
    expect(await places("one")).toEqual([["79x48", "79x48"]]);
    expect((await wsh.ok("layout", "get", "one", "--tmux")).trim()).toContain("159x48,0,0{79x48,0,0,");
    await wsh.ok("new", "two", "--layout", file("two.layout", `${tmux}\n`));
    expect(await places("two")).toEqual([["40x24", "39x24"]]);
    await wsh.ok(
      "new",
      "three",
      "--layout",
      file("three.toml", `tmux = "${tmux}"\npanes = [{}, { command = "cat" }]\n`),
    );
    expect((await windows("three"))[0]?.panes.map(({ command }) => command)).toEqual(["/bin/bash", "cat"]);
  });

  test("arrange an existing window: its panes take the first places, others are started", async () => {
    await using all = await instance();
    const { wsh, windows, places, file } = all;
    const { pane_id } = await wsh.session("dev");
    const layout = file("w.toml", 'column = [{ weight = 2 }, { command = "cat" }, { command = "cat" }]\n');
    await wsh.ok("layout", "set", "dev", layout);
    expect((await windows("dev"))[0]?.panes).toMatchObject([{ id: pane_id }, { command: "cat" }, { command: "cat" }]);
    expect(await places("dev")).toEqual([["80x11", "80x6", "80x5"]]);
    const two = file("two.toml", "row = [{}, {}]\n");
    expect(await wsh.run("layout", "set", "dev", two)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("the tree omits"),
    });
    await wsh.ok("layout", "set", "dev", two, "--close-others");
    expect(await places("dev")).toEqual([["40x24", "39x24"]]);
    await wsh.ok("layout", "rotate", "dev");
    expect((await windows("dev"))[0]?.panes[1]?.id).toBe(pane_id);
  });

  test("panes without room are named, and appear when there is room", async () => {
    await using all = await instance();
    const { wsh, file, windows } = all;
    const many = file("many.toml", `column = [${"{}, ".repeat(9)}]\n`);
    const made = await wsh.run("new", "dev", "--size", "20x8", "--layout", many);
    expect([made.code, made.stderr]).toEqual([0, expect.stringMatching(/\d of 9 panes .* do not fit at 20x8: @\d+/)]);
    await wsh.ok("resize", "dev", "80x40");
    expect((await windows("dev"))[0]?.panes.every((pane) => !("hidden" in pane))).toBe(true);
  });

  test.each([
    ["wrong.toml", "row = [\n  { comand = 'x' },\n]\n", /wrong\.toml:2: 'row\.0\.comand' is unknown; use command/],
    ["wrong.toml", "[[windows]]\nname = 'a'\n\n[[windows]]\nname = '7'\n", /wrong\.toml:5: 'windows\.1\.name'/],
    ["wrong.toml", "command = 'cat'\ncwd = 'none'\n", /wrong\.toml:2: 'cwd' is not a directory: '.*none'/],
    ["wrong.toml", "command = 'cat'\n= 1\n", /wrong\.toml:2:1: not valid TOML/],
    ["wrong.toml", "row = []\n", /wrong\.toml:1: 'row' must be a list of panes/],
    ["wrong.toml", "row = [{}, { weight = -1 }]\n", /'row\.1\.weight' must be a number from/],
    ["wrong.toml", "row = [{}, { weight = 1e308 }]\n", /wrong\.toml:1: 'row\.1\.weight' must be a number from/],
    ["wrong.toml", `row = [${"{row=[".repeat(40)}{}${"]}".repeat(40)}]\n`, /is nested too deep or has too many panes/],
    ["wrong.json", `${'{"row":['.repeat(20_000)}{}${"]}".repeat(20_000)}`, /is nested too deep/],
    ["80x24,0,0{40x24,0,0,0,39x24,41,0,1}", null, /begins with a checksum of four hexadecimal digits/],
    ["wrong.toml", "row = [{ focus = true }, { focus = true }]\n", /2 panes have 'focus'/],
    ["wrong.toml", "view = 'dev'\ncommand = 'cat'\n", /'view' cannot be used together with/],
    ["wrong.toml", "tmux = '0000,80x24,0,0,1'\n", /wrong\.toml:1: 'tmux' .*checksum/],
    ["wrong.toml", "env = { A = 1 }\n", /'env' must be a table of strings/],
    ["wrong.json", '{"windows": [\n {"row": [{}, {"command": 7}]}]}', /wrong\.json:2: 'windows\.0\.row\.1\.command'/],
    ["wrong.json", '{"windows": [\n', /wrong\.json:2: not valid JSON/],
    ["none.toml", null, /'none\.toml' cannot be read/],
  ])("a mistake in %s is named with its line, and nothing is started (%j)", async (name, text, said) => {
    await using all = await instance();
    const { wsh, file } = all;
    if (text !== null) file(name, text);
    const { code, stdout, stderr } = await wsh.run("new", "dev", "--layout", name);
    expect([code, stdout, stderr]).toEqual([1, "", expect.stringMatching(said)]);
    expect(await wsh.list()).toEqual([]);
  });

  test("a missing program is named, and a failure half way leaves no session", async () => {
    await using all = await instance();
    const { wsh, file } = all;
    const layout = file("a.toml", "row = [\n {},\n { command = 'no-such-program --x', keep_after_exit = true }]\n");
    const made = await wsh.run("new", "dev", "--layout", layout);
    expect([made.code, made.stderr]).toEqual([
      0,
      expect.stringContaining("a.toml:3: 'row.1.command' starts 'no-such-program'"),
    ]);
    await until("its end", async () => (await wsh.ok("pane", "list", "dev")).includes("exited: 127"));
    await wsh.ok("kill", "dev");
    const failing = file("b.toml", "row = [{}, { shell = '/no/shell' }]\n");
    expect(await wsh.run("new", "dev", "--layout", failing)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("/no/shell"),
    });
    await until("nothing to be left", async () => (await wsh.list()).length === 0);
  });
});

describe("wsh exec", () => {
  test("--show: in a pane beside, with its output and exit code; the focus stays", async () => {
    await using all = await instance();
    const { wsh, windows } = all;
    await wsh.session("dev");
    expect(await wsh.run("exec", "--show", "dev", "--", "echo shown; exit 3")).toMatchObject({
      code: 3,
      stdout: "shown\n",
    });
    const kept = await wsh.run("exec", "--show", "--keep", "failed", "dev", "--", "echo bad; exit 4");
    expect(kept).toMatchObject({ code: 4, stdout: "bad\n" });
    expect((await wsh.run("exec", "--show", "--keep", "failed", "dev", "--", "echo good")).code).toBe(0);
    await until("the failed one beside the first", async () => (await windows("dev"))[0]?.panes.length === 2);
    expect((await windows("dev"))[0]?.panes.map(({ active }) => active)).toEqual([true, false]);
    expect(await wsh.run("exec", "--show", "--", "true")).toMatchObject({ code: 2 });
    expect(await wsh.run("exec", "--keep", "all", "dev", "--", "true")).toMatchObject({ code: 2 });
  });

  test("--pipeline: each command reads the output of the one before; a failing one ends them", async () => {
    await using all = await instance();
    const { wsh } = all;
    const sorted = await wsh.run("exec", "--pipeline", "printf 'b\\na\\n'", "sort", "tr a-z A-Z");
    expect(sorted).toMatchObject({ code: 0, stdout: "A\nB\n" });
    const failed = await wsh.run("exec", "--pipeline", "--", "echo x; exit 5", "cat");
    expect(failed).toMatchObject({ code: 5, stdout: "x\n", stderr: expect.stringContaining("were not run") });
    expect(await wsh.run("exec", "--pipeline", "true")).toMatchObject({ code: 2 });
  });

  test("--pipeline --json: the result of each command, with its own output and exit code", async () => {
    await using all = await instance();
    const { wsh } = all;
    const steps = (stdout: string) =>
      (JSON.parse(stdout).steps as { state: string; exit_code: number | null; output: string }[]).map(
        ({ state, exit_code, output }) => [state, exit_code, output],
      );
    const sorted = await wsh.run("exec", "--pipeline", "--json", "printf 'b\\na\\n'", "sort", "tr a-z A-Z");
    expect(sorted).toMatchObject({ code: 0, stderr: "" });
    expect(steps(sorted.stdout)).toEqual([
      ["finished", 0, "b\na"],
      ["finished", 0, "a\nb"],
      ["finished", 0, "A\nB"],
    ]);
    const failed = await wsh.run("exec", "--pipeline", "--json", "--", "echo x", "cat; exit 5", "cat");
    expect(failed.code).toBe(5);
    expect(steps(failed.stdout)).toEqual([
      ["finished", 0, "x"],
      ["finished", 5, "x"],
      ["skipped", null, ""],
    ]);
  });
});
