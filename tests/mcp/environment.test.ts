/** `wsh mcp` under an environment that does not fit into its first line to the server. */
import { expect, test } from "bun:test";
import { fitHello } from "../../src/mcp/bridge/hello.ts";
import { MAX_HELLO_BYTES } from "../../src/mcp/socket/hello.ts";
import { Wsh } from "../support/wsh.ts";

const hello = { wsh_mcp: 1, version: "0", cwd: "/", read_only: false } as const;

function sizeOf(value: object): number {
  return Buffer.byteLength(JSON.stringify(value)) + 1;
}

test("the largest variables are left out, and no more than necessary", () => {
  const fits = { ...hello, env: { PATH: "/bin", BIG: "x".repeat(MAX_HELLO_BYTES / 2) } };
  expect(fitHello(fits)).toEqual({ hello: fits, omitted: [] });
  const env = {
    ...Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`V${i}`, "é\n\x1b".repeat(2_000 + i)])),
    PATH: "/bin",
  };
  const fitted = fitHello({ ...hello, env });
  expect(sizeOf(fitted.hello)).toBeLessThanOrEqual(MAX_HELLO_BYTES);
  expect(sizeOf({ ...hello, env })).toBeGreaterThan(MAX_HELLO_BYTES);
  expect(fitted.hello.env?.PATH).toBe("/bin");
  expect(fitted.omitted).toEqual(Array.from({ length: fitted.omitted.length }, (_, i) => `V${99 - i}`));
  const oneMore = { ...fitted.hello.env, [fitted.omitted.at(-1) ?? ""]: env[fitted.omitted.at(-1) as "PATH"] };
  expect(sizeOf({ ...hello, env: oneMore })).toBeGreaterThan(MAX_HELLO_BYTES);
});

test("it serves, reports the missing ones, and sessions have the others", async () => {
  await using wsh = new Wsh();
  const many = Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`SMALL_${i}`, "x".repeat(11_000)]));
  const input = `${JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "wsh_exec", arguments: { command: 'echo "huge: $' + "{#HUGE}, small: $" + '{#SMALL_7}"' } },
  })}\n`;
  const env = { ...many, HUGE: "y".repeat(120_000) };
  const { code, stdout, stderr } = await wsh.runWith({ input, env }, "mcp");
  expect([code, stdout]).toEqual([0, expect.stringContaining("huge: 0, small: 11000")]);
  expect(stderr).toBe("wsh mcp: the environment exceeds 1 MiB; sessions start without HUGE\n");
});
