import { expect, test } from "bun:test";
import type { Call } from "../../../src/operations/call.ts";
import { Lifecycle, PendingCalls } from "../../../src/server/ephemeral.ts";

test("an ephemeral server sends its pending answers before it ends, also those that fail", async () => {
  for (const fails of [false, true]) {
    const ended = Promise.withResolvers<void>();
    let hasEnded = false;
    const answer = Promise.withResolvers<never>();
    const calls = new PendingCalls(() => lifecycle.reconsider());
    const lifecycle = new Lifecycle({
      persistent: () => false,
      sessions: () => 0,
      activityCount: () => calls.count,
      end() {
        hasEnded = true;
        ended.resolve();
      },
    });
    lifecycle.sessionExisted();
    const call = calls.counted((() => answer.promise) as Call);
    const caller = { kind: "http", id: "t", connected: false } as const;
    const asked = call("server.info", {}, { signal: new AbortController().signal, access: "admin", caller });
    lifecycle.reconsider();
    expect(hasEnded).toBe(false);
    if (fails) answer.reject(new Error("no"));
    else answer.resolve(undefined as never);
    await asked.catch(() => {});
    expect(hasEnded).toBe(false);
    await ended.promise;
    lifecycle.stop();
  }
});
