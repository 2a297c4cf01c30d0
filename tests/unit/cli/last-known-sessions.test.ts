/** Sessions of a machine that does not answer, as an AI agent's command lists them. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { cliCaller } from "../../../src/cli/session/client.ts";
import { remoteSessions } from "../../../src/cli/session/machine-list.ts";
import { rememberMachine } from "../../../src/cluster/added-machines.ts";
import { readLastKnown, writeLastKnown } from "../../../src/cluster/last-known.ts";
import { type Instance, resolveInstance } from "../../../src/instance/paths.ts";
import { PROTOCOL_VERSION } from "../../../src/protocol/messages.ts";
import { VERSION } from "../../../src/protocol/version.ts";
import { sessionInfo } from "../../support/session-info.ts";

const diary = sessionInfo({ id: "@s1", name: "diary", private: true, tags: ["mine"], command: "nano diary" });

let dir = "";
let instance: Instance;
let before: PropertyDescriptor | undefined;
beforeEach(() => {
  dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-known-"));
  instance = resolveInstance({ env: { XDG_RUNTIME_DIR: dir, XDG_STATE_HOME: dir, HOME: dir } });
  before = Object.getOwnPropertyDescriptor(cliCaller, "agent");
});
afterEach(() => {
  setAgent(before?.value);
  fs.rmSync(dir, { recursive: true, force: true });
});

function setAgent(agent: string | undefined): void {
  if (agent === undefined) Reflect.deleteProperty(cliCaller, "agent");
  else Object.assign(cliCaller, { agent });
}

async function listed(): Promise<unknown> {
  const [answer] = await remoteSessions(instance, "m");
  return answer?.sessions.map(({ name, command, tags }) => ({ name, command, tags }));
}

test("of a private one an AI agent learns the name alone, a person everything", async () => {
  await rememberMachine(instance, { name: "m", address: "http://127.0.0.1:1", token: "x".repeat(32) });
  writeLastKnown(instance, "m", [diary]);
  setAgent("claude");
  expect(await listed()).toEqual([{ name: "m/diary", command: "", tags: [] }]);
  setAgent(undefined);
  expect(await listed()).toEqual([{ name: "m/diary", command: "nano diary", tags: ["mine"] }]);
});

test("what an AI agent was told replaces nothing that is known for others", async () => {
  const { windows: _, ...rest } = diary;
  const concealed = { ...rest, windows: [], command: "", tags: [] };
  await using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) =>
      new URL(request.url).pathname === "/link/call"
        ? Response.json({ result: [concealed] })
        : Response.json({
            ...{ wsh: PROTOCOL_VERSION, version: VERSION, server_id: "m", hostname: "m", now: Date.now() },
          }),
  });
  await rememberMachine(instance, { name: "m", address: `http://127.0.0.1:${server.port}`, token: "x".repeat(32) });
  writeLastKnown(instance, "m", [diary]);
  setAgent("claude");
  expect(await listed()).toEqual([{ name: "m/diary", command: "", tags: [] }]);
  expect(readLastKnown(instance, "m")?.sessions).toMatchObject([{ command: "nano diary" }]);
});
