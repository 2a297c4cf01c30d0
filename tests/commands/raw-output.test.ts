/** A command's output is available byte for byte, over the command line, HTTP and MCP, from every shell. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { isMissing } from "../support/programs.ts";

const mcp = new McpInstance();
let client: Client;
// Every byte, marks and queries, line ends of all kinds, and none at the end.
const bytes = Buffer.concat([
  Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
  Buffer.from("\r\n\n\r\r\n\x1b]133;D;0\x07\x1b]633;E;x;y\x07\x1b[6n\x1bP+q\x1b\\\x1b[31m\nend"),
  Buffer.from([0xff, 0xc3, 0x28, 0x9a, 0]),
]);
const file = join(mcp.dir, "bytes");

beforeAll(async () => {
  fs.writeFileSync(file, bytes);
  client = await mcp.client();
});
afterAll(() => mcp[Symbol.asyncDispose]());

for (const shell of ["bash", "zsh", "fish"]) {
  test.skipIf(isMissing(shell))(`in ${shell}`, async () => {
    await mcp.session(shell, "--shell", shell);
    await mcp.run("exec", shell, "--", `cat ${file}`);
    const id = (await mcp.commands(shell)).at(-1)?.id ?? 0;
    const printed = Bun.spawnSync(mcp.command("output", shell, "--command", String(id), "--raw"), { env: mcp.env });
    const answer = await (await mcp.fetch(`/sessions/${shell}/commands/${id}/output?raw=true`)).json();
    const { value } = await call(client, "wsh_get_output", { session: shell, command_id: id, raw: true });
    const base64 = bytes.toString("base64");
    expect([printed.stdout.toString("base64"), answer.base64, value.base64]).toEqual([base64, base64, base64]);
    await mcp.run("exec", shell, "--", "head -c 1100000 /dev/zero");
    const refused = await mcp.run("output", shell, "--command", String(id + 1), "--raw");
    expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("more than 1048576 bytes") });
  });
}
