/** A program of `wsh_script` ends with its agent's connection or session: nobody else can resume or stop it. */
import { afterEach, expect, spyOn, test } from "bun:test";
import { createMcpHttp } from "../../../src/mcp/http/http.ts";
import type { Changes } from "../../../src/mcp/resources/changes.ts";
import { Conversation } from "../../../src/mcp/socket/conversation.ts";
import { callScript, endScripts } from "../../../src/mcp/tools/script.ts";
import type { Call } from "../../../src/operations/call.ts";

const spawn = spyOn(Bun, "spawn");
afterEach(() => void spawn.mockReset());

/** Starts a program that waits without end. @returns its id, and whether its process was killed */
async function start(id: string) {
  let isKilled = false;
  spawn.mockImplementation((() => ({
    stdin: { write: () => {}, flush: () => {} },
    stdout: new ReadableStream(),
    kill: () => {
      isKilled = true;
    },
  })) as never);
  const { signal } = new AbortController();
  const caller = { id, owner: id, asker: () => () => Promise.reject(new Error("unused")), ended: undefined, signal };
  const answer = await callScript({ code: "await never", max_wait_ms: 0 }, caller);
  expect(answer).toMatchObject({ state: "running" });
  const { script_id } = answer as { script_id: string };
  const resume = () => callScript({ resume: script_id, max_wait_ms: 0 }, caller);
  return { resume, isKilled: () => isKilled };
}

const call = (async () => ({})) as unknown as Call;
const none: Disposable = { [Symbol.dispose]() {} };
const changes = { onSessions: () => none, onResource: () => none } as unknown as Changes;

test("the end of a connection stops its programs and no others", async () => {
  const gone = await start("mcp:gone");
  const other = await start("mcp:other");
  const socket = { write: (bytes: Uint8Array) => bytes.length, pause() {}, resume() {}, end() {} };
  const caller = { id: "mcp:gone", connected: true, access: "admin", tools: "all" } as const;
  new Conversation(socket, caller, { call, changes }).end();
  expect([gone.isKilled(), other.isKilled()]).toEqual([true, false]);
  await expect(gone.resume()).rejects.toThrow("is running");
  expect(await other.resume()).toMatchObject({ state: "running" });
  endScripts("mcp:other");
});

test("the end of a session over HTTP stops its programs", async () => {
  const mcp = createMcpHttp({ call, changes });
  const identity = { access: "admin", via: { token: "t", id: "t", peer: null } } as const;
  const ask = (method: string, headers: Record<string, string>, body?: object) =>
    mcp.handle(
      new Request("http://localhost/mcp", {
        method,
        headers: { accept: "application/json, text/event-stream", "content-type": "application/json", ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
      identity,
    );
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } };
  const begun = await ask("POST", {}, { jsonrpc: "2.0", id: 1, method: "initialize", params });
  await begun.text();
  const session = begun.headers.get("mcp-session-id") ?? "";
  const program = await start(`mcp:${session}`);
  expect((await ask("DELETE", { "mcp-session-id": session })).status).toBe(202);
  expect(program.isKilled()).toBe(true);
  await mcp.stop();
});
