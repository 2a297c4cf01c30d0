/**
 * A disk that is full for a while. Failed writes are reported, nothing takes effect that was reported as failed, and
 * later writes are complete and on separate lines.
 */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { LineWriter } from "../../../src/log/line-writer.ts";
import { until } from "../../support/until.ts";
import { program } from "../../support/wsh-program.ts";
import { canMount, Enclave } from "./enclosed.ts";

async function startServer(enclave: Enclave, ...args: readonly string[]): Promise<void> {
  Bun.spawn([...enclave.prefix, ...program, "server", "--bind", "none", ...args], {
    env: { ...enclave.wsh.env },
    stdout: "ignore",
    stderr: "ignore",
  });
  const healthy = async (): Promise<boolean> => (await enclave.wsh.fetch("/health").catch(() => null))?.ok === true;
  await until("the server", healthy);
}

function linesOf(text: string): unknown[] {
  return text.split("\n").flatMap((line) => {
    try {
      return line === "" ? [] : [JSON.parse(line)];
    } catch {
      return [];
    }
  });
}

describe.skipIf(!canMount)("the audit log", () => {
  test("no record continues a torn one, and the lost ones are counted", async () => {
    const state = (wsh: Enclave["wsh"]): string => join(wsh.env.HOME ?? "", ".local/state");
    await using enclave = await Enclave.open(state, "64k");
    await startServer(enclave, "--audit");
    const calls = async (count: number): Promise<void> => {
      for (let made = 0; made < count; made += 1) await enclave.wsh.fetch("/server/info");
    };
    await calls(1);
    enclave.fill();
    // The file's existing page takes a part of them.
    await calls(60);
    enclave.empty();
    await calls(2);

    const text = enclave.shell('cat "$0"/wsh/t.audit.log');
    const records = linesOf(text);
    const lost = records.filter((record) => (record as { msg: string }).msg === "lines_lost");
    expect(lost).toHaveLength(1);
    expect(lost).toMatchObject([{ level: "warn", lines: 63 - (records.length - 1) }]);
    expect(records.slice(-3)).toMatchObject([{ msg: "lines_lost" }, { msg: "server.info" }, { msg: "server.info" }]);
    expect(text.trimEnd().split("\n").length - records.length).toBeLessThanOrEqual(1);
  });
});

test("a line that another process tore is ended before the next one", () => {
  const file = join(fs.mkdtempSync("/tmp/wsh-t-"), "log");
  fs.writeFileSync(file, "whole\nto");
  const fd = fs.openSync(file, "a+");
  try {
    const lines = new LineWriter((lost) => `lost ${lost}\n`);
    lines.write(fd, "mine\n");
    fs.appendFileSync(file, "torn again");
    lines.write(fd, "mine too\n");
    expect(fs.readFileSync(file, "utf8")).toBe("whole\nto\nmine\ntorn again\nmine too\n");
  } finally {
    fs.closeSync(fd);
    fs.rmSync(file);
  }
});

describe.skipIf(!canMount)("a full runtime directory", () => {
  const runtime = (wsh: Enclave["wsh"]): string => wsh.env.XDG_RUNTIME_DIR ?? "";

  test("and a full state directory: `wsh persist` fails and changes nothing; with room again it works", async () => {
    await using enclave = await Enclave.open((wsh) => wsh.dir, "512k");
    await enclave.ok("server", "--ensure", "--bind", "none");
    await enclave.ok("persist", "on");
    enclave.fill();
    const refused = await enclave.run("persist", "off");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/ENOSPC|no space/i);
    expect(refused.stderr).toContain("Free disk space");
    expect(await enclave.ok("persist")).toContain("is persistent");
    enclave.empty();
    expect(await enclave.ok("persist", "off")).toContain("is ephemeral");
    expect(await enclave.ok("persist")).toContain("is ephemeral");
  });

  test("a name that cannot be changed stays, and an ended session's name is free nevertheless", async () => {
    await using enclave = await Enclave.open(runtime, "128k");
    await enclave.ok("new", "before", "--tag", "t");
    // Until then a link leads the starting shell to a secret.
    await enclave.ok("wait", "before", "prompt");
    enclave.fill();
    // Nor is there room for a further file or link.
    enclave.shell('mount -o remount,nr_inodes=$(($(stat -f -c "%c - %d" "$0"))) "$0"; ! ln -s x "$0/link" 2>/dev/null');
    const renamed = await enclave.run("rename", "before", "after");
    expect(renamed).toMatchObject({ code: 1, stderr: expect.stringMatching(/no space left|ENOSPC/i) });
    expect(await enclave.ok("list", "--names")).toBe("before\n");
    await enclave.run("send", "before", "exit\n");
    await until("the name to be free", async () => (await enclave.ok("list", "--names")) === "");
  });
});

