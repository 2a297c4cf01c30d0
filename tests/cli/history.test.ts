/** `wsh history` finds commands with their shell and session, but none that the shell's own history excludes. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { readText } from "../../src/platform/readable.ts";
import { McpInstance } from "../support/mcp-instance.ts";
import { isMissing, testWith } from "../support/programs.ts";
import { hasTmux, PersonTerminal } from "../support/terminals/tmux-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

interface Found {
  readonly id: number;
  readonly command: string;
  readonly exit_code: number | null;
  readonly session: string | null;
  readonly by: string;
  readonly cwd: string | null;
  readonly output?: string | null;
}

async function history(wsh: Wsh, ...args: readonly string[]): Promise<Found[]> {
  return JSON.parse(await wsh.ok("history", "--json", ...args)).commands;
}

async function texts(wsh: Wsh, ...args: readonly string[]): Promise<string[]> {
  return (await history(wsh, ...args)).map(({ command }) => command);
}

/** Types lines one by one, each at a prompt, and waits for the prompt after the last. */
async function typed(wsh: Wsh, session: string, ...lines: readonly string[]): Promise<void> {
  for (const line of lines) {
    await wsh.prompt(session);
    await wsh.type(session, `${line}\r`);
    await until(`'${line}' to have run`, async () => {
      const commands = await wsh.commands(session);
      const last = commands.at(-1);
      return last?.command?.trim() === line.trim() && last.state !== "running";
    });
  }
  await wsh.prompt(session);
}

describe("a command", () => {
  test("is found by words, from any session, also an ended one", async () => {
    await using wsh = new Wsh();
    await wsh.session("one");
    await wsh.session("two");
    await wsh.run("exec", "one", "--", "echo alpha; false");
    await wsh.exec("two", "echo beta");
    await wsh.run("exec", "--", "echo gamma; exit 3");
    await wsh.ok("kill", "one");
    expect(await texts(wsh)).toEqual(["echo gamma; exit 3", "echo beta", "echo alpha; false"]);
    expect(await history(wsh, "alph")).toMatchObject([
      { command: "echo alpha; false", exit_code: 1, session: "one", by: "person", cwd: wsh.dir },
    ]);
    expect(await texts(wsh, "--failed")).toEqual(["echo gamma; exit 3", "echo alpha; false"]);
    expect(await texts(wsh, "--session", "two")).toEqual(["echo beta"]);
    expect(await texts(wsh, "--since", "1h", "echo")).toHaveLength(3);
    expect(await texts(wsh, "--until", "1h")).toEqual([]);
    expect(await wsh.ok("history")).toMatch(/WHEN .*COMMAND\n.*echo gamma.*\n.*echo beta\n.*echo alpha; false/s);
    expect(await history(wsh, "beta", "--output")).toMatchObject([{ output: null }]);
  });

  test("has its output with the setting history = output", async () => {
    await using wsh = new Wsh({ config: 'history = "output"\n' });
    await wsh.session("one");
    await wsh.exec("one", "seq 1 3");
    expect(await history(wsh, "seq", "--output")).toMatchObject([{ command: "seq 1 3", output: "1\n2\n3" }]);
    expect(await wsh.ok("history", "seq", "--output")).toContain("$ seq 1 3\n1\n2\n3\n");
  });

  test("is not written with history = off, or in a private session", async () => {
    await using off = new Wsh({ config: 'history = "off"\n' });
    await off.session("one");
    await off.exec("one", "echo hidden");
    expect(fs.existsSync(join(off.instance.stateDir, "t.history"))).toBe(false);
    await using wsh = new Wsh();
    await wsh.session("one", "--private");
    await wsh.exec("one", "echo hidden");
    expect(await texts(wsh)).toEqual([]);
    expect((await wsh.list())[0]).toMatchObject({ private: true });
  });

  test("an unknown session is an error; one that has run nothing, or has ended, is known", async () => {
    await using wsh = new Wsh();
    await wsh.session("quiet");
    await wsh.session("gone");
    await wsh.exec("gone", "echo kept");
    await wsh.ok("kill", "gone");
    for (const args of [[], ["--json"], ["echo"]]) {
      const { code, stdout, stderr } = await wsh.run("history", "--session", "nosuch", ...args);
      expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: "", stderr: expect.stringContaining("'nosuch'") });
    }
    expect(await wsh.ok("history", "--session", "quiet")).toBe("No commands.\n");
    expect(await wsh.ok("history", "--session", "gone")).toContain("echo kept");
    expect(await wsh.ok("history", "--session", "gone", "nothing-of-it")).toBe("No commands.\n");

    expect(await wsh.run("checkpoint", "list", "nosuch")).toMatchObject({
      ...{ code: 1, stdout: "", stderr: expect.stringContaining("'nosuch'") },
    });
    expect(await wsh.ok("checkpoint", "list", "quiet")).toContain("no labelled checkpoints");
  });

  test("bad filters are refused by name", async () => {
    await using wsh = new Wsh();
    expect(await wsh.run("history", "--since", "yesterday")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("'yesterday' is not a time"),
    });
    expect(await wsh.run("history", "--longer", "soon")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("not a duration"),
    });
    expect(await wsh.run("history", "--by", "nobody")).toMatchObject({ code: 1 });
    expect(await wsh.run("history", "delete")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("no commands selected"),
    });
    expect(await wsh.run("history", "delete", "--all")).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("confirm with --yes"),
    });
  });

  test("delete removes it from every file", async () => {
    await using wsh = new Wsh();
    await wsh.session("one");
    await wsh.exec("one", ": tulip-9371");
    await wsh.exec("one", ": rose");
    expect(await wsh.ok("history", "delete", "tulip", "--yes")).toBe("Deleted 1 command.\n");
    expect(await texts(wsh)).toEqual([": rose"]);
    const directory = join(wsh.instance.stateDir, "t.history");
    for (const name of fs.readdirSync(directory)) {
      expect(readText(join(directory, name)) ?? "").not.toContain("tulip");
    }
    expect(await wsh.ok("history", "delete", "--all", "--yes")).toBe("Deleted 1 command.\n");
  });
});

