/** Checkpoints stay within their bounds, and odd files cost neither others nor memory. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { contentOf } from "../../support/content-of.ts";
import { isMissing } from "../../support/programs.ts";
import { until } from "../../support/until.ts";
import { Wsh } from "../../support/wsh.ts";
import { canMount, Enclave } from "../faults/enclosed.ts";
import { folderOf, kill, textOf, written, writtenToPrompt } from "./crashed-sessions.ts";

const DAY_S = 86_400;

async function lose(wsh: Wsh, ...names: string[]): Promise<void> {
  for (const name of names) {
    const { id, pane_id } = await wsh.session(name);
    await wsh.exec(name, `echo in ${name}`);
    await writtenToPrompt(wsh, `in ${name}`, Number(pane_id.slice(1)), Number(id.slice(2)));
  }
  await kill(wsh);
}

/** As if all had been written so many days ago. */
function age(folder: string, days: number): void {
  for (const name of fs.readdirSync(folder)) {
    const at = Date.now() / 1_000 - days * DAY_S;
    fs.utimesSync(join(folder, name), at, at);
  }
}

function namesOf(wsh: Wsh): Promise<string[]> {
  return wsh.list().then((all) => all.map(({ name }) => name));
}

/** A session that writes a checkpoint first prunes those of others, unless one has just done so. */
async function look(wsh: Wsh): Promise<void> {
  fs.rmSync(join(folderOf(wsh), "..", "pruned"), { force: true });
  const { id, pane_id } = await wsh.session("looks");
  await wsh.exec("looks", "echo looked");
  await written(wsh, "looked", Number(pane_id.slice(1)), Number(id.slice(2)));
  await until("it to have looked", () => fs.existsSync(join(folderOf(wsh), "..", "pruned")));
}

test("crashed sessions are removed when they are too old; running ones and those with labels stay", async () => {
  await using wsh = new Wsh({ config: "checkpoint_days = 3\n" });
  await wsh.session("labelled");
  await wsh.ok("checkpoint", "save", "labelled", "kept");
  await wsh.ok("kill", "labelled");
  await lose(wsh, "old", "young");
  age(folderOf(wsh, 2), 4);
  // Of a write that was cut off.
  const half = join(folderOf(wsh), "..", "s1~halfwritten");
  fs.mkdirSync(half, { mode: 0o700 });
  fs.writeFileSync(join(half, "p1.1.state"), "half", { mode: 0o600 });
  fs.utimesSync(half, Date.now() / 1_000 - DAY_S, Date.now() / 1_000 - DAY_S);
  age(folderOf(wsh, 3), 2);
  age(join(folderOf(wsh), "..", "s1.kept"), 400);
  await look(wsh);
  await until("the old one to be gone", () => !fs.existsSync(folderOf(wsh, 2)));
  await until("the half one to be gone", () => !fs.existsSync(half));
  expect((await namesOf(wsh)).sort()).toEqual(["looks", "young"]);
  expect(await wsh.ok("checkpoint", "list", "labelled")).toContain("kept");
});

test("of crashed sessions that are too large together the oldest is removed", async () => {
  await using wsh = new Wsh({ config: "checkpoint_bytes = 1048576\n" });
  await lose(wsh, "first", "second", "third");
  for (const number of [1, 2, 3]) {
    // Kept lines, as in a long history.
    fs.writeFileSync(
      join(folderOf(wsh, number), `p${number}.1.history`),
      crypto.getRandomValues(new Uint8Array(65_536)),
      {
        mode: 0o600,
      },
    );
    fs.truncateSync(join(folderOf(wsh, number), `p${number}.1.history`), 450_000);
    age(folderOf(wsh, number), 4 - number);
  }
  await look(wsh);
  await until("the first to be gone", () => !fs.existsSync(folderOf(wsh, 1)));
  expect((await namesOf(wsh)).sort()).toEqual(["looks", "second", "third"]);
  expect(await wsh.ok("restore", "third")).toContain("is restored");
});

test("a checkpoint of another user, or with a link or a pipe in it, is named and left; the others are restored", async () => {
  await using wsh = new Wsh();
  await lose(wsh, "a", "b", "c", "d");
  const newest = (number: number): string => {
    const states = fs.readdirSync(folderOf(wsh, number)).filter((name) => name.endsWith(".state"));
    return join(folderOf(wsh, number), states.sort().at(-1) ?? "");
  };
  const only = (number: number): string => {
    for (const name of fs.readdirSync(folderOf(wsh, number))) {
      const path = join(folderOf(wsh, number), name);
      if (path !== newest(number) && name.endsWith(".state")) fs.rmSync(path);
    }
    return newest(number);
  };
  if (process.getuid?.() === 0) fs.chownSync(only(1), 12_345, 12_345);
  else fs.chmodSync(only(1), 0o666);
  const target = join(wsh.dir, "target");
  fs.renameSync(only(2), target);
  fs.symlinkSync(target, join(folderOf(wsh, 2), "p2.9.state"));
  const path = only(3);
  fs.rmSync(path);
  Bun.spawnSync(["mkfifo", "-m", "600", path]);
  const { unreadable } = JSON.parse(await wsh.ok("checkpoint", "list", "--json"));
  expect(unreadable.map(({ session, code }: { session: string; code: string }) => [session, code])).toEqual([
    ["@s1", "unsafe_path"],
    ["@s2", "unsafe_path"],
    ["@s3", "unsafe_path"],
  ]);
  expect(await namesOf(wsh)).toEqual(["d"]);
  const { code, stdout, stderr } = await wsh.run("restore", "--all");
  expect([code, stdout]).toEqual([0, "Session 'd' is restored: wsh attach d\n"]);
  expect(stderr).toBe("");
  const refused = await wsh.run("restore", "@s2");
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("symbolic link")]);
  expect(fs.existsSync(target)).toBe(true);
});

