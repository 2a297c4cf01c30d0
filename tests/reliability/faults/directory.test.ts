/**
 * The runtime directory is deleted under everything: by a cleaner of /tmp, at the end of a login session, by mistake.
 * Attached people notice nothing; sessions and server are found again within seconds, under their names.
 */
import { expect, test } from "bun:test";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { contentOf } from "../../support/content-of.ts";
import { stopProcess } from "../../support/processes.ts";
import { until } from "../../support/until.ts";
import { Wsh } from "../../support/wsh.ts";
import { AttachedTerminal } from "../walk/attached-terminal.ts";
import { vanish } from "./vanish.ts";

test("everything deleted: session processes and server restore it, names and ids are the same", async () => {
  await using wsh = new Wsh();
  const made = [await wsh.session("one"), await wsh.session("two", "--tag", "kept")];
  await wsh.server();
  using terminal = AttachedTerminal.open(wsh, ["attach", "one"]);
  await terminal.shows("$");
  await wsh.shows("two", "$");
  vanish(wsh.instance.runtimeDir);

  terminal.type("echo still$((40+2))\r");
  await terminal.shows(/^still42$/m);
  const found = await until("both sessions", async () => {
    const list = await wsh.list();
    return list.length === 2 ? list : null;
  });
  expect(found.map(({ id, name, pid, tags }) => ({ id, name, pid, tags }))).toEqual(
    made.map(({ id, name, pid, tags }) => ({ id, name, pid, tags })),
  );
  // A server that kept its connections lists them before they are found by their names.
  await until("both by their names", async () => {
    const found = await Promise.all(["one", "two"].map((name) => wsh.run("status", name)));
    return found.every(({ code }) => code === 0);
  });
  expect(await wsh.run("exec", "two", "--", "echo works; (exit 4)")).toMatchObject({ code: 4, stdout: "works\n" });
  await until("the server", async () => (await wsh.fetch("/sessions").catch(() => null))?.status === 200);
  await until("its list", async () => (await (await wsh.fetch("/sessions")).json()).length === 2);
  // A restarted shell loads its scripts as before.
  await wsh.ok("restart", "two");
  await until("a command in it", async () => (await wsh.run("exec", "two", "--", "(exit 5)")).code === 5);
  // New ones get other ids.
  const third = await wsh.session("three");
  expect(made.map(({ id }) => id)).not.toContain(third.id);
});

test("a name taken meanwhile is not stolen back", async () => {
  await using wsh = new Wsh();
  const old = await wsh.session("name");
  vanish(wsh.instance.runtimeDir);
  const young = await wsh.session("name").catch(() => null);
  const list = await until("the old session", async () => {
    const all = await wsh.list();
    return all.some(({ pid }) => pid === old.pid) ? all : null;
  });
  // The first one has the name; the other one has a number, or was refused.
  expect(new Set(list.map(({ name }) => name)).size).toBe(list.length);
  expect(list).toHaveLength(young === null ? 1 : 2);
});

test("a server that did not notice its successor ends", async () => {
  await using wsh = new Wsh();
  await wsh.session("s");
  const first = await wsh.server();
  await stopProcess(first.pid);
  rmSync(wsh.instance.httpSocket);
  rmSync(wsh.instance.mcpSocket);
  const second = await wsh.server();
  process.kill(first.pid, "SIGCONT");
  await until("the first to end", () => Bun.deepEquals(wsh.servers(), [second.pid]));
  // Its sockets are the second one's: it removed neither of them.
  expect((await wsh.fetch("/sessions")).status).toBe(200);
  expect(existsSync(wsh.instance.mcpSocket)).toBe(true);
});

test("one socket deleted, one name deleted: the session is found again", async () => {
  await using wsh = new Wsh();
  const { pane_id, pid } = await wsh.session("s");
  await wsh.shows("s", "$");
  rmSync(join(wsh.instance.sessionsDir, `${pane_id.slice(1)}.sock`));
  await until("the session", async () => (await wsh.list())[0]?.pid === pid);
  expect(await wsh.run("exec", "s", "--", "(exit 4)")).toMatchObject({ code: 4 });
  await wsh.ok("kill", "s");
  await until("its files to go", () => readdirSync(wsh.instance.namesDir).length === 0);
  expect(existsSync(wsh.instance.runtimeDir)).toBe(true);
});

test("the locks deleted: sessions and server stay, make new ones, and are found dead after their end", async () => {
  await using wsh = new Wsh();
  const { pid } = await wsh.session("s");
  await wsh.server();
  const directory = join(wsh.instance.stateDir, "locks");
  const before = readdirSync(directory);
  expect(before).toHaveLength(2);
  vanish(directory);
  await until("new locks", () => existsSync(directory) && readdirSync(directory).length === 2);
  expect(readdirSync(directory).filter((name) => before.includes(name))).toEqual([]);
  expect(await wsh.list()).toMatchObject([{ name: "s", pid }]);
  await until("the server", async () => (await wsh.fetch("/sessions").catch(() => null))?.status === 200);
  expect(await wsh.run("exec", "s", "--", "(exit 4)")).toMatchObject({ code: 4 });
  await wsh.killHost();
  await until("the session to be gone", async () => (await wsh.list()).every(({ running }) => !running));
  await wsh.session("s");
});

test("a program that outlives its killed session process does not keep the session", async () => {
  await using wsh = new Wsh();
  await wsh.session("s");
  const left = join(wsh.dir, "left");
  await wsh.exec("s", `setsid sh -c 'echo $$ >${left}; exec sleep 1000' </dev/null >/dev/null 2>&1 &`);
  const pid = await until("the program", () => Number(contentOf(left)) || null);
  try {
    await wsh.killHost();
    await until("the session to be gone", async () => (await wsh.list()).every(({ running }) => !running));
    process.kill(pid, 0);
    await wsh.session("s");
  } finally {
    process.kill(pid, "SIGKILL");
  }
});
