/** In a deleted directory, commands that need no directory work, and others report the reason. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { platform } from "node:process";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { isCompiled, program } from "../support/wsh-program.ts";

/** Bun exits there before any code of wsh: only the executable for Linux is built to avoid that. */
const isBuilt = isCompiled && platform === "linux";

test.skipIf(!isBuilt)("the command line, hooks and the bridge work in a deleted directory", async () => {
  await using mcp = new McpInstance();
  await mcp.session("dev");
  const gone = join(mcp.dir, "gone");
  const wsh = program[0] ?? "";
  const inDeleted = async (...args: readonly string[]) => {
    const script = 'mkdir -p "$0" && cd "$0" && rmdir "$0" && exec "$@"';
    const child = Bun.spawn(["/bin/sh", "-c", script, gone, wsh, ...args], {
      env: { ...mcp.env },
      stdin: new Blob(["{}"]),
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { code: await child.exited, stdout, stderr };
  };
  for (const args of [
    ["list"],
    ["send", "dev", "x"],
    ["--version"],
    ["hook", "claude", "Stop"],
    ["exec", "--cwd", "/", "--", "true"],
  ]) {
    expect([args, await inDeleted(...args)]).toMatchObject([args, { code: 0, stderr: "" }]);
  }
  const said = "wsh: the current directory was deleted\n     Change to another directory, or name one with --cwd.\n";
  for (const args of [
    ["new", "other"],
    ["exec", "--", "true"],
    ["history", "--here"],
  ]) {
    expect([args, await inDeleted(...args)]).toMatchObject([args, { code: 1, stderr: said }]);
  }

  fs.mkdirSync(gone);
  const client = await mcp.connect(
    "legacy",
    new StdioClientTransport({
      command: "/bin/sh",
      args: ["-c", 'cd "$0" && rmdir "$0" && exec "$1" mcp', gone, wsh],
      env: { ...mcp.env },
      stderr: "pipe",
    }),
  );
  const warning = `the caller's directory '${gone}' does not exist; the session starts in the home directory`;
  const { value } = await call(client, "wsh_exec", { command: "pwd" });
  expect(value).toMatchObject({ output: mcp.env.HOME, warnings: [warning] });
});