describe("a command that a shell excludes from its own history is kept nowhere", () => {
  test("bash: a leading blank, HISTIGNORE, no history; a repetition is kept", async () => {
    await using wsh = new Wsh();
    fs.appendFileSync(join(wsh.dir, "home/.bashrc"), "HISTCONTROL=ignoreboth\nHISTIGNORE='*passw*'\n");
    await wsh.session("one");
    await typed(
      wsh,
      "one",
      "echo kept",
      " echo blank",
      "echo passw",
      "echo kept",
      "set +o history",
      "echo off",
      "set -o history",
      "echo on",
    );
    const all = (await texts(wsh, "-n", "100")).join("\n");
    expect(all).not.toMatch(/blank|passw|echo off/);
    expect(all.match(/echo kept/g)).toHaveLength(2);
  });

  testWith("zsh")("zsh: HIST_IGNORE_SPACE, HISTORY_IGNORE, the person's hook", async () => {
    await using wsh = new Wsh({ env: { SHELL: "/usr/bin/zsh" } });
    const rc = "PS1='$ '\nsetopt HIST_IGNORE_SPACE\nHISTORY_IGNORE='*passw*'\n";
    fs.writeFileSync(join(wsh.dir, "home/.zshrc"), rc);
    await wsh.session("one");
    await typed(wsh, "one", "echo kept", " echo blank", "echo passw", "echo last");
    expect(await texts(wsh)).toEqual(["echo last", "echo kept"]);
    fs.writeFileSync(join(wsh.dir, "home/.zshrc"), `${rc}zshaddhistory() { [[ $1 != *secret* ]] }\n`);
    await wsh.session("two");
    await typed(wsh, "two", "echo hooked", "echo secret", "echo after", "true");
    expect(await texts(wsh, "--session", "two")).toEqual(["echo after", "echo hooked"]);
  });

  testWith("fish")("fish: a leading blank, private mode", async () => {
    await using wsh = new Wsh({ env: { SHELL: "/usr/bin/fish" } });
    await wsh.session("one");
    await typed(wsh, "one", "echo kept", " echo blank", "set -g fish_private_mode 1", "echo private");
    const all = (await texts(wsh)).join("\n");
    expect(all).toContain("echo kept");
    expect(all).not.toMatch(/blank|echo private/);
  });
});

