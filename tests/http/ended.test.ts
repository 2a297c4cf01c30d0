/** A session whose program has ended: readable for a while with its end reason, closed to writers, its name free. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { folderOf } from "../reliability/checkpoints/crashed-sessions.ts";
import { failure, Http } from "../support/http.ts";
import { shared } from "../support/shared.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const wsh = shared(new Wsh());
const http = new Http({ unix: wsh.instance.httpSocket });

test("it stays readable, with its exit code", async () => {
  const { id, pid } = await http.create({ name: "over", command: "seq 1 30; echo last words; exit 3", tags: ["t"] });
  expect(await http.ended("over")).toMatchObject({ id, running: false, state: "exited", exit_code: 3, signal: null });
  expect(fs.existsSync(`/proc/${pid}`)).toBe(false);
  expect((await http.screen("over")).lines).toContain("last words");
  expect((await http.scrollback("over", "limit=3")).lines).toEqual(["1", "2", "3"]);
  expect(await http.list()).toEqual([]);
  expect(await http.list("?all=1")).toMatchObject([{ id, running: false, exit_code: 3 }]);
  expect(await http.list("?all=true&tag=t")).toHaveLength(1);
  expect(await http.get("/idle?timeout_ms=0")).toMatchObject({ status: 404, body: failure("no_sessions") });
  expect((await http.json("PATCH", "/sessions/over", { add_tags: ["u"], name: "done" })).body).toMatchObject({
    tags: ["t", "u"],
  });
  expect(await http.session("done")).toMatchObject({ id, exit_code: 3 });
  await http.kill("done");
  expect(await http.list("?all=1")).toEqual([]);
});

test("every write to it is a 410 with its end reason", async () => {
  await http.create({ name: "closed", command: "kill -9 $$" });
  expect(await http.ended("closed")).toMatchObject({ exit_code: null, signal: "SIGKILL" });
  const ended = { status: 410, body: failure("session_ended", /ended/, { exit_code: null, signal: "SIGKILL" }) };
  expect(await http.send("POST", "/sessions/closed/input", { body: "x" })).toMatchObject(ended);
  expect(await http.send("POST", "/sessions/closed/input")).toMatchObject(ended);
  expect(await http.post("/sessions/closed/keys", { keys: ["Enter"] })).toMatchObject(ended);
  expect(await http.post("/sessions/closed/resize", { rows: 10, cols: 10 })).toMatchObject(ended);
  expect(await http.post("/sessions/closed/signal", { signal: "INT" })).toMatchObject(ended);
  expect(await http.send("POST", "/sessions/closed/detach")).toMatchObject({ status: 204 });
  await http.kill("closed");
});

test("its name is free at once, and selects the running one; the ended one is found by its id", async () => {
  const first = await http.create({ name: "name", command: "echo first; exit 1" });
  await http.ended("name");
  const second = await http.create({ name: "name", command: "echo second; exit 2" });
  await http.ended("name");
  const third = await http.create({ name: "name", command: "echo third; sleep 1000" });
  expect(await http.session("name")).toMatchObject({ id: third.id, running: true });
  expect(await http.session(first.id)).toMatchObject({ name: "name", exit_code: 1 });
  expect((await http.screen(first.id)).lines[0]).toBe("first");
  expect((await http.screen(second.id)).lines[0]).toBe("second");
  await http.kill("name");
  expect(await http.session("name")).toMatchObject({ id: second.id, exit_code: 2 });
  await http.kill(second.id);
  await http.kill(first.id);
  expect(await http.get("/sessions/name")).toMatchObject({ status: 404 });
});

test("the last output is never cut off, however fast the program ends", async () => {
  await Promise.all(
    Array.from({ length: 4 }, async (_, n) => {
      await http.create({ name: `fast${n}`, command: `seq 1 5000; printf 'the end ${n}'` });
      await http.ended(`fast${n}`);
      const { lines } = await http.scrollback(`fast${n}`, "limit=10000");
      expect(lines.slice(0, 5001)).toEqual([...Array.from({ length: 5000 }, (_, i) => `${i + 1}`), `the end ${n}`]);
      await http.kill(`fast${n}`);
    }),
  );
});

test("a child that keeps the terminal does not keep the session", async () => {
  await http.create({ name: "orphan", command: "sleep 1000 & exit 5" });
  expect(await http.ended("orphan")).toMatchObject({ exit_code: 5 });
  await http.kill("orphan");
});

test("it can be restarted: same command, size and name, and a cursor that keeps growing", async () => {
  const command = "echo run; stty size; read x; exit 4";
  const { id, pid } = await http.create({ name: "again", command, rows: 7, cols: 50 });
  await http.shows("again", "7 50");
  await http.type("again", "\r");
  await http.ended("again");
  const before = await http.screen("again");
  const restarted = await http.send("POST", "/sessions/again/restart");
  expect(restarted).toMatchObject({ status: 200, body: { id, name: "again", running: true, exit_code: null } });
  const after = await http.shows("again", "7 50");
  expect(after.output_cursor).toBeGreaterThan(before.output_cursor);
  expect((await http.session("again")).pid).not.toBe(pid);
  // Waits for silence work as before.
  expect(await http.get("/sessions/again/idle?timeout_ms=50")).toMatchObject({ status: 200, body: { running: true } });
  // While it runs, too; earlier output is gone.
  const { pid: second } = await http.session("again");
  await http.send("POST", "/sessions/again/restart");
  await until("the earlier program to end", () => !fs.existsSync(`/proc/${second}`));
  expect(await http.session("again")).toMatchObject({ running: true });
  await http.kill("again");
});

test("a program that ignores its end is killed before its successor starts", async () => {
  await using quick = new Wsh({ config: "kill_grace_ms = 100\n" });
  await quick.server();
  const api = new Http({ unix: quick.instance.httpSocket });
  await api.create({ name: "stubborn", command: "trap '' HUP; echo ready $$; while :; do sleep 0.02; done" });
  const { pid } = await api.session("stubborn");
  await api.shows("stubborn", `ready ${pid}`);
  const [first, second] = await Promise.all([
    api.send("POST", "/sessions/stubborn/restart"),
    api.send("POST", "/sessions/stubborn/restart"),
  ]);
  expect([first.status, second.status]).toEqual([200, 200]);
  expect(fs.existsSync(`/proc/${pid}`)).toBe(false);
  const info = await api.session("stubborn");
  expect(info).toMatchObject({ running: true });
  await api.shows("stubborn", `ready ${info.pid}`);
  // A child that it has just forked has its command line for a moment.
  await until("one program", () => quick.processes().filter(({ command }) => command.includes("trap")).length === 1);
});

test("it stays ended when the restart fails", async () => {
  const cwd = fs.mkdtempSync(`${wsh.dir}/gone-`);
  await http.create({ name: "homeless", command: "exit 6", cwd });
  await http.ended("homeless");
  fs.rmdirSync(cwd);
  const answer = await http.send("POST", "/sessions/homeless/restart");
  expect(answer).toMatchObject({ status: 500, body: failure("session_create_failed") });
  expect(await http.session("homeless")).toMatchObject({ running: false, exit_code: null });
  await http.create({ name: "homeless", command: "sleep 1000" });
  await http.kill("homeless");
  await http.kill("homeless");
});

test("it is not restarted when its name was taken meanwhile", async () => {
  const { id } = await http.create({ name: "mine", command: "exit 0" });
  await http.ended("mine");
  await http.create({ name: "mine", command: "sleep 1000" });
  const answer = await http.send("POST", `/sessions/${encodeURIComponent(id)}/restart`);
  expect(answer).toMatchObject({ status: 409, body: failure("session_name_conflict") });
  expect(await http.session(id)).toMatchObject({ running: false, exit_code: 0 });
  await http.kill("mine");
  await http.kill(id);
});

test("it is gone after the grace period, with its process and files", async () => {
  await using short = new Wsh({ config: "grace_seconds = 1\n" });
  await short.server();
  const api = new Http({ unix: short.instance.httpSocket });
  const checkpoint = folderOf(short);
  await api.create({ name: "brief", command: `until [ -e '${checkpoint}' ]; do sleep 0.05; done` });
  await until("the session to be gone", async () => (await api.get("/sessions/brief")).status === 404);
  await until("its host to end", () => short.hosts().length === 0);
  expect(fs.readdirSync(short.instance.sessionsDir).filter((file) => file.endsWith(".sock"))).toEqual([]);
  expect(fs.readdirSync(short.instance.namesDir)).toEqual([]);
  // It has not crashed.
  expect(fs.existsSync(checkpoint)).toBe(false);
});
