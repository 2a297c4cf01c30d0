/** The command of the status line is bounded in time and output, ends with its daemons, and shows its failure. */
import { expect, spyOn, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { platform } from "../../../src/platform/platform.ts";
import { type CommandPort, StatusCommand, StatusCommands } from "../../../src/viewer/status/status-command.ts";
import { until } from "../../support/until.ts";

const spec = (line: string, timeoutMs = 5_000) => {
  return { argv: ["sh", "-c", line], label: "sh", seconds: 3_600, timeoutMs };
};
const session = { name: "dev" };
const socket = "/run/user/0/wsh/t/1.sock";

function shown(line: string, timeoutMs?: number): Promise<StatusCommand["output"]> {
  return outputOf(spec(line, timeoutMs));
}

function outputOf(given: ReturnType<typeof spec>, port: Partial<CommandPort> = {}): Promise<StatusCommand["output"]> {
  return new Promise((resolve) => {
    const changed = (): void => {
      resolve(command.output);
      command.stop();
    };
    const command = new StatusCommand(given, { session, socket, changed, failed: () => {}, ...port });
    expect(command.output).toEqual({ text: "", failure: "" });
  });
}

async function isRunning(seconds: string): Promise<boolean> {
  const { stdout } = Bun.spawnSync(["ps", "-eo", "args"]);
  return stdout.toString().split("\n").includes(`sleep ${seconds}`);
}

test("its first line, and its failure", async () => {
  expect(await shown("echo low; echo more")).toEqual({ text: "low", failure: "" });
  expect(await shown("echo low; exit 3")).toEqual({ text: "low", failure: "exit 3" });
  expect(await shown("no-such-program-here")).toEqual({ text: "", failure: "exit 127" });
  expect(await shown("kill -SEGV $$")).toEqual({ text: "", failure: "SIGSEGV" });
});

test("a program without a shell; one that does not exist, or cannot be started, says so", async () => {
  const program = (...argv: string[]) => outputOf({ ...spec(""), argv });
  expect(await program("echo", "$HOME", ";", "x")).toEqual({ text: "$HOME ; x", failure: "" });
  expect(await program("no-such-program-here")).toEqual({ text: "", failure: "not found" });
  expect((await program("/etc")).failure).toMatch(/^cannot be started: E/);
});

test("segments with the same command share its runs, and another reason of a failure is reported once", async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "wsh-status-"));
  using _ = { [Symbol.dispose]: () => fs.rmSync(dir, { recursive: true }) };
  const [runs, reason] = [`${dir}/runs`, `${dir}/reason`];
  await Bun.write(reason, "3");
  const failures: string[] = [];
  const port = {
    session,
    socket,
    changed: () => {},
    failed: (label: string, why: string) => failures.push(`${label} ${why}`),
  };
  const commands = new StatusCommands(port);
  const given = { ...spec(`echo run >>${runs}; exit $(cat ${reason})`), seconds: 0.05 };
  const count = async (): Promise<number> =>
    (
      await Bun.file(runs)
        .text()
        .catch(() => "")
    ).split("\n").length - 1;
  const wanted = (): string[] => [given, { ...given }].map((each) => commands.outputOf(each).failure);
  await until("two runs", async () => {
    const [one, other] = wanted();
    expect(one).toBe(other);
    return one === "exit 3" && (await count()) >= 3;
  });
  expect(failures).toEqual(["sh exit 3"]);
  await Bun.write(reason, "4");
  await until("the other reason", () => wanted()[0] === "exit 4");
  expect(failures).toEqual(["sh exit 3", "sh exit 4"]);
  // Another list of commands ends those that it lacks.
  const hung = spec("sleep 985.1");
  commands.retain([hung]);
  commands.outputOf(hung);
  await until("it to run", () => isRunning("985.1"));
  commands.retain([]);
  await until("it to be gone", async () => !(await isRunning("985.1")));
  commands.stop();
});

test("a line that is hidden and shown again runs no command before its time", async () => {
  const outputs: string[] = [];
  const port = { session, socket, changed: () => outputs.push(command.output.text), failed: () => {} };
  const command = new StatusCommand(spec("echo $$"), port);
  command.output;
  await until("its output", () => command.output.text !== "");
  const { text } = command.output;
  for (let i = 0; i < 5; i++) {
    command.stop();
    expect(command.output.text).toBe(text);
  }
  command.stop();
  expect(new Set(outputs)).toEqual(new Set([text]));
});

test("a flood, a hung command and its remains are ended", async () => {
  const begun = performance.now();
  expect(await shown("yes", 60_000)).toEqual({ text: "y", failure: "printed over 16 kB" });
  expect(await shown("tr '\\0' x </dev/zero", 60_000)).toEqual({
    ...{ text: "x".repeat(1_000), failure: "printed over 16 kB" },
  });
  expect(await shown("echo on; sleep 986.1 & exit 0", 60_000)).toEqual({ text: "on", failure: "" });
  expect(performance.now() - begun).toBeLessThan(30_000);
  expect(await shown("echo on; setsid sleep 986.2 & (setsid sleep 986.3 &); sleep 986.4", 500)).toEqual({
    ...{ text: "on", failure: "still ran after 0.5 s" },
  });
  // What holds no output open ends with the run, too.
  expect(await shown("echo on; setsid sleep 986.5 >/dev/null & sleep 986.6 >/dev/null &")).toEqual({
    ...{ text: "on", failure: "" },
  });
  for (const part of ["986.1", "986.2", "986.3", "986.4", "986.5", "986.6"])
    await until(`sleep ${part} to be gone`, async () => !(await isRunning(part)));
});

test("the end of a run reads no process that is older than it", async () => {
  const { listeners } = platform();
  if (listeners === null) return;
  const read: number[] = [];
  const environment = listeners.environment.bind(listeners);
  using _ = spyOn(listeners, "environment").mockImplementation((pid) => {
    read.push(pid);
    return environment(pid);
  });
  expect(await shown("setsid sleep 986.7 >/dev/null & echo $$")).toEqual({ text: expect.any(String), failure: "" });
  await until("sleep 986.7 to be gone", async () => !(await isRunning("986.7")));
  expect(read).not.toContain(process.pid);
  expect(read).not.toContain(1);
});