describe("programs in between", () => {
  test("a stopped command ends there, input in a shell without integration is not kept", async () => {
    await using wsh = new Wsh();
    await wsh.session("one");
    await wsh.prompt("one");
    await wsh.type("one", "sleep 100\r");
    await until("sleep to run", async () =>
      (await wsh.list()).some(({ name, windows }) => name === "one" && windows[0]?.panes[0]?.program === "sleep"),
    );
    await wsh.type("one", "\x1a");
    await wsh.prompt("one");
    await wsh.type("one", "kill %1; wait; bash --norc\r");
    await wsh.shows("one", /^bash-.*[$#]/m);
    await wsh.type("one", "echo inside; exit\r");
    // The inner shell prints a prompt, too.
    await until("the inner shell to end", async () => {
      const commands = await wsh.commands("one");
      return commands.length === 2 && commands[1]?.state === "finished";
    });
    await wsh.prompt("one");
    await wsh.exec("one", "true after");
    expect((await history(wsh)).map(({ command, exit_code }) => [command, exit_code])).toEqual([
      ["true after", 0],
      ["kill %1; wait; bash --norc", 0],
      ["sleep 100", 148],
    ]);
  });

  testWith("zsh")("a suggestion behind the cursor is not part of a command", async () => {
    await using wsh = new Wsh({ env: { SHELL: "/usr/bin/zsh" } });
    const suggest = "suggest() { POSTDISPLAY=''; [[ -n $BUFFER ]] && POSTDISPLAY=' --suggested'; }";
    const rc = `PS1='$ '\n${suggest}\nzle -N zle-line-pre-redraw suggest\n`;
    fs.writeFileSync(join(wsh.dir, "home/.zshrc"), rc);
    await wsh.session("one");
    await wsh.prompt("one");
    await wsh.type("one", "echo typed");
    await wsh.shows("one", "echo typed --suggested");
    await wsh.type("one", "\r");
    await wsh.prompt("one");
    await wsh.exec("one", "echo sent");
    expect(await texts(wsh)).toEqual(["echo sent", "echo typed"]);
  });
});

describe("over HTTP and MCP", () => {
  test("search, pages, deletion, errors", async () => {
    await using wsh = new Wsh();
    await wsh.server();
    await wsh.session("one");
    for (const word of ["alpha", "beta", "gamma"]) await wsh.exec("one", `echo ${word}`);
    const get = async (query: string) => {
      const response = await wsh.fetch(`/history?${query}`);
      return {
        status: response.status,
        body: (await response.json()) as { commands: Found[]; more: boolean; error?: { code: string } },
      };
    };
    const { body } = await get("query=echo&limit=2");
    expect(body.commands.map(({ command }) => command)).toEqual(["echo gamma", "echo beta"]);
    expect(body.more).toBe(true);
    const older = await get(`query=echo&before=${body.commands[1]?.id}`);
    expect(older.body).toMatchObject({ commands: [{ command: "echo alpha" }], more: false });
    expect((await get("failed=true")).body.commands).toEqual([]);
    expect(await get("since=never")).toMatchObject({ status: 400, body: { error: { code: "invalid_request" } } });
    expect((await get("limit=0")).status).toBe(400);
    const gone = await wsh.fetch("/history?query=beta", { method: "DELETE" });
    expect(await gone.json()).toEqual({ deleted: 1 });
    expect((await wsh.fetch("/history", { method: "DELETE" })).status).toBe(400);
    expect((await get("")).body.commands).toHaveLength(2);
  });

  test("a line is offered to a shell without bracketed paste only if none of its characters is a key there", async () => {
    await using wsh = new Wsh();
    fs.appendFileSync(join(wsh.dir, "home/.bashrc"), "bind 'set enable-bracketed-paste off'\n");
    await wsh.server();
    await wsh.session("one");
    await wsh.prompt("one");
    const offer = (text: string) =>
      wsh.fetch("/sessions/one/offer", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ text }),
      });
    for (const text of ["echo a\tb", "echo a\necho b", "echo \x1b[A", "echo \x03"]) {
      const refused = await offer(text);
      expect([refused.status, await refused.json()]).toMatchObject([400, { error: { code: "invalid_request" } }]);
    }
    expect(await wsh.ok("screen", "one")).not.toContain("echo");
    expect((await offer("echo plain")).status).toBe(200);
    await until("the line to stand there", async () => /^\$ echo plain$/m.test(await wsh.ok("screen", "one")));
    expect(await texts(wsh)).toEqual([]);
  });

  test("an agent finds a person's commands", async () => {
    await using wsh = new McpInstance();
    await wsh.session("one");
    await wsh.run("exec", "one", "--", "make things; false");
    const client = await wsh.client();
    const { structuredContent } = await client.callTool({
      name: "wsh_history",
      arguments: { query: "thing", failed: true },
    });
    expect(structuredContent).toMatchObject({
      commands: [{ command: "make things; false", exit_code: 1, session: "one" }],
      more: false,
    });
    for (const word of ["two", "three"]) await wsh.exec("one", `: ${word}`);
    const seen: string[] = [];
    let before: number | undefined;
    for (let more = true; more; ) {
      const page = await client.callTool({
        name: "wsh_history",
        arguments: { limit: 1, ...(before === undefined ? {} : { before }) },
      });
      const { commands, more: older } = page.structuredContent as { commands: Found[]; more: boolean };
      expect(commands).toHaveLength(1);
      seen.push(...commands.map(({ command }) => command));
      before = commands[0]?.id;
      more = older;
    }
    expect(seen).toEqual([": three", ": two", "make things; false"]);
    const bad = await client.callTool({ name: "wsh_history", arguments: { cwd: "relative" } });
    expect(bad.isError).toBe(true);
  });
});

