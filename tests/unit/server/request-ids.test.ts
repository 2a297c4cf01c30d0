/** Ids of requests over HTTP belong to their callers: an AI agent gets no answer of a person's request with its id. */
import { expect, test } from "bun:test";
import type { Call } from "../../../src/operations/call.ts";
import { createApp } from "../../../src/server/http/app.ts";
import type { AppEnv } from "../../../src/server/http/context.ts";

test("the same id of a person and of each agent on the Unix socket is another request", async () => {
  const keys: (string | undefined)[] = [];
  const call = async (_name: unknown, _input: unknown, { once }: { readonly once?: { readonly key: string } }) => {
    keys.push(once?.key);
    return {};
  };
  const guard = { hostNames: new Set<string>(), corsOrigins: new Set<string>(), tokens: () => [] };
  const app = createApp({ call: call as unknown as Call, basePrefix: "", guard });
  const post = async (agent: string | null, headers: Readonly<Record<string, string>> = {}): Promise<void> => {
    const server = { timeout: () => {} } as unknown as AppEnv["Bindings"]["server"];
    const origin: AppEnv["Bindings"] = { listener: "unix", agent, peer: null, peerPort: null, server };
    const init = {
      method: "POST",
      headers: { "Content-Type": "application/json", "Wsh-Request": "deploy-1", ...headers },
      body: JSON.stringify({ command: "make" }),
    };
    expect((await app.request("/sessions/dev/exec", init, origin)).status).toBe(200);
  };
  await post(null);
  await post("claude");
  await post("claude");
  await post(null, { "Wsh-Agent": "codex" });
  await post(null);
  expect(keys).not.toContain(undefined);
  expect(new Set(keys).size).toBe(3);
  expect([keys[1] === keys[2], keys[0] === keys[4]]).toEqual([true, true]);
});
