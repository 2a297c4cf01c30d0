/** Who may capture a session's keyboard. */
import { expect, test } from "bun:test";
import { elementHandlers } from "../../../src/endpoint/operations/drawing.ts";
import type { Session } from "../../../src/session/session.ts";

test("nobody captures the keyboard while a person has taken the program over", async () => {
  const captured: string[] = [];
  const questions: { handedOver: string | null } = { handedOver: "Log in" };
  const keyboard = {
    capture: ({ id }: { readonly id: string }) => captured.push(id),
    cursor: () => 0,
    leaseLeft: () => null,
    owner: null,
    mode: "capture",
  };
  const session = { requireRunning: () => {}, questions, keyboard } as unknown as Session;
  const context = { caller: { kind: "mcp", id: "mcp:1", connected: false } };
  const capture = async (): Promise<unknown> =>
    elementHandlers["input.capture"](
      session,
      { lease_ms: 1_000 },
      context as Parameters<(typeof elementHandlers)["input.capture"]>[2],
    );
  await expect(capture()).rejects.toMatchObject({ code: "input_captured" });
  expect(captured).toEqual([]);
  questions.handedOver = null;
  expect(await capture()).toMatchObject({ mode: "capture" });
  expect(captured).toEqual(["mcp:1"]);
});
