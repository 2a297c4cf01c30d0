/** `status` of programs on macOS, through all of wsh: names and directory are known, waiting is a guess. */
import { expect, test } from "bun:test";
import { system } from "../../src/platform/system.ts";
import { onFakeDarwin, sourceProgram } from "../support/fake-darwin/environment.ts";
import { until } from "../support/until.ts";
import { finished, Wsh } from "../support/wsh.ts";

test.skipIf(system.name !== "linux")(
  "names, arguments and directory are facts; what rests on flags says so",
  async () => {
    await using wsh = new Wsh({ env: onFakeDarwin });
    const run = async (...args: readonly string[]): Promise<string> => {
      const child = Bun.spawn([...sourceProgram, ...args], { cwd: wsh.dir, env: wsh.env, stderr: "pipe" });
      const { stdout: output, stderr: error, code } = await finished(child);
      expect({ args, code, error }).toEqual({ args, code: 0, error: "" });
      return output;
    };
    const status = () => wsh.call("s", "status.get", {});
    const named = (command: string) =>
      until(`status to name ${command}`, async () => {
        const found = await status();
        // A program that has just started works for a moment.
        return found.foreground?.command_line === command && found.decided_from !== "kernel" ? found : null;
      });
    await run("new", "s");
    expect(await run("exec", "s", "--", "cd /usr; echo here")).toBe("here\n");
    await wsh.enter("s", "sleep 30");
    expect(await named("sleep 30")).toMatchObject({
      state: "running",
      decided_from: "flags",
      why: "sleep is running; the system does not report what it waits for",
      cwd: "/usr",
    });
    expect(JSON.parse(await run("status", "s", "--json"))).toMatchObject({ why: (await status()).why, cwd: "/usr" });
    await wsh.call("s", "input.send", { keys: ["Ctrl+C"] });
    await until("the prompt", async () => (await status()).state === "prompt");
    await wsh.enter("s", "sh -c 'while :; do :; done'");
    await until("the loop to work", async () => {
      const found = await status();
      return found.why === "sh is working" && found.decided_from === "kernel";
    });
  },
);
