/**
 * Two servers of one instance at a time: one hangs, its sockets are deleted, and another replaces it. Every session
 * then reports its changes to both; messages that one of them does not read must not make the other's list wrong.
 */
import { expect, test } from "bun:test";
import fs from "node:fs";
import type { SessionInfo } from "../../src/protocol/session.ts";
import { stopProcess } from "../support/processes.ts";
import { Gateway, TOKEN } from "../support/server.ts";
import { until } from "../support/until.ts";

const ROUNDS = 30;

type Shown = Pick<SessionInfo, "name" | "tags" | "running">;

test("lists are right beside a server that hangs, and it ends when it continues", async () => {
  await using gateway = await Gateway.start();
  const names = ["a", "b", "c"];
  for (const name of names) await gateway.create({ name, command: "cat" });
  const events = await gateway.ws("/ws/json");
  const old = { pid: gateway.pid, origin: gateway.origin, ended: gateway.ended };
  await stopProcess(old.pid);
  for (const path of [gateway.instance.httpSocket, gateway.instance.mcpSocket]) fs.rmSync(path);
  await gateway.serve();
  expect(gateway.pid).not.toBe(old.pid);

  const list = async (from: Promise<Response>): Promise<Shown[]> => {
    const infos: SessionInfo[] = await (await from).json();
    return infos.map(({ name, tags, running }) => ({ name, tags, running }));
  };
  const truth = new Map(names.map((name) => [name, { name, tags: [] as string[], running: true }]));
  for (let round = 10; round < 10 + ROUNDS; round++) {
    const name = names[round % names.length] ?? "";
    const changed = await gateway.tcp(`/sessions/${name}`, { method: "PATCH", json: { add_tags: [`round-${round}`] } });
    expect(changed.status).toBe(200);
    truth.get(name)?.tags.push(`round-${round}`);
    expect(await list(gateway.tcp("/sessions?all=true"))).toEqual([...truth.values()]);
  }
  expect((await gateway.tcp("/sessions", { json: { name: "d", command: "cat" } })).status).toBe(201);
  truth.set("d", { name: "d", tags: [], running: true });
  expect((await gateway.tcp("/sessions/b", { method: "DELETE" })).status).toBe(200);
  truth.delete("b");
  expect(await list(gateway.tcp("/sessions?all=true"))).toEqual([...truth.values()]);

  process.kill(old.pid, "SIGCONT");
  // It may still answer before it notices its successor: then with correct data.
  const late = await list(
    fetch(`${old.origin}/sessions?all=true`, { headers: { Authorization: `Bearer ${TOKEN}` } }),
  ).catch(() => null);
  if (late !== null) expect(late).toEqual([...truth.values()]);
  expect(await old.ended).toBe(0);
  expect(await events.closed).toMatchObject({ code: 1000, reason: "server shutting down" });
  const found = await until("the new server's list", () => list(gateway.tcp("/sessions?all=true")));
  expect(found).toEqual([...truth.values()]);
});
