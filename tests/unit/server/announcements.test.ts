/** Events of sessions on server-level WebSockets, for a client that identifies them by name. */
import { expect, test } from "bun:test";
import { sharedGateway } from "../../support/shared.ts";
import { until } from "../../support/until.ts";
import type { Message, TestSocket } from "../../support/websocket.ts";

const gateway = sharedGateway({ config: "grace_seconds = 2\nkill_grace_ms = 1500\n" });

const is = (event: string) => (message: Message) => message.event === event;

/** Running sessions by name, as the reference's client keeps them. */
function byName(messages: readonly Message[]): Map<string, string> {
  const sessions = new Map<string, string>();
  for (const { event, params } of messages) {
    if (event === "session_created") {
      expect(sessions.has(params.name)).toBe(false);
      sessions.set(params.name, params.session.id);
    } else if (event === "session_destroyed") {
      expect(sessions.get(params.name)).toBe(params.session.id);
      sessions.delete(params.name);
    } else if (event === "session_renamed") {
      sessions.set(params.new_name, sessions.get(params.old_name) ?? "");
      sessions.delete(params.old_name);
    }
  }
  return sessions;
}

const destroyed = (ws: TestSocket, id: string): Promise<Message> =>
  ws.next(`the end of ${id}`, (m) => is("session_destroyed")(m) && m.params.session.id === id);

const get = async (path: string) => (await gateway.unix(path)).json();

test("the end is announced when the program ends, and the record stays readable", async () => {
  const ws = await gateway.ws("/ws/json");
  const { name, id } = await gateway.create({ name: "ends", command: "read line; exit 7" });
  await gateway.type(name, "go\r");
  const exited = await ws.next("the exit", is("session_exited"));
  expect(exited.params).toMatchObject({ name, exit_code: 7 });
  expect((await destroyed(ws, id)).params).toMatchObject({ name, reason: "exited", exit_code: 7, signal: null });
  expect(await get(`/sessions/${name}`)).toMatchObject({ id, running: false, exit_code: 7 });
  const names = (list: { name: string }[]) => list.map((one) => one.name);
  expect(names(await get("/sessions"))).not.toContain(name);
  expect(names(await get("/sessions?all=1"))).toContain(name);
});

test("a program that ends at once is announced as started and ended", async () => {
  const ws = await gateway.ws("/ws/json");
  const { id } = await gateway.create({ name: "quick", command: "exit 3" });
  expect((await destroyed(ws, id)).params).toMatchObject({ name: "quick", exit_code: 3 });
  const heard = ws.messages.filter((m) => m.params?.session?.id === id).map((m) => m.event);
  expect(heard).toEqual(["session_created", "session_exited", "session_destroyed"]);
});

test("nothing is announced under a name that another session has taken", async () => {
  const ws = await gateway.ws("/ws/json");
  const first = await gateway.create({ name: "taken", command: "exit 0" });
  await destroyed(ws, first.id);
  const second = await gateway.create({ name: "taken" });
  await ws.next("the successor", (m) => is("session_created")(m) && m.params.session.id === second.id);
  // The grace of the first is over.
  const marker = await gateway.create({ name: "marker", command: "exit 0" });
  await destroyed(ws, marker.id);
  await until("the end of its grace", async () => (await gateway.unix(`/sessions/${marker.id}`)).status === 404);
  expect((await gateway.unix(`/sessions/${first.id}`)).status).toBe(404);
  expect(byName(ws.messages).get("taken")).toBe(second.id);
  expect((await get("/sessions/taken")).id).toBe(second.id);
});

test("a session that resists its end is announced before its successor", async () => {
  const ws = await gateway.ws("/ws/json");
  const first = await gateway.create({
    name: "stubborn",
    command: "trap '' HUP; echo ready; while :; do sleep 1; done",
  });
  await gateway.shows("stubborn", /^ready$/m);
  const killed = gateway.unix("/sessions/stubborn", { method: "DELETE" });
  const second = await until("its name to be free", () => gateway.create({ name: "stubborn" }).catch(() => null));
  expect((await killed).status).toBe(200);
  await ws.next("the successor", (m) => is("session_created")(m) && m.params.session.id === second.id);
  expect((await destroyed(ws, first.id)).params).toMatchObject({ name: "stubborn", reason: "killed" });
  expect(byName(ws.messages).get("stubborn")).toBe(second.id);
  expect(ws.messages.filter((m) => is("session_destroyed")(m) && m.params.name === "stubborn")).toHaveLength(1);
});

test("a restarted session is announced again", async () => {
  const ws = await gateway.ws("/ws/json");
  const { id } = await gateway.create({ name: "again", command: "read line" });
  await gateway.type("again", "\r");
  await destroyed(ws, id);
  const before = ws.messages.length;
  await gateway.unix("/sessions/again/restart", { method: "POST" });
  const created = await ws.next("it again", is("session_created"), before);
  expect(created.params).toMatchObject({ name: "again", session: { id, running: true } });
  expect(byName(ws.messages).get("again")).toBe(id);
});

test("a new session's own fields are beside it", async () => {
  const ws = await gateway.ws("/ws/json");
  const { id } = await gateway.create({ name: "fields", command: "sleep 60", tags: ["b", "a"], rows: 30, cols: 100 });
  const { params } = await ws.next("it", (m) => is("session_created")(m) && m.params.session.id === id);
  expect(params).toMatchObject({
    name: "fields",
    tags: ["a", "b"],
    pid: expect.any(Number),
    command: "sleep 60",
    rows: 30,
    cols: 100,
    session: { id },
  });
});
