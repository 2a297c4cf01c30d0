/** Panes of one session and other sessions: views, moves, and targets that name another session. */
import { describe, expect, test } from "bun:test";
import { Http } from "../support/http.ts";
import { splitServer } from "../support/panes.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

interface Pane {
  readonly id: string;
  readonly view?: string;
}

async function twoSessions() {
  const wsh = new Wsh();
  await wsh.server();
  const http = new Http({ unix: wsh.instance.httpSocket });
  const [one, two] = [await wsh.session("one"), await wsh.session("two")];
  const panes = async (target: string): Promise<Pane[]> => (await http.get(`/sessions/${target}/panes`)).body as Pane[];
  return { wsh, http, one, two, panes, [Symbol.asyncDispose]: () => wsh[Symbol.asyncDispose]() };
}

describe("a view of another session", () => {
  test("is closed without ending its source", async () => {
    await using all = await twoSessions();
    const { wsh, http, panes } = all;
    await http.post("/sessions/one/panes", { view: "two" });
    expect(await panes("one")).toHaveLength(2);
    expect(await http.send("DELETE", "/sessions/one:0.1/pane")).toMatchObject({ status: 200 });
    expect(await panes("one")).toHaveLength(1);
    expect(await wsh.exec("two", "echo alive")).toBe("alive\n");
  });

  test("is named by its index, since its id is the shown pane's", async () => {
    await using all = await twoSessions();
    const { wsh, panes, two } = all;
    expect(await wsh.ok("split", "one", "--view", "two")).toBe("one:0.1\n");
    expect((await panes("one"))[1]).toMatchObject({ id: two.pane_id, view: "two" });
    await wsh.ok("pane", "close", "one:0.1");
    expect(await panes("one")).toHaveLength(1);
    expect(await wsh.exec("two", "echo alive")).toBe("alive\n");
  });

  test("goes with its window, and with its session", async () => {
    await using all = await twoSessions();
    const { wsh, http } = all;
    await http.post("/sessions/one/windows", { view: "two", name: "other" });
    expect(await http.send("DELETE", "/sessions/one:other/window")).toMatchObject({ status: 200 });
    expect(await wsh.exec("two", "echo alive")).toBe("alive\n");
    await http.post("/sessions/one/panes", { view: "two" });
    await wsh.ok("kill", "one");
    await until("one session to be left", async () => (await wsh.list()).length === 1);
    expect(await wsh.exec("two", "echo alive")).toBe("alive\n");
  });

  test("is not restarted in its place: that would end another session's program", async () => {
    await using all = await twoSessions();
    const { wsh, http, two } = all;
    await http.post("/sessions/one/panes", { view: "two" });
    expect(await http.post("/sessions/one:0.1/pane/respawn", {})).toMatchObject({
      body: { error: { code: "invalid_layout" } },
    });
    expect(await wsh.list()).toMatchObject([{ name: "one" }, { name: "two", pid: two.pid }]);
  });
});

describe("closing needs a named target", () => {
  test("a bare name, or a window, closes no pane of several", async () => {
    await using all = await twoSessions();
    const { http, panes, one } = all;
    const made = (await http.post("/sessions/one/panes", {})).body as { pane: string; window: string };
    for (const target of ["one", one.id, made.window, "one:0"]) {
      expect(await http.send("DELETE", `/sessions/${target}/pane`), target).toMatchObject({
        body: { error: { code: "invalid_request", message: expect.stringContaining("2 panes") } },
      });
    }
    expect(await panes("one")).toHaveLength(2);
    await http.post("/sessions/one/windows", {});
    expect(await http.send("DELETE", "/sessions/one/window")).toMatchObject({
      body: { error: { code: "invalid_request", message: expect.stringContaining("2 windows") } },
    });
    expect((await http.send("DELETE", `/sessions/${made.pane}/pane`)).status).toBe(200);
    expect((await http.send("DELETE", "/sessions/one:1/window")).status).toBe(200);
    expect(await panes("one")).toMatchObject([{ id: one.pane_id }]);
  });
});