test.skipIf(!canMount)("a full state directory: a token is neither made nor revoked by halves", async () => {
  const state = (wsh: Enclave["wsh"]): string => join(wsh.env.HOME ?? "", ".local/state");
  await using enclave = await Enclave.open(state, "64k");
  await enclave.ok("token", "create", "kept");
  enclave.fill();
  for (const args of [
    ["create", "more"],
    ["revoke", "kept"],
  ]) {
    const { code, stdout, stderr } = await enclave.run("token", ...args);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("Free disk space");
  }
  expect(await enclave.ok("token", "list", "--json")).toMatch(/"name":\s*"kept"/);
  expect(
    enclave
      .shell('ls -A "$0/wsh"')
      .split("\n")
      .filter((name) => name.includes("tokens.")),
  ).toHaveLength(2);
});

test.skipIf(!canMount)(
  "a full state directory: the history is still searched, and nothing that ran is lost",
  async () => {
    const state = (wsh: Enclave["wsh"]): string => join(wsh.env.HOME ?? "", ".local/state");
    await using enclave = await Enclave.open(state, "1m");
    await enclave.ok("new", "one");
    await enclave.ok("exec", "one", "--", "true before");
    await until("the first command in the database", async () => (await enclave.ok("history")).includes("true before"));
    enclave.fill();
    await enclave.ok("exec", "one", "--", "true meanwhile");
    const { code, stdout, stderr } = await enclave.run("history", "--json");
    expect([code, JSON.parse(stdout).commands.map(({ command }: { command: string }) => command)]).toEqual([
      0,
      ["true before"],
    ]);
    expect(`${stdout}${stderr}`).toContain("the newest commands may be missing");
    const refused = await enclave.run("history", "delete", "before", "--yes");
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.stderr).toContain("Free disk space");
    enclave.empty();
    await enclave.ok("exec", "one", "--", "true after");
    const found = async (): Promise<string[]> =>
      JSON.parse(await enclave.ok("history", "--json")).commands.map(({ command }: { command: string }) => command);
    await until("the last command in the database", async () => (await found()).includes("true after"));
    expect(await found()).toEqual(["true after", "true meanwhile", "true before"]);
  },
);

test.skipIf(!canMount)(
  "a full state directory: what is cleared goes from it all the same, and errors say the way out",
  async () => {
    const state = (wsh: Enclave["wsh"]): string => join(wsh.env.HOME ?? "", ".local/state");
    await using enclave = await Enclave.open(state, "1m");
    await enclave.ok("new", "s");
    const kept = (): boolean => enclave.shell('grep -rl "kept-4[2]" "$0"/wsh/t.checkpoints || true') !== "";
    await enclave.ok("exec", "s", "--", "echo kept-42");
    await until("a checkpoint", kept);
    enclave.fill();
    for (const args of [
      ["checkpoint", "save", "s"],
      ["servers", "add", "ssh://m1", "--name", "m1"],
    ]) {
      const { code, stderr } = await enclave.run(...args);
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/cannot be written: ENOSPC(?:.|\n)*nothing was changed/),
      ]);
    }
    await enclave.ok("clear", "s");
    await until("it to be gone", () => !kept());
    enclave.empty();
    await enclave.ok("exec", "s", "--", "echo after-42");
    await until("a checkpoint", () => enclave.shell('ls "$0"/wsh/t.checkpoints/s1') !== "");
  },
);
