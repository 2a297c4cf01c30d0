/** A captured keyboard ends with the caller that captured it, also one that was gone before its answer. */
import { expect, test } from "bun:test";
import type { CallContext } from "../../../src/operations/call.ts";
import { CapturedKeyboards } from "../../../src/server/sessions/keyboards.ts";
import type { SessionProxy } from "../../../src/server/sessions/session-proxy.ts";

/** A session whose process notes the callers it is told are gone. */
function session(): { proxy: SessionProxy; gone: unknown[] } {
  const gone: unknown[] = [];
  const request = async (op: string, input: unknown): Promise<void> => {
    gone.push([op, input]);
  };
  return { proxy: { connection: { request } } as unknown as SessionProxy, gone };
}

function caller(id: string, more: { connected?: boolean; signal?: AbortSignal; ended?: AbortSignal }): CallContext {
  const { connected = true, signal = new AbortController().signal, ended } = more;
  return { caller: { kind: "http", id, connected }, signal, ended } as unknown as CallContext;
}

const told = (id: string) => ["peer.caller_gone", { id }];

test("a connection or token that ends before or after the answer gives up its keyboard; a lasting caller keeps it", () => {
  const keyboards = new CapturedKeyboards();
  const [before, token, after, lasting, newest] = [session(), session(), session(), session(), session()];
  keyboards.recordCapture(caller("before", { signal: AbortSignal.abort() }), before.proxy);
  keyboards.recordCapture(caller("token", { connected: false, ended: AbortSignal.abort() }), token.proxy);
  expect([before.gone, token.gone]).toEqual([[told("before")], [told("token")]]);

  keyboards.recordCapture(caller("after", {}), after.proxy);
  keyboards.recordCapture(caller("lasting", { connected: false, signal: AbortSignal.abort() }), lasting.proxy);
  const ending = new AbortController();
  keyboards.recordCapture(caller("older", { ended: ending.signal }), newest.proxy);
  keyboards.recordCapture(caller("newer", {}), newest.proxy);
  ending.abort();
  for (const id of ["after", "lasting"]) keyboards.callerGone(id);
  expect([after.gone, lasting.gone, newest.gone]).toEqual([[told("after")], [], []]);
});