describe("imports", () => {
  test("bash, zsh and fish, once", async () => {
    await using wsh = new Wsh();
    const home = join(wsh.dir, "home");
    fs.writeFileSync(
      join(home, ".bash_history"),
      "#1600000000\necho one\n#1600000100\nfor x in 1; do\necho $x\ndone\n",
    );
    fs.writeFileSync(join(home, ".zsh_history"), ": 1600000200:7;echo zwei\n: 1600000300:0;echo a\\\nb\nplain\n");
    fs.mkdirSync(join(home, ".local/share/fish"), { recursive: true });
    fs.writeFileSync(
      join(home, ".local/share/fish/fish_history"),
      "- cmd: echo trois\\nlines \\\\\n  when: 1600000400\n  paths:\n    - x\n",
    );
    expect(await wsh.ok("history", "--import")).toContain("bash: 2 of 2 commands are new");
    expect(await texts(wsh, "--by", "import")).toEqual(
      expect.arrayContaining([
        "echo trois\nlines \\",
        "echo a\nb",
        "plain",
        "echo zwei",
        "for x in 1; do\necho $x\ndone",
        "echo one",
      ]),
    );
    fs.appendFileSync(join(home, ".bash_history"), "#1600000500\necho new\n");
    expect(await wsh.ok("history", "--import", "bash")).toContain("bash: 1 of 3 commands are new");
    expect(await wsh.run("history", "--import", "csh")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("'csh' is not one of"),
    });
  });
});

test("atuin's database is imported once, without entries deleted there, while atuin has it open", async () => {
  await using wsh = new Wsh();
  const file = join(wsh.dir, "home/.local/share/atuin/history.db");
  fs.mkdirSync(join(file, ".."), { recursive: true });
  using atuin = new Database(file, { create: true });
  atuin.run("PRAGMA journal_mode = WAL");
  atuin.run(
    "CREATE TABLE history (id TEXT PRIMARY KEY, timestamp INTEGER NOT NULL, duration INTEGER NOT NULL, " +
      "exit INTEGER NOT NULL, command TEXT NOT NULL, cwd TEXT NOT NULL, session TEXT NOT NULL, " +
      "hostname TEXT NOT NULL, deleted_at INTEGER)",
  );
  const add = (id: string, seconds: number, ms: number, exit: number, command: string, cwd: string, gone = "NULL") =>
    atuin.run(
      `INSERT INTO history VALUES ('${id}', ${seconds}000000000, ${ms}000000, ${exit}, '${command}', '${cwd}', 's', 'h', ${gone})`,
    );
  add("a", 1_700_000_000, 1_500, 3, "make four", "/srv/app");
  add("b", 1_700_000_060, 10, 0, "echo secret", "/srv/app", "1700000100000000000");
  add("c", 1_700_000_120, -1, -1, "still running", "unknown");
  expect(await wsh.ok("history", "--import", "atuin")).toContain("atuin: 2 of 2 commands are new");
  expect(await wsh.ok("history", "--import")).toContain("atuin: 0 of 2 commands are new");
  const { commands } = JSON.parse(await wsh.ok("history", "--by", "import", "--json"));
  expect(commands).toMatchObject([
    { command: "still running", cwd: null, exit_code: null, duration_ms: null },
    { command: "make four", cwd: "/srv/app", exit_code: 3, duration_ms: 1_500, started_at: 1_700_000_000_000 },
  ]);
});

