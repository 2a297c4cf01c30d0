/** Programs of a crashed session: those that are safe to run again do so in their directory; others wait for Enter. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { testWith } from "../../support/programs.ts";
import { Sshd } from "../../support/sshd.ts";
import { until } from "../../support/until.ts";
import { Wsh } from "../../support/wsh.ts";
import { program } from "../../support/wsh-program.ts";
import { kill, stored, written } from "./crashed-sessions.ts";

/** Starts a program in a session by typing its line, waits for a checkpoint, and crashes the session. */
async function lose(
  wsh: Wsh,
  line: string,
  shown: string | RegExp,
  then: (pane: number, session: number) => Promise<unknown> = async () => {},
) {
  const { id, pane_id } = await wsh.session("dev", "--cwd", wsh.dir);
  const [session, pane] = [Number(id.slice(2)), Number(pane_id.slice(1))];
  await wsh.shows("dev", "$");
  await wsh.enter("dev", line);
  await wsh.shows("dev", shown);
  await then(pane, session);
  await until("its line to be written", () => stored(wsh, pane, session)?.record.foreground?.line === line);
  await kill(wsh);
}

async function programOf(wsh: Wsh): Promise<string> {
  const [info] = await wsh.list();
  return info?.windows[0]?.panes[0]?.program ?? "";
}

testWith("vim")("vim runs again with its file", async () => {
  await using wsh = new Wsh();
  fs.writeFileSync(join(wsh.dir, "poem.txt"), "first line\nsecond line\n");
  await lose(wsh, "vim -n poem.txt", /second line\n~/);
  await wsh.ok("restore", "dev");
  const screen = await wsh.shows("dev", /^first line\nsecond line\n~/);
  expect(screen).not.toContain("restored:");
  await until("vim in front", async () => (await programOf(wsh)) === "vim");
  // It belongs to the person again: typed, saved, and the shell with the history is below.
  await wsh.ok("send", "dev", "Gothird line", "--keys", "Escape");
  await wsh.enter("dev", ":wq");
  await wsh.shows("dev", /── restored: .*\n\$ vim -n poem\.txt\n\$$/m);
  expect(fs.readFileSync(join(wsh.dir, "poem.txt"), "utf8")).toBe("first line\nsecond line\nthird line\n");
});

testWith("vim")("vim with a command in its line is only offered", async () => {
  await using wsh = new Wsh();
  fs.writeFileSync(join(wsh.dir, "a"), "text\n");
  const line = "vim -n -c 'normal x' a";
  await lose(wsh, line, /^ext\n~/);
  await wsh.ok("restore", "dev");
  await wsh.shows("dev", /─\n\$ vim -n -c 'normal x' a$/m);
  expect((await wsh.list())[0]?.state).toBe("prompt");
  await wsh.ok("send", "dev", "--keys", "Enter");
  await wsh.shows("dev", /^ext\n~/);
});

testWith("less")("less runs again with the same file", async () => {
  await using wsh = new Wsh();
  fs.writeFileSync(join(wsh.dir, "long"), Array.from({ length: 200 }, (_, at) => `row ${at + 1}\n`).join(""));
  await lose(wsh, "less long", "row 23\n", async (pane, session) => {
    await wsh.ok("send", "dev", "--keys", "G");
    await written(wsh, "row 200", pane, session);
  });
  await wsh.ok("restore", "dev");
  await wsh.shows("dev", /^row 1\nrow 2\n/);
  await wsh.ok("send", "dev", "q");
  // Its last screen is above the rule.
  await wsh.shows("dev", /row 200\n(.*\n)?── restored: .*\n\$ less long\n\$$/m);
});