test("a huge file costs neither memory nor time", async () => {
  await using wsh = new Wsh();
  await lose(wsh, "a", "b");
  const states = fs.readdirSync(folderOf(wsh)).filter((name) => name.endsWith(".state"));
  for (const name of states) fs.truncateSync(join(folderOf(wsh), name), 3 * 2 ** 30);
  fs.writeFileSync(join(folderOf(wsh, 2), "p2.1.history"), "", { mode: 0o600 });
  fs.truncateSync(join(folderOf(wsh, 2), "p2.1.history"), 3 * 2 ** 30);
  const { unreadable, crashed } = JSON.parse(await wsh.ok("checkpoint", "list", "--json"));
  // Only the beginning of a state could be valid, and it is far too large for one.
  expect([crashed.length, unreadable.length]).toEqual([1, 1]);
  expect(await wsh.ok("restore", "b")).toContain("is restored");
  expect(await wsh.shows("b", /── restored/)).toContain("in b");
  expect(await wsh.ok("forget", "@s1", "--yes")).toContain("Deleted the checkpoints of session '@s1'");
}, 120_000);

/** Whether files can be made immutable here, also for root. */
const canFreeze = ((): boolean => {
  const directory = fs.mkdtempSync(join(os.tmpdir(), "wsh-i-"));
  const frozen = !isMissing("chattr") && freeze(directory, true) && freeze(directory, false);
  fs.rmdirSync(directory);
  return frozen;
})();

function freeze(path: string, on: boolean): boolean {
  return Bun.spawnSync(["chattr", on ? "+i" : "-i", path], { stderr: "ignore" }).success;
}

test.skipIf(!canFreeze)(
  "folders that cannot be written to cost no session, and are written when they can be",
  async () => {
    await using wsh = new Wsh();
    await wsh.session("dev");
    await wsh.exec("dev", "echo before");
    await written(wsh, "before");
    const all = join(folderOf(wsh), "..");
    freeze(all, true);
    freeze(folderOf(wsh), true);
    try {
      expect(await wsh.ok("exec", "dev", "--", "echo after")).toBe("after\n");
      await until("it to be said", () => contentOf(wsh.instance.sessionLog).includes("cannot be written"));
      expect(textOf(wsh)).toContain("before");
      const saved = await wsh.run("checkpoint", "save", "dev", "other");
      expect([saved.code, saved.stderr]).toEqual([1, expect.stringMatching(/EPERM|EACCES|not permitted/)]);
    } finally {
      freeze(all, false);
      freeze(folderOf(wsh), false);
    }
    await wsh.exec("dev", "echo again");
    await written(wsh, "again");
    expect(textOf(wsh)).toContain("after");
  },
);

describe.skipIf(!canMount)("a state directory that is read-only", () => {
  test("a crashed session can be read and is kept; restoring reports why it fails", async () => {
    const state = (wsh: Wsh): string => join(wsh.env.HOME ?? "", ".local/state");
    await using enclave = await Enclave.open(state, "8m", { config: 'history = "off"\n' });
    await enclave.ok("new", "dev");
    await enclave.ok("exec", "dev", "--", "echo before");
    const files = (): string => enclave.shell('cd "$0"/wsh/t.checkpoints/s1 2>/dev/null && ls');
    // The output, not the line that prints it.
    const printed = `cd "$0"/wsh/t.checkpoints/s1 2>/dev/null && grep -aoP "(?<!echo )before" *.state`;
    await until("a checkpoint", () => enclave.shell(printed).includes("before"));
    await enclave.ok("checkpoint", "save", "dev", "good");
    await kill(enclave.wsh);
    const kept = files();
    await until("it to be read-only", () => enclave.shell('mount -o remount,ro "$0" && echo done').includes("done"));
    expect(await enclave.ok("checkpoint", "show", "dev", "good")).toContain("before");
    expect(await enclave.ok("list")).toContain("crashed");
    for (const args of [
      ["restore", "dev"],
      ["checkpoint", "restore", "dev", "good"],
    ]) {
      const { code, stderr } = await enclave.run(...args);
      expect([code, stderr]).toEqual([1, expect.stringMatching(/read-only|EROFS/i)]);
    }
    for (const args of [
      ["checkpoint", "delete", "dev", "good"],
      ["forget", "dev", "--yes"],
    ]) {
      const { code, stderr } = await enclave.run(...args);
      expect([code, stderr]).toEqual([1, expect.stringMatching(/read-only|EROFS/i)]);
    }
    expect(files()).toBe(kept);
    enclave.shell('mount -o remount,rw "$0"');
    await enclave.ok("restore", "dev");
    await until("it to show what was there", async () => (await enclave.ok("screen", "dev")).includes("before"));
  });
});