describe.if(hasTmux && !isMissing("bash"))("on a terminal", () => {
  test("typing filters, Enter inserts the line at the prompt and does not run it", async () => {
    await using wsh = new Wsh();
    await wsh.session("old");
    for (const word of ["alpha", "beta", "gamma"]) await wsh.exec("old", `echo ${word}`);
    await wsh.ok("kill", "old");
    await using person = await PersonTerminal.open(wsh);
    await wsh.session("dev");
    await person.type("wsh attach dev");
    await person.sees(/^\$$/m);
    await person.type(
      `alias wsh='${wsh
        .command()
        .map((word) => `"${word}"`)
        .join(" ")}'`,
    );
    await person.type("wsh history");
    await person.sees("echo gamma");
    await person.keys("b", "e", "t");
    await person.sees((screen) => screen.includes("echo beta") && !screen.includes("echo gamma"));
    await person.keys("Enter");
    expect(await person.sees(/^\$ echo beta$/m)).not.toMatch(/^beta$/m);
    await person.keys("Enter");
    await person.sees(/^beta$/m);
    await person.type("wsh history");
    await person.sees("›");
    await person.keys("Escape");
    await person.sees((screen) => !screen.includes("›") && screen.includes("wsh history"));
  });

  test("the history of another instance inserts its line into the session around, not into one of its own", async () => {
    await using wsh = new Wsh();
    await wsh.ok("-L", "other", "new", "first", "--", "bash");
    await wsh.ok("-L", "other", "exec", "first", "--", "echo from-other");
    await wsh.session("dev");
    await using person = await PersonTerminal.open(wsh);
    await person.type("wsh attach dev");
    await person.sees(/^\$$/m);
    const words = wsh.command("-L", "other", "history").map((word) => `'${word}'`);
    await person.type(words.join(" "));
    await person.sees(/›.*echo from-other/s);
    await person.keys("Enter");
    await person.sees(/^\$ echo from-other$/m);
    const screen = await wsh.ok("-L", "other", "screen", "first");
    expect(screen.split("echo from-other")).toHaveLength(2);
  });

  test("a truncated list says that there are more", async () => {
    await using wsh = new Wsh();
    await wsh.ok("exec", "--", "echo first");
    await wsh.ok("exec", "--", "echo second");
    await using person = await PersonTerminal.open(wsh);
    await person.type("wsh history -n 1 echo");
    const screen = await person.sees("more commands match: -n prints more");
    expect(screen).toContain("echo second");
    expect(screen).not.toContain("echo first");
  });

  test("a narrow terminal shows the commands; a long paste is searched, and Escape still leaves", async () => {
    await using wsh = new Wsh();
    await wsh.session("old");
    await wsh.exec("old", "echo narrow");
    await using person = await PersonTerminal.open(wsh, { cols: 20, rows: 5 });
    await wsh.exec("old", `: ${"long".repeat(50)}`);
    await person.type("wsh history --list lo");
    await person.sees(/g…\nouter>/);
    await person.clear();
    await person.type("wsh history narrow");
    await person.sees(/^ +echo narrow$/m);
    const long = join(wsh.dir, "long");
    fs.writeFileSync(long, "word ".repeat(8_000));
    await person.paste(long);
    await person.sees("no match");
    await person.keys("Escape");
    await person.sees((screen) => !screen.includes("›") && screen.includes("outer>"));
  });
});