describe("another session's panes", () => {
  test("cannot be swapped, whatever names them", async () => {
    await using all = await twoSessions();
    const { http, panes, two } = all;
    await http.post("/sessions/one/panes", {});
    const before = (await panes("one")).map(({ id }) => id);
    for (const other of ["two", "two:0.0", two.id, two.pane_id, two.windows[0]?.id ?? ""]) {
      expect(await http.post("/sessions/one:0.1/pane/swap", { with: other }), other).toMatchObject({ status: 404 });
    }
    expect((await panes("one")).map(({ id }) => id)).toEqual(before);
  });

  test("take a pane in by name and by every id", async () => {
    await using all = await twoSessions();
    const { wsh, http, panes, two } = all;
    for (const to of ["two", two.id, two.pane_id, two.windows[0]?.id ?? ""]) {
      const { pane } = (await http.post("/sessions/one/panes", {})).body as { pane: string };
      expect(await http.post(`/sessions/${pane}/pane/move`, { to }), to).toMatchObject({ status: 200 });
      expect((await panes("two")).map(({ id }) => id)).toEqual([two.pane_id, pane]);
      expect(await panes("one")).toHaveLength(1);
      expect(await wsh.exec(pane, "echo moved")).toBe("moved\n");
      await http.expect(200, http.delete(`/sessions/${pane}/pane`));
    }
  });

  test("do not exist for a token of one session", async () => {
    await using wsh = new Wsh();
    await wsh.session("one");
    const two = await wsh.session("two");
    const address = await wsh.tcpServer();
    const token = (await wsh.ok("token", "create", "mine", "--session", "one")).trim();
    const post = async (path: string, body: object): Promise<number> =>
      (
        await fetch(`${address}${path}`, {
          method: "POST",
          body: JSON.stringify(body),
          headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
        })
      ).status;
    expect(await post("/sessions/one/panes", { env: { view: "two" } })).toBe(201);
    expect(await post("/sessions/one/panes", { view: "two" })).toBe(404);
    expect(await post("/sessions/one/windows", { view: two.pane_id })).toBe(404);
    expect(await post("/sessions/one:0.1/pane/respawn", { view: "two" })).toBe(404);
    expect(await post("/sessions/one:0.1/pane/move", { to: two.id })).toBe(404);
    expect(await post("/sessions/one:0.1/pane/move", {})).toBe(200);
  });
});

test("a view of a session with several panes shows the pane that the session's name selects", async () => {
  await using all = await splitServer();
  const { wsh, http, panes } = all;
  await wsh.session("shown");
  await wsh.session("dev");
  await http.post("/sessions/dev/panes", { view: "shown" });
  await http.post("/sessions/shown/panes", {});
  const [own] = await panes("shown");
  const view = (await panes("dev")).find((pane) => pane.view !== undefined);
  const echo = { command: "echo $WSH_PANE" };
  for (const target of [`dev:0.${view?.index}`, "shown"]) {
    expect((await http.post(`/sessions/${target}/exec`, echo)).body, target).toMatchObject({ output: own?.id });
    expect(await wsh.exec(target, "echo $WSH_PANE")).toBe(`${own?.id}\n`);
  }
});

test("a session's name never selects its view of another one, even when its own program has ended", async () => {
  await using all = await splitServer();
  const { wsh, http, panes } = all;
  await wsh.session("shown");
  await wsh.session("dev");
  await http.post("/sessions/dev/panes", { view: "shown" });
  const [own] = await panes("dev");
  await http.send("PATCH", `/sessions/${own?.id}/pane`, {
    body: JSON.stringify({ keep_after_exit: true }),
    headers: { "Content-Type": "application/json" },
  });
  await wsh.enter(own?.id ?? "", "exit 3");
  await until("its end", async () => (await panes("dev"))[0]?.exit_code === 3);
  const answer = await http.post("/sessions/dev/exec", { command: "echo wrong" });
  expect(answer).toMatchObject({ status: 410, body: { error: { code: "session_ended" } } });
  expect(await wsh.screen("shown")).not.toContain("wrong");
});
