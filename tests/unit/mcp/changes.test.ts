/** Watching a session's output for subscribers leaves nothing behind from one poll to the next. */
import { expect, test } from "bun:test";
import { Changes } from "../../../src/mcp/resources/changes.ts";
import type { Call } from "../../../src/operations/call.ts";
import { until } from "../../support/until.ts";

test("finished polls leave no listener at the signal of the watch", async () => {
  let cursor = 0;
  let told = 0;
  const signals = new Set<AbortSignal>();
  let listeners = 0;
  const answer = async (_name: string, _input: unknown, { signal }: { signal: AbortSignal }): Promise<unknown> => {
    if (!signals.has(signal)) {
      signals.add(signal);
      const add = signal.addEventListener.bind(signal);
      const remove = signal.removeEventListener.bind(signal);
      signal.addEventListener = (type: string, listener: EventListener, options?: AddEventListenerOptions) => {
        listeners++;
        add(type, listener, options);
      };
      signal.removeEventListener = (type: string, listener: EventListener) => {
        listeners--;
        remove(type, listener);
      };
    }
    cursor++;
    return { output_cursor: cursor };
  };
  const changes = new Changes(answer as Call, () => ({ [Symbol.dispose]() {} }));
  const watch = changes.onResource("wsh://sessions/dev/screen", () => told++, {
    kind: "mcp",
    id: "a",
    connected: true,
  });
  await until("four updates", () => told >= 4);
  expect(signals.size).toBe(1);
  // The present pause has one.
  expect(listeners).toBeLessThanOrEqual(1);
  watch[Symbol.dispose]();
});
