/** Commands that need the server's answer, beside a server that is stopped: each ends with an error that says what to do. */
import { expect, test } from "bun:test";
import { initialize } from "../support/bridge-lines.ts";
import { Wsh } from "../support/wsh.ts";

test("beside a stopped server, no command waits for its answer without end; none is carried out later", async () => {
  await using wsh = new Wsh();
  const { pid } = await wsh.server();
  await wsh.session("s");
  process.kill(pid, "SIGSTOP");
  const fails = [
    ["info"],
    ["status"],
    ["persist"],
    ["persist", "off"],
    ["servers", "reload"],
    ["servers", "remove", "other"],
    ["open", "--print"],
    ["new", "placed", "--place", "any"],
    ["script", "-e", "1"],
    ["stop"],
  ];
  const others = [wsh.run("doctor"), wsh.runWith({ input: `${initialize}\n` }, "mcp"), wsh.ok("list")] as const;
  for (const [words, { code, stderr }] of await Promise.all(
    fails.map(async (words) => [words, await wsh.run(...words)] as const),
  )) {
    expect({ words, code, stderr }).toMatchObject({ code: 1 });
    expect(stderr, words.join(" ")).toContain("the server of instance 't' does not answer");
    expect(stderr, words.join(" ")).toContain(`kill -CONT ${pid}`);
  }
  const [doctor, mcp, list] = await Promise.all(others);
  expect(doctor.stdout).toMatch(/server +the server of instance 't' does not answer/);
  expect(JSON.parse(mcp.stdout).error).toMatchObject({ data: { code: "server_unavailable" } });
  expect(mcp.stdout).toContain(`kill -9 ${pid}`);
  expect(list).toContain("s ");
  process.kill(pid, "SIGCONT");
  // Neither `stop` nor `persist off` was sent.
  expect(await wsh.ok("persist")).toContain("The server is persistent");
  expect(await wsh.ok("info")).toContain(`process ${pid}`);
  expect(await wsh.ok("list")).toContain("s ");
});
