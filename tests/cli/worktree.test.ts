/** Sessions with their own git worktrees: created with them, and removed with them only if nothing would be lost. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { $ } from "bun";
import { writtenToPrompt } from "../reliability/checkpoints/crashed-sessions.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);

const wsh = new Wsh();
const repository = join(wsh.dir, "repo");
const below = join(repository, "sub");

beforeAll(async () => {
  fs.mkdirSync(below, { recursive: true });
  fs.writeFileSync(join(below, "file"), "x");
  const git = `git -C ${repository} -c user.email=a@b -c user.name=a`;
  await $`sh -c ${`${git} init -q -b main && ${git} add . && ${git} commit -qm first`}`.quiet();
});
afterAll(() => wsh[Symbol.asyncDispose]());

const path = (branch: string): string => `${repository}.${branch}`;
const branches = (): Promise<string> => $`git -C ${repository} branch --format=${"%(refname:short)"}`.text();
const make = (name: string, branch: string) => wsh.session(name, "--worktree", branch, "--cwd", below);
const gone = (branch: string) => until("the worktree to go", () => !fs.existsSync(path(branch)));

test("runs in the branch, at the caller's place in it, and removes a clean worktree at its end", async () => {
  const { cwd, worktree } = await make("clean", "feature/one");
  expect(worktree).toEqual({ branch: "feature/one", path: path("feature-one"), own: true });
  expect(cwd).toBe(join(path("feature-one"), "sub"));
  expect(await wsh.ok("list")).toMatch(/WORKTREE[\s\S]*feature\/one/);
  await wsh.ok("kill", "clean");
  await gone("feature-one");
  expect(await branches()).toContain("feature/one");
  expect(await wsh.ok("list")).not.toContain("WORKTREE");
});

test("changes keep it; the next session of the branch uses it and leaves it in place", async () => {
  await make("dirty", "two");
  fs.writeFileSync(join(path("two"), "new"), "x");
  await wsh.ok("kill", "dirty");
  expect((await make("second", "two")).worktree).toMatchObject({ path: path("two"), own: false });
  fs.rmSync(join(path("two"), "new"));
  await wsh.ok("kill", "second");
  await make("third", "three");
  await wsh.ok("kill", "third");
  await gone("three");
  expect(fs.existsSync(path("two"))).toBe(true);
});

test("a failed session leaves neither worktree nor branch", async () => {
  await wsh.session("taken");
  for (const [name, branch, cwd, said] of [
    ["taken", "four", below, "already exists"],
    ["x", "-f", below, "cannot be the name of a branch"],
    ["x", "a b", below, "cannot be the name of a branch"],
    ["x", "", below, "cannot be the name of a branch"],
    ["x", "five", wsh.dir, "not in a git repository"],
  ] as const) {
    const { code, stderr } = await wsh.run("new", name, "--worktree", branch, "--cwd", cwd);
    expect([branch, code, stderr.includes(said)]).toEqual([branch, 1, true]);
  }
  expect((await branches()).split("\n").filter(Boolean).sort()).toEqual(["feature/one", "main", "three", "two"]);
});

test("is restored with a crashed session, and removed with it", async () => {
  const { id, pane_id } = await make("back", "six");
  await wsh.exec("back", "echo kept");
  await writtenToPrompt(wsh, "kept", Number(pane_id.slice(1)), Number(id.slice(2)));
  await wsh.killHost(-1);
  await until("the crash", async () => (await wsh.list()).some(({ state }) => state === "crashed"));
  expect(fs.existsSync(path("six"))).toBe(true);
  await wsh.ok("restore", "back");
  expect((await wsh.list()).find(({ name }) => name === "back")?.worktree).toMatchObject({ branch: "six", own: true });
  await wsh.ok("kill", "back");
  await gone("six");
});
