/** A command whose session process is killed while it runs is in the history, once, and without an end. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { readText } from "../../src/platform/readable.ts";
import { isMissing } from "../support/programs.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

interface Found {
  readonly command: string;
  readonly exit_code: number | null;
  readonly duration_ms: number | null;
  readonly session: string;
}

const search = async (wsh: Wsh, ...args: string[]): Promise<Found[]> =>
  JSON.parse(await wsh.ok("history", "--json", ...args)).commands;

async function runs(wsh: Wsh, session: string, line: string): Promise<void> {
  await wsh.prompt(session);
  await wsh.type(session, `${line}\r`);
  await until(`'${line}' to run`, async () => {
    const last = (await wsh.commands(session)).at(-1);
    return last?.command?.trim() === line.trim() && last.state === "running";
  });
}

async function killed(wsh: Wsh): Promise<void> {
  for (const host of wsh.hosts()) process.kill(host, "SIGKILL");
  await until("the sessions to be gone", async () => (await wsh.list()).every(({ running }) => !running));
}

describe("a session process that is killed", () => {
  test("leaves each shell's running command in the history, without an exit code", async () => {
    await using wsh = new Wsh();
    const shells = ["bash", "zsh", "fish"].filter((shell) => !isMissing(shell));
    for (const shell of shells) {
      await wsh.session(shell, "--shell", shell);
      await wsh.exec(shell, `true in ${shell}`);
      await runs(wsh, shell, `sleep 98${shell.length}`);
    }
    expect(await search(wsh)).toHaveLength(shells.length);
    await killed(wsh);
    for (let round = 0; round < 2; round++) {
      const found = await search(wsh);
      expect(found).toHaveLength(2 * shells.length);
      for (const session of shells)
        expect(found.filter((one) => one.session === session)).toMatchObject([
          { command: `sleep 98${session.length}`, exit_code: null, duration_ms: null },
          { command: `true in ${session}`, exit_code: 0 },
        ]);
    }
    expect(await wsh.ok("history")).toMatch(/\? .*sleep 98/);
  });

  test("a command that ends is in the history once, whether it was searched meanwhile or not", async () => {
    await using wsh = new Wsh();
    await wsh.session("one");
    for (const line of ["cat; true first", "cat; true second"]) {
      await runs(wsh, "one", line);
      if (line.endsWith("second")) await search(wsh);
      await wsh.type("one", "\x04");
      await wsh.prompt("one");
    }
    await wsh.ok("kill", "one");
    expect((await search(wsh)).map(({ command, exit_code }) => [command, exit_code])).toEqual([
      ["cat; true second", 0],
      ["cat; true first", 0],
    ]);
  });

  test("bash: a command that the shell does not keep is not written at its start either", async () => {
    await using wsh = new Wsh();
    const rc = "HISTCONTROL=ignorespace\nHISTIGNORE='*passw*'\n";
    fs.appendFileSync(join(wsh.dir, "home/.bashrc"), rc);
    await wsh.session("one");
    await wsh.exec("one", "true kept");
    for (const line of [" sleep 98 # tulip", "sleep 98 # passw tulip"]) {
      await runs(wsh, "one", line);
      const directory = join(wsh.instance.stateDir, "t.history");
      for (const name of fs.readdirSync(directory)) {
        expect(readText(join(directory, name)) ?? "").not.toContain("tulip");
      }
      // Before that, the interrupt would reach the shell.
      await until("sleep to run", async () => (await wsh.list())[0]?.windows[0]?.panes[0]?.program === "sleep");
      await wsh.type("one", "\x03");
    }
    await wsh.prompt("one");
    await runs(wsh, "one", " sleep 99 # tulip");
    await killed(wsh);
    expect((await search(wsh)).map(({ command }) => command)).toEqual(["true kept"]);
  });

  test("commands before a restore, here or beside it, are in the history once, and excluded ones stay excluded", async () => {
    await using wsh = new Wsh();
    fs.appendFileSync(join(wsh.dir, "home/.bashrc"), "HISTCONTROL=ignorespace\n");
    await wsh.session("one");
    await wsh.exec("one", "true before");
    await wsh.ok("run", "one", " true secret");
    await wsh.ok("checkpoint", "save", "one", "good");
    await wsh.ok("checkpoint", "restore", "one", "good", "--as", "copy");
    await wsh.prompt("copy");
    expect(await wsh.ok("commands", "copy")).toContain("true secret");
    await wsh.exec("copy", "true after");
    await wsh.ok("kill", "one", "copy");
    await wsh.ok("checkpoint", "restore", "one", "good");
    await wsh.prompt("one");
    await wsh.exec("one", "true again");
    await wsh.ok("kill", "one");
    expect((await search(wsh)).map(({ command, session }) => [command, session])).toEqual([
      ["true again", "one"],
      ["true after", "copy"],
      ["true before", "one"],
    ]);
  });

  test("commands that begin or end while the session is private are not kept", async () => {
    await using wsh = new Wsh();
    await wsh.session("one");
    await runs(wsh, "one", "cat # becomes private");
    await wsh.ok("private", "one", "on");
    await wsh.type("one", "\x04");
    await wsh.prompt("one");
    await runs(wsh, "one", "cat # is private");
    await wsh.ok("private", "one", "off");
    await wsh.type("one", "\x04");
    await wsh.prompt("one");
    await wsh.exec("one", "echo public");
    await wsh.ok("kill", "one");
    expect((await search(wsh)).map(({ command }) => command)).toEqual(["echo public"]);
  });
});

test("--session finds a session's commands under its earlier names, and under its newest name at once", async () => {
  await using wsh = new Wsh();
  await wsh.session("before");
  await wsh.session("other");
  await wsh.exec("before", "echo early");
  await wsh.exec("other", "echo elsewhere");
  await wsh.ok("rename", "before", "after");
  expect((await search(wsh, "--session", "after")).map(({ command }) => command)).toEqual(["echo early"]);
  await wsh.exec("after", "echo late");
  expect((await search(wsh, "--session", "after")).map(({ command }) => command)).toEqual(["echo late", "echo early"]);
  expect((await search(wsh, "--session", "before")).map(({ command }) => command)).toEqual(["echo early"]);
  await wsh.ok("kill", "after");
  await wsh.session("before");
  await wsh.exec("before", "echo new");
  expect((await search(wsh, "--session", "after")).map(({ command }) => command)).toEqual(["echo late", "echo early"]);
  expect(await search(wsh, "--session", "after", "early")).toHaveLength(1);
});