testWith(
  "ssh",
  "sshd",
  "ssh-keygen",
)("ssh logs in again; a command at the other end is only offered", async () => {
  await using sshd = await Sshd.start();
  await using wsh = new Wsh();
  const line = sshd.login();
  await lose(wsh, line, "$", async () => {
    await until("ssh in front", async () => (await programOf(wsh)) === "ssh");
    await wsh.enter("dev", "echo far$((40+2))");
    await wsh.shows("dev", "far42");
    await written(wsh, "far42");
  });
  await wsh.ok("restore", "dev");
  await until("ssh in front", async () => (await programOf(wsh)) === "ssh");
  await wsh.enter("dev", "echo again$((40+2))");
  expect(await wsh.shows("dev", "again42")).toContain("far42");
  await wsh.ok("kill", "dev");
  await lose(wsh, sshd.command("echo there; sleep 1000"), "there");
  await wsh.ok("restore", "dev");
  // Below the rule: input before the crash ends like that, too.
  await wsh.shows("dev", /─\n\$ [\s\S]*sleep 1000'$/m);
  expect((await wsh.list())[0]?.state).toBe("prompt");
});

testWith("python3")("a REPL waits for Enter, and its earlier input is above", async () => {
  await using wsh = new Wsh();
  await lose(wsh, "python3 -q", ">>>", async (pane, session) => {
    await wsh.enter("dev", "print(6 * 7)");
    await written(wsh, "42", pane, session);
  });
  await wsh.ok("restore", "dev");
  const screen = await wsh.shows("dev", /─\n\$ python3 -q$/m);
  expect(screen).toContain(">>> print(6 * 7)\n42\n");
  expect((await wsh.list())[0]?.state).toBe("prompt");
  await wsh.ok("send", "dev", "--keys", "Enter");
  await wsh.shows("dev", /\$ python3 -q\n>>>/);
});

/** An agent: it prints its arguments, and keeps running. */
const AGENT = `#!/bin/sh\necho "agent called with [$*]"\nexec 3<&0\nwhile read -r line; do echo "agent heard $line"; done\n`;

test("an agent without a task continues its own conversation; with one it is only offered", async () => {
  await using wsh = new Wsh({ env: { PATH: `${import.meta.dir}/none:${process.env.PATH}` } });
  const bin = join(wsh.dir, "bin");
  fs.mkdirSync(bin);
  fs.writeFileSync(join(bin, "claude"), AGENT, { mode: 0o755 });
  fs.appendFileSync(`${wsh.env.HOME}/.bashrc`, `PATH=${bin}:$PATH\n`);
  await lose(wsh, "claude", "agent called with []");
  await wsh.ok("restore", "dev");
  await wsh.shows("dev", "agent called with [--continue]");
  await wsh.ok("kill", "dev");
  await lose(wsh, "claude 'delete everything'", "agent called with [delete everything]");
  await wsh.ok("restore", "dev");
  await wsh.shows("dev", /─\n\$ claude 'delete everything'$/m);
  expect((await wsh.list())[0]?.state).toBe("prompt");
});

test("three agents in one directory are each restored with their own conversation, a new one too", async () => {
  await using wsh = new Wsh();
  const bin = join(wsh.dir, "bin");
  fs.mkdirSync(bin);
  // Each line that it reads is an id: its conversation from then on, as reported by its hook.
  const report = `printf '{"session_id":"%s","transcript_path":"%s/t.jsonl"}' "$id" "$HOME" | ${program.join(" ")} hook claude SessionStart`;
  const agent = `#!/bin/bash\necho "called with [$*]"\nwhile read -r id; do ${report}; echo "talks in $id"; done\n`;
  fs.writeFileSync(join(bin, "claude"), agent, { mode: 0o755 });
  fs.appendFileSync(`${wsh.env.HOME}/.bashrc`, `PATH=${bin}:$PATH\n`);
  const sessions = await Promise.all(["a", "b", "c"].map((name) => wsh.session(name, "--cwd", wsh.dir)));
  const panes = sessions.map(({ pane_id }) => pane_id);
  const sessionOf = new Map(sessions.map(({ id, pane_id }) => [pane_id, Number(id.slice(2))]));
  const ids = panes.map((_, at) => `${at}1b2c3d4-0000-4000-8000-00000000000${at}`);
  const talksIn = (pane: string): string | undefined =>
    stored(wsh, Number(pane.slice(1)), sessionOf.get(pane))?.record.foreground?.conversation?.id;
  for (const [at, pane] of panes.entries()) {
    await wsh.shows(pane, "$");
    await wsh.enter(pane, "claude");
    await wsh.shows(pane, "called with []");
    await wsh.enter(pane, "00000000-an-earlier-one");
    await wsh.enter(pane, ids[at] ?? "");
    await wsh.shows(pane, `talks in ${ids[at]}`);
    // Code is not an id, and changes nothing.
    await wsh.enter(pane, "; rm -rf x");
  }
  for (const [at, pane] of panes.entries()) await until("its id to be written", () => talksIn(pane) === ids[at]);
  await kill(wsh);
  const known = JSON.parse(await wsh.ok("history", "--agent", "--json")) as { conversations: object[] };
  for (const id of ids)
    expect(known.conversations).toContainEqual(
      expect.objectContaining({ conversation: expect.objectContaining({ id }) }),
    );
  fs.renameSync(join(bin, "claude"), join(bin, "away"));
  await wsh.ok("restore", "--all");
  for (const [at, pane] of panes.entries()) await wsh.shows(pane, `$ claude --resume ${ids[at]}`);
  // Its agent was missing, which does not lose the conversation.
  for (const pane of panes) await wsh.shows(pane, "not found");
  await kill(wsh);
  fs.renameSync(join(bin, "away"), join(bin, "claude"));
  await wsh.ok("restore", "--all");
  for (const [at, pane] of panes.entries()) await wsh.shows(pane, `called with [--resume ${ids[at]}]`);
  // Before its first hook, its arguments name the conversation.
  for (const [at, pane] of panes.entries()) await until("its id to be written", () => talksIn(pane) === ids[at]);
});

test("variables that a program left in the environment resume nothing: only the foreground counts", async () => {
  await using wsh = new Wsh();
  const bin = join(wsh.dir, "bin");
  fs.mkdirSync(bin);
  fs.writeFileSync(join(bin, "claude"), "#!/bin/sh\nexec sh\n", { mode: 0o755 });
  fs.appendFileSync(`${wsh.env.HOME}/.bashrc`, `PATH=${bin}:$PATH\nexport CLAUDECODE=1 CLAUDE_SESSION=7\n`);
  await wsh.session("dev");
  await wsh.enter("dev", "sleep 1000");
  await until("its line to be written", () => stored(wsh)?.record.foreground?.line === "sleep 1000");
  await kill(wsh);
  await wsh.ok("restore", "dev");
  await wsh.shows("dev", /─\n\$ sleep 1000$/m);
});
