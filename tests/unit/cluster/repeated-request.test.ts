/** A repeated request to another machine: its error when the machine is away now. */
import { expect, test } from "bun:test";
import { untilAnswered } from "../../../src/cluster/repeated-request.ts";
import { WshError } from "../../../src/protocol/errors.ts";
import { Repeats } from "../../../src/server/machines/repeats.ts";

const away = async (): Promise<never> => {
  throw new WshError("machine_unreachable", "nothing was sent");
};
const asked = { machine: "m1", operation: "exec", id: "r1", deadline: Date.now() - 1, isOwn: true };

test("a request sent for the first time was not done; a repeated one may have been", async () => {
  expect(untilAnswered(asked, away)).rejects.toMatchObject({ code: "machine_unreachable" });
  const again = untilAnswered({ ...asked, firstAt: Date.now() - 1_000 }, away);
  expect(again).rejects.toMatchObject({ code: "outcome_unknown", details: { request: "r1" } });
});

test("an AI's call whose outcome stays unknown keeps its id until that is known", async () => {
  const repeats = new Repeats();
  const caller = { kind: "mcp", id: "mcp:1", connected: true } as const;
  const keys: string[] = [];
  const call = (code: "outcome_unknown" | null) =>
    repeats.withRequestId(
      { operation: "exec", target: "m1/s", input: {} },
      caller,
      undefined,
      async ({ key, first_at }) => {
        keys.push(key);
        if (code === null) return "done";
        return first_at === undefined
          ? Promise.reject(new WshError(code, "lost"))
          : untilAnswered({ ...asked, firstAt: first_at }, away);
      },
    );
  for (let round = 0; round < 3; round++) await call("outcome_unknown").catch(() => {});
  await call(null);
  await call(null);
  expect(new Set(keys.slice(0, 4)).size).toBe(1);
  expect(keys[4]).not.toBe(keys[0]);
});
