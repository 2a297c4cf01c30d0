/** A capture of the keyboard that cannot focus its element is undone, unless it renewed an earlier one. */
import { expect, test } from "bun:test";
import { inputMode } from "../../../src/mcp/tools/drawing.ts";
import type { Ask } from "../../../src/mcp/tools/tool.ts";
import { WshError } from "../../../src/protocol/errors.ts";

for (const [mode, released] of [
  ["passthrough", true],
  ["capture", false],
] as const) {
  test(`focus of a missing element, after ${mode}`, async () => {
    const asked: string[] = [];
    const ask = (async (name: string) => {
      asked.push(name);
      if (name === "focus.set") throw new WshError("overlay_not_found", "no element 'nope'");
      return { mode };
    }) as unknown as Ask;
    const given = { session: "a", mode: "capture", focus: "nope" };
    const call = inputMode.call(given, ask, { kind: "agent", name: "mcp" } as never);
    await expect(call).rejects.toThrow("no element 'nope'");
    expect(asked).toContain("input.capture");
    expect(asked.at(-1)).toBe(released ? "input.release" : "focus.set");
  });
}
