/** The command of the status line is bounded in time and output, ends with its daemons, and shows its failure. */
import { expect, test } from "bun:test";
import { StatusCommand } from "../../../src/viewer/status/status-command.ts";
import { until } from "../../support/until.ts";

function shown(command: string, limitMs = 5_000): Promise<StatusCommand["output"]> {
  return new Promise((resolve) => {
    const settings = { status_command: command, status_seconds: 3_600 };
    const changed = (): void => {
      resolve(line.output);
      line.stop();
    };
    const line = new StatusCommand(settings, { name: "dev" }, changed, limitMs);
    expect(line.output).toEqual({ text: "", failed: "" });
  });
}

async function isRunning(seconds: string): Promise<boolean> {
  const { stdout } = Bun.spawnSync(["ps", "-eo", "args"]);
  return stdout.toString().split("\n").includes(`sleep ${seconds}`);
}

test("its first line, and its failure", async () => {
  expect(await shown("echo low; echo more")).toEqual({ text: "low", failed: "" });
  expect(await shown("echo low; exit 3")).toEqual({ text: "low", failed: "exit 3" });
  expect(await shown("no-such-program-here")).toEqual({ text: "", failed: "exit 127" });
  expect(await shown("kill -SEGV $$")).toEqual({ text: "", failed: "SIGSEGV" });
});

test("another command in the settings runs at once", async () => {
  const settings = { status_command: "echo one", status_seconds: 3_600 };
  const line = new StatusCommand(settings, { name: "dev" }, () => {});
  await until("the first", () => line.output.text === "one");
  settings.status_command = "echo two";
  expect(line.output.text).toBe("");
  await until("the second", () => line.output.text === "two");
  line.stop();
});

test("a flood, a hung command and its remains are ended", async () => {
  const begun = performance.now();
  expect(await shown("yes", 60_000)).toEqual({ text: "y", failed: "" });
  expect(await shown("tr '\\0' x </dev/zero", 60_000)).toEqual({ text: "x".repeat(100), failed: "" });
  expect(await shown("echo on; sleep 986.1 & exit 0", 60_000)).toEqual({ text: "on", failed: "" });
  expect(performance.now() - begun).toBeLessThan(30_000);
  expect(await shown("echo on; setsid sleep 986.2 & (setsid sleep 986.3 &); sleep 986.4", 500)).toEqual({
    ...{ text: "on", failed: "still ran after 0.5 s" },
  });
  for (const part of ["986.1", "986.2", "986.3", "986.4"])
    await until(`sleep ${part} to be gone`, async () => !(await isRunning(part)));
});
