/** An attached terminal on macOS's facts: the same for the person, though the session process never reads its keys. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { system } from "../../src/platform/system.ts";
import { onFakeDarwin, sourceProgram } from "../support/fake-darwin/environment.ts";
import { stopProcess } from "../support/processes.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { finished, Wsh } from "../support/wsh.ts";

async function run(wsh: Wsh, ...args: readonly string[]): Promise<string> {
  const child = Bun.spawn([...sourceProgram, ...args], { cwd: wsh.dir, env: wsh.env, stderr: "pipe" });
  const { stdout: output, stderr: error, code } = await finished(child);
  expect({ args, code, error }).toEqual({ args, code: 0, error: "" });
  return output;
}

describe.skipIf(system.name !== "linux")("on macOS", () => {
  const wsh = new Wsh({ env: onFakeDarwin });
  const attached = (): Promise<EmulatorTerminal> => EmulatorTerminal.attach(wsh, "s", { wsh: sourceProgram });
  // One session for all tests; in the last one its shell ends.
  beforeAll(() => run(wsh, "new", "s"));
  afterAll(() => wsh[Symbol.asyncDispose]());

  test("input runs, and after the person has detached the session continues", async () => {
    await using terminal = await attached();
    terminal.type("echo at''tached\r");
    await terminal.sees(/^attached$/m);
    terminal.type("\x1c\x1c");
    expect(await terminal.exited).toBe(0);
    await terminal.sees("[detached");
    expect(await run(wsh, "exec", "s", "--", "echo still here")).toBe("still here\n");
  });

  test("input while the client is stopped stays out of the session, and is read when the client continues", async () => {
    await using terminal = await attached();
    await stopProcess(terminal.pid);
    terminal.type("echo be''hind\r");
    // If the session read the keys, they would have come before these.
    expect(await run(wsh, "exec", "s", "--", "echo mean''while")).toBe("meanwhile\n");
    expect(await run(wsh, "screen", "s")).not.toContain("hind");
    process.kill(terminal.pid, "SIGCONT");
    await terminal.sees(/^behind$/m);
  });

  test("a closed terminal leaves the session to others", async () => {
    await using terminal = await attached();
    const attachedNow = async (): Promise<number> => JSON.parse(await run(wsh, "list", "--json"))[0].attached;
    expect(await attachedNow()).toBe(1);
    terminal.hangUp();
    await terminal.exited;
    await until("nobody to be attached", async () => (await attachedNow()) === 0);
    expect(await run(wsh, "exec", "s", "--", "echo still here")).toBe("still here\n");
  });

  test("the last output of a program is displayed, and its end ends the client", async () => {
    await using terminal = await attached();
    terminal.type("seq -s ' ' 1 300; echo la''st; exit 3\r");
    await terminal.exited;
    const text = await terminal.sees(/^last$/m);
    expect(text).toContain(" 300\n");
  });
});
