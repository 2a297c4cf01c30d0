/** The server crashes, the sessions do not: it is killed at bad moments and restarted, and nothing is missing. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { Http } from "../support/http.ts";
import { hasTmux, PersonTerminal } from "../support/terminals/tmux-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

function socketOf(wsh: Wsh): Http {
  return new Http({ unix: wsh.instance.httpSocket });
}

test("kill -9 of the server changes no session: pids, names, tags, sizes, screens, programs", async () => {
  await using wsh = new Wsh();
  const http = socketOf(wsh);
  const first = await wsh.server();
  await http.create({ name: "shell", tags: ["one", "two"], rows: 30, cols: 100 });
  await http.type("shell", "x=42; echo set\r");
  await http.shows("shell", /^set$/m);
  await http.create({ name: "count", command: "i=0; while :; do i=$((i+1)); echo n=$i; sleep 0.01; done" });
  await http.create({ name: "gone", command: "exit 9" });
  await http.ended("gone");
  const stable = ({
    last_activity_ms: _,
    idle_ms: __,
    state: ___,
    windows: ____,
    ...info
  }: Awaited<ReturnType<Http["session"]>>) => info;
  const before = (await http.list("?all=1")).map(stable);
  const screen = await http.screen("shell");
  const waiting = http.get("/sessions/shell/idle?timeout_ms=60000").catch(() => "cut off");

  await first.kill("SIGKILL");
  expect(await waiting).toBe("cut off");
  await wsh.ok("new", "meanwhile");
  await wsh.ok("send", "shell", "echo without-a-server", "--enter");
  await wsh.server();

  const after = (await http.list("?all=1")).map(stable);
  expect(after.slice(0, 3)).toEqual(before);
  expect(after[3]).toMatchObject({ name: "meanwhile" });
  for (const { name, pid } of after) if (name !== "gone") expect(fs.existsSync(`/proc/${pid}`)).toBe(true);
  const later = await http.shows("shell", "without-a-server");
  expect(later.lines.slice(0, 2)).toEqual(screen.lines.slice(0, 2) as string[]);
  await http.type("shell", "echo x=$x\r");
  await http.shows("shell", "x=42");
  expect(await http.session("gone")).toMatchObject({ running: false, exit_code: 9 });
  // No number is missing in the count of that time.
  await http.kill("count").catch(() => {});
  expect((await http.create({})).name).toBe("0");
});

test("output without a server is complete", async () => {
  await using wsh = new Wsh();
  const http = socketOf(wsh);
  const { kill } = await wsh.server();
  await http.create({ name: "flood", command: "read go; seq 1 60000; echo finished; sleep 1000" });
  await http.type("flood", "\r");
  await kill("SIGKILL");
  await wsh.server();
  await http.shows("flood", "finished");
  const { lines, total_lines } = await http.scrollback("flood", "offset=-5000&limit=5000");
  const end = lines.indexOf("finished");
  expect(lines.slice(end - 1000, end)).toEqual(Array.from({ length: 1000 }, (_, i) => `${59_001 + i}`));
  expect(total_lines).toBeGreaterThan(10_000);
});

test("a server that is killed while it makes sessions leaves complete ones or none", async () => {
  await using wsh = new Wsh();
  const http = socketOf(wsh);
  const { kill } = await wsh.server();
  const making = Array.from({ length: 6 }, (_, i) =>
    http.post("/sessions", { name: `s${i}`, command: "sleep 1000" }).catch(() => null),
  );
  await until("the first host", () => wsh.hosts().length > 0);
  await kill("SIGKILL");
  const made = (await Promise.all(making)).filter((answer) => answer?.status === 201);
  await wsh.server();
  // Sessions in the making start by themselves, or have gone.
  const programs = () => wsh.processes().filter(({ command }) => command === "sleep 1000").length;
  const sessions = await until("as many sessions as hosts and programs", async () => {
    const all = await http.list();
    return all.length === wsh.hosts().length && all.length === programs() && all;
  });
  expect(sessions.length).toBeGreaterThanOrEqual(made.length);
  for (const { name, pid } of sessions) {
    expect(fs.existsSync(`/proc/${pid}`)).toBe(true);
    expect(await http.screen(name)).toMatchObject({ rows: 24 });
  }
});

test.if(hasTmux)("an attached terminal does not notice", async () => {
  await using wsh = new Wsh();
  const { kill } = await wsh.server();
  await wsh.session("mine");
  await using person = await PersonTerminal.open(wsh);
  // Not `wsh` alone, which ensures in the background that a server runs.
  await person.type("wsh attach mine");
  await person.sees(/^\$/m);
  await person.type("echo before");
  await person.sees(/^before$/m);
  await kill("SIGKILL");
  await person.type("echo without");
  await person.sees(/^without$/m);
  await wsh.server();
  await person.type("echo after");
  await person.sees(/^before\n(.*\n)*without\n(.*\n)*after$/m);
  expect(await socketOf(wsh).session("mine")).toMatchObject({ attached: 1, clients: 1 });
  await person.detach();
});

test("a new server knows all sessions at its first request", async () => {
  await using wsh = new Wsh();
  const names = ["a", "b", "c", "d", "e"];
  await Promise.all(names.map((name) => wsh.session(name)));
  const child = wsh.spawn(["server", "--bind", "none"]);
  const http = socketOf(wsh);
  const list = await until("the server", async () => {
    if (child.exitCode !== null) throw new Error("the server ended");
    return http.list().catch(() => null);
  });
  expect(list.map(({ name }) => name).sort()).toEqual(names);
});

test("a deletion that takes a session's name after it has registered again: it registers once more", async () => {
  await using wsh = new Wsh();
  const { id } = await wsh.session("one");
  const { sessionsDir, namesDir } = wsh.instance;
  const socket = () => fs.readdirSync(sessionsDir).find((file) => /^\d+\.sock$/.test(file));
  fs.rmSync(join(sessionsDir, socket() ?? ""));
  await until("its socket", () => socket() !== undefined && fs.existsSync(join(namesDir, "one")));
  fs.rmSync(namesDir, { recursive: true });
  const [session] = await until("its name", async () => {
    const list = await wsh.list();
    return list[0]?.name === "one" && fs.existsSync(join(namesDir, "one")) && list;
  });
  expect(session?.id).toBe(id);
  expect((await wsh.run("screen", "one")).code).toBe(0);
});

test("a server whose first socket is deleted a moment before its second does not take itself for another one", async () => {
  await using wsh = new Wsh();
  const { pid } = await wsh.server();
  const { httpSocket } = wsh.instance;
  fs.rmSync(httpSocket.replace(/sock$/, "lock"));
  fs.rmSync(httpSocket);
  await until("the server", () => wsh.isServing());
  expect(wsh.servers()).toEqual([pid]);
});

test("the runtime directory is deleted under everything, and everything returns", async () => {
  await using wsh = new Wsh();
  const http = socketOf(wsh);
  await wsh.server();
  const made = await Promise.all(["one", "two"].map((name) => http.create({ name })));
  await http.type("one", "echo kept\r");
  await http.shows("one", /^kept$/m);
  // The first process to notice makes it again while the rest is still being removed.
  fs.rmSync(wsh.instance.runtimeDir, { recursive: true, force: true });
  await until("the sessions to be found", async () => {
    const { stdout } = await wsh.run("list", "--json");
    return stdout.includes('"one"') && stdout.includes('"two"');
  });
  await until("both sessions, from the same server", async () => {
    const list = await http.list().catch(() => []);
    return list.length === 2 && list.every(({ state }) => state !== "unresponsive");
  });
  for (const { name, id, pid } of made) expect(await http.session(name)).toMatchObject({ id, pid });
  await until("its screen", async () => (await wsh.run("screen", "one")).stdout.includes("kept"));
  // Its open connections have answered so far. Until it listens again, another one may take its place.
  await until("the server to listen", () => wsh.isServing());
  expect(wsh.servers()).toHaveLength(1);
  expect((await wsh.run("server", "--bind", "none")).stderr).toContain("already");
  const third = await http.create({ name: "three" });
  expect(made.map(({ id }) => id)).not.toContain(third.id);
  expect(await wsh.ok("stop")).toBe("Server stopped.\n");
  await until("everything to be gone", () => wsh.processes().length === 0);
});
