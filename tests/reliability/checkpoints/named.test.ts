/** Checkpoints with labels: saved, shown, compared, restored and deleted. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { readLayout } from "../../../src/checkpoints/files/part-reader.ts";
import { Http } from "../../support/http.ts";
import { McpInstance } from "../../support/mcp-instance.ts";
import { until } from "../../support/until.ts";
import { Wsh } from "../../support/wsh.ts";
import { folderOf, kill, writtenToPrompt } from "./crashed-sessions.ts";

interface Named {
  readonly session: string;
  readonly id: string;
  readonly label: string;
  readonly panes: number;
  readonly running: boolean;
}

async function named(wsh: Wsh, ...args: string[]): Promise<Named[]> {
  return JSON.parse(await wsh.ok("checkpoint", "list", ...args, "--json")).named;
}

test("a session is saved, shown, compared with its present state, and restored", async () => {
  await using wsh = new Wsh();
  const directory = join(wsh.dir, "there");
  fs.mkdirSync(directory);
  await wsh.session("dev", "--tag", "mine", "--cwd", directory);
  await wsh.exec("dev", "seq 1 60; echo before");
  // The prompt is printed after the command's end, and would be a difference.
  await wsh.shows("dev", /^before\n\$/m);
  expect(await wsh.ok("checkpoint", "save", "dev", "good")).toMatch(
    /^Saved session 'dev' as 'good': 1 pane, \d+ KB\.\n$/,
  );
  expect(await wsh.ok("checkpoint", "diff", "dev", "good")).toBe("No differences.\n");
  await wsh.exec("dev", "echo after; cd /");
  await wsh.ok("tag", "dev", "--add", "late");
  const difference = await wsh.ok("checkpoint", "diff", "dev", "good");
  expect(difference).toContain("tags: mine → late mine\n");
  expect(difference).toContain(`@1 cwd: ${directory} → /\n`);
  expect(difference).toContain("\n+after\n");
  expect(difference).not.toContain("before");
  const shown = await wsh.ok("checkpoint", "show", "dev", "good");
  expect(shown).toContain(`@1 in ${directory}: /bin/bash (80x24, `);
  expect(shown).toContain("\n  60\n  before\n");
  await wsh.ok("checkpoint", "save", "dev", "late");
  expect(await wsh.ok("checkpoint", "diff", "dev", "good", "late")).toContain("\n+after\n");
  expect(await named(wsh, "dev")).toMatchObject([
    { session: "dev", id: "@s1", label: "good", panes: 1, running: true },
    { label: "late" },
  ]);
  const running = await wsh.run("checkpoint", "restore", "dev", "good");
  expect(running.code).toBe(1);
  expect(running.stderr).toContain("session 'dev' is running\n");
  expect(running.stderr).toContain("(--as)");
  // They outlive the session.
  await wsh.ok("kill", "dev");
  expect(await named(wsh)).toMatchObject([{ label: "good", running: false }, { label: "late" }]);
  await wsh.ok("checkpoint", "restore", "dev", "good");
  const screen = await wsh.shows("dev", /── restored: .*checkpoint 'good' ─+\n\$$/m);
  expect(screen).toContain("60\nbefore\n");
  expect(screen).not.toContain("after");
  expect(await wsh.list()).toMatchObject([{ id: "@s1", pane_id: "@1", tags: ["mine"], running: true }]);
  expect(await wsh.ok("exec", "dev", "--", "pwd")).toBe(`${directory}\n`);
  expect(await wsh.ok("checkpoint", "delete", "dev", "good")).toMatch(/^Deleted checkpoint 'good' of session 'dev': /);
  expect((await named(wsh)).map(({ label }) => label)).toEqual(["late"]);
});

test("a pane restored from one gives no number twice, however far it had come meanwhile", async () => {
  await using wsh = new Wsh();
  await wsh.server();
  const http = new Http({ unix: wsh.instance.httpSocket });
  await wsh.session("dev");
  await wsh.ok("checkpoint", "save", "dev", "early");
  const far = await http.post("/sessions/dev/exec", { command: "head -c 3000000 /dev/zero | tr '\\0' x; echo far" });
  let { output_cursor: cursor, command_id: id } = far.body as { output_cursor: number; command_id: number };
  for (const end of ["kill", "lose"]) {
    if (end === "kill") await wsh.ok("kill", "dev");
    else {
      await wsh.exec("dev", "echo written");
      await writtenToPrompt(wsh, "written");
      await kill(wsh);
      await until("it to be lost", async () => (await wsh.list())[0]?.state === "crashed");
    }
    await wsh.ok("checkpoint", "restore", "dev", "early");
    const now = (await http.post("/sessions/dev/exec", { command: "echo now" })).body as typeof far.body;
    const next = now as { output_cursor: number; command_id: number };
    expect(next.output_cursor).toBeGreaterThan(cursor + 1e8);
    expect(next.command_id).toBeGreaterThan(id);
    expect((await http.get(`/sessions/dev/commands/${id}/output`)).status).toBe(404);
    ({ output_cursor: cursor, command_id: id } = next);
  }
});

test("beside the running session it is restored under new ids, with every pane in its place", async () => {
  await using wsh = new Wsh();
  await wsh.server();
  const http = new Http({ unix: wsh.instance.httpSocket });
  await wsh.session("dev", "--size", "100x30");
  await http.post("/sessions/@1/panes", { direction: "right" });
  await http.post("/sessions/dev/windows", { name: "logs" });
  const panes = ((await http.get("/sessions/dev/panes")).body as { id: string }[]).map(({ id }) => id);
  for (const id of panes) await wsh.exec(id, `echo in ${id}`);
  await http.post("/sessions/@1/pane/resize", { cols: 30 });
  const saved = await http.post("/checkpoints", { session: "dev", label: "three" });
  expect(saved).toMatchObject({ status: 200, body: { id: "@s1", label: "three", panes: 3, running: true } });
  const done = await http.post("/checkpoints/restore", { session: "dev", label: "three", as: "copy" });
  expect(done).toMatchObject({ status: 200, body: { restored: [{ name: "copy", id: "@s2" }], left_out: [] } });
  const placesOf = async (name: string) => {
    const listed = (await http.get(`/sessions/${name}/panes`)).body as Record<string, unknown>[];
    return listed.map(({ row, col, rows, cols, index }) => ({ row, col, rows, cols, index }));
  };
  expect(await placesOf("copy")).toEqual(await placesOf("dev"));
  const copies = ((await http.get("/sessions/copy/panes")).body as { id: string }[]).map(({ id }) => id);
  expect(copies.filter((id) => panes.includes(id))).toEqual([]);
  for (const [at, id] of copies.entries()) {
    expect(await wsh.shows(id, /── restored/)).toContain(`in ${panes[at]}`);
  }
  // Each has its own life and its own checkpoint.
  await wsh.ok("kill", "copy");
  expect((await wsh.list()).map(({ name }) => name)).toEqual(["dev"]);
  expect((await wsh.ok("exec", panes[0] ?? "", "--", "echo alive")).trim()).toBe("alive");
  const shown = (await http.get("/checkpoints/show?session=dev&label=three")).body as { windows: { name: string }[] };
  expect(shown.windows.map(({ name }) => name)).toEqual([null as unknown as string, "logs"]);
  expect((await http.get("/checkpoints/diff?session=dev&label=three")).body).toMatchObject({ changes: [] });
  expect(await http.delete("/checkpoints/named?session=dev&label=three")).toMatchObject({ status: 200 });
  expect((await http.get("/checkpoints")).body).toMatchObject({ named: [] });
});

test("one that is saved of a crashed session, or restored over one, leaves no part of the other behind", async () => {
  await using wsh = new Wsh();
  await wsh.session("dev");
  await wsh.exec("dev", "echo one pane");
  await wsh.ok("checkpoint", "save", "dev", "one");
  await wsh.ok("split", "dev");
  await wsh.exec("@1", "echo two panes");
  await writtenToPrompt(wsh, "two panes");
  // The first one written may still have one pane.
  await until("the layout with both panes to be written", () => {
    try {
      return readLayout(folderOf(wsh)).record.panes.length === 2;
    } catch {
      return false; // missing, or just written
    }
  });
  await until("the other pane to be written", () =>
    fs.readdirSync(folderOf(wsh)).some((name) => /^p2\..*\.state$/.test(name)),
  );
  await kill(wsh);
  await until("it to be lost", async () => (await wsh.list())[0]?.state === "crashed");
  expect(await wsh.ok("checkpoint", "save", "dev", "two")).toContain("2 panes");
  await wsh.ok("checkpoint", "restore", "dev", "one");
  expect(await wsh.shows("dev", "checkpoint 'one'")).not.toContain("two panes");
  expect((await wsh.list())[0]?.windows[0]?.panes).toHaveLength(1);
  expect(fs.readdirSync(folderOf(wsh)).filter((name) => !name.startsWith("p1."))).toEqual([]);
  await wsh.ok("kill", "dev");
  await wsh.ok("checkpoint", "restore", "dev", "two");
  expect((await wsh.list())[0]?.windows[0]?.panes).toHaveLength(2);
});

test("a checkpoint has a note, and is found by it, by its commands, by its text and by its directory", async () => {
  await using wsh = new Wsh();
  await wsh.server();
  const http = new Http({ unix: wsh.instance.httpSocket });
  const project = join(wsh.dir, "project");
  fs.mkdirSync(join(project, "src"), { recursive: true });
  fs.mkdirSync(join(project, ".git"));
  fs.writeFileSync(join(project, ".git", "HEAD"), "ref: refs/heads/topic/login\n");
  await wsh.session("dev", "--cwd", join(project, "src"));
  await wsh.exec("dev", "printf 'Nee%s\\n' dle; seq 1 40");
  await wsh.ok("checkpoint", "save", "dev", "good", "--note", "tests green: ü👩‍💻");
  await wsh.exec("dev", "cd /; printf '\\e[2J\\e[3J\\e[H'");
  const later = { session: "dev", label: "later", note: "moved away" };
  expect(await http.post("/checkpoints", later)).toMatchObject({
    body: { note: "moved away", cwd: "/", git: null, command: "/bin/bash", agents: [] },
  });
  const git = { root: project, branch: "topic/login" };
  const shown = (await http.get("/checkpoints/show?session=dev&label=good")).body as { bytes: number };
  expect(shown).toMatchObject({ note: "tests green: ü👩‍💻", panes: [{ git, agent: null }] });
  expect(shown.bytes).toBeGreaterThan(500);
  const list = await wsh.ok("checkpoint", "list");
  expect(list).toMatch(/good .*src \(topic\/login\) +tests green: ü👩‍💻\n/);
  const found = async (text: string) => {
    const { body } = await http.get(`/checkpoints?search=${encodeURIComponent(text)}`);
    const { matches, named } = body as { matches: Record<string, string | null>[]; named: Named[] };
    const places = matches.map((match) => `${match.label} ${match.pane_id} ${match.in}`);
    return [named.map(({ label }) => label), ...new Set(places)];
  };
  expect(await found("GREEN")).toEqual([["good"], "good null note"]);
  expect(await found("needle")).toEqual([["good"], "good @1 line"]);
  expect(await wsh.ok("checkpoint", "list", "--grep", "needle")).toContain("good");
  expect(await found("[2J")).toEqual([["later"], "later @1 command"]);
  expect(await found("login")).toEqual([["good"], "good @1 directory"]);
  expect(await found("dev")).toEqual([["good", "later"], "later null name", "good null name"]);
  expect(await wsh.ok("checkpoint", "list", "--grep", "nowhere")).toBe("No checkpoint with 'nowhere'.\n");
  expect((await http.get("/checkpoints?search=needle")).body).toMatchObject({
    named: [{ label: "good", git }],
    matches: [{ session: "dev", id: "@s1", excerpt: "Needle" }],
    incomplete: false,
  });
  for (const note of ["", " ", "two\nlines", "\u001b[31m", "\u202eover", "x".repeat(501)]) {
    expect((await http.post("/checkpoints", { session: "dev", note })).status).toBe(400);
  }
  expect((await wsh.run("checkpoint", "list", "--grep", "x".repeat(201))).stderr).toContain("has 1 to 200 characters");
  expect((await wsh.run("checkpoint", "list", "--grep", "")).stderr).toContain("has 1 to 200 characters");
  // One of an earlier version has neither.
  const folder = join(folderOf(wsh), "..", "s1.good");
  fs.rmSync(join(folder, "facts.json"));
  expect((await http.get("/checkpoints?session=dev")).body).toMatchObject({
    named: [{ note: null, git: null }, later],
  });
  fs.writeFileSync(join(folder, "facts.json"), "{", { mode: 0o600 });
  expect(await wsh.ok("checkpoint", "show", "dev", "good")).not.toContain("note:");
  await wsh.ok("checkpoint", "delete", "dev", "good");
  expect(fs.existsSync(folder)).toBe(false);
});

test("invalid, used and unknown labels, and sessions that may not be kept, are refused", async () => {
  await using wsh = new Wsh();
  await wsh.session("dev");
  await wsh.server();
  const http = new Http({ unix: wsh.instance.httpSocket });
  for (const label of ["..", ".", "a/b", "../up", "$(reboot)", "a\nb", "x".repeat(65), "", "ä"]) {
    const { status, text } = await http.post("/checkpoints", { session: "dev", label });
    expect([status, text]).toEqual([400, expect.stringContaining("is not a label of a checkpoint")]);
  }
  const up = await wsh.run("checkpoint", "save", "dev", "../up");
  expect([up.code, up.stderr]).toEqual([1, expect.stringContaining("is not a label of a checkpoint")]);
  const dash = await wsh.run("checkpoint", "save", "dev", "--", "-x");
  expect(dash.stderr).toContain('"-x" is not a label');
  await wsh.ok("checkpoint", "save", "dev", "x".repeat(64));
  const again = await wsh.run("checkpoint", "save", "dev", "x".repeat(64));
  expect(again.stderr).toContain("already has a checkpoint");
  await wsh.ok("checkpoint", "save", "dev", "x".repeat(64), "--replace");
  for (const action of ["show", "diff", "restore", "delete"]) {
    const { code, stderr } = await wsh.run("checkpoint", action, "dev", "none");
    expect([code, stderr]).toEqual([1, expect.stringContaining("session 'dev' has no checkpoint 'none'")]);
  }
  expect((await wsh.run("checkpoint", "save", "none")).stderr).toContain("no session 'none'");
  await wsh.ok("private", "dev", "on");
  expect((await wsh.run("checkpoint", "save", "dev", "p")).stderr).toContain("the session is private");
  await wsh.ok("private", "dev", "off");
  await wsh.ok("send", "dev", "read -s secret", "--keys", "Enter");
  await wsh.ok("wait", "dev", "password");
  expect((await wsh.run("checkpoint", "save", "dev", "p")).stderr).toContain("a password prompt is open");
  expect(await named(wsh)).toHaveLength(1);
  // No partial file is left.
  const all = fs.readdirSync(join(folderOf(wsh), ".."));
  expect(all.filter((name) => /^s\d+~/.test(name))).toEqual([]);
});

test("their total size is bounded, and links and foreign folders are not followed", async () => {
  await using wsh = new Wsh({ config: "checkpoint_bytes = 1048576\ncheckpoint = 'history'\n" });
  await wsh.session("dev");
  await wsh.ok("exec", "dev", "--output", "none", "--", "head -c 900000 /dev/urandom | base64");
  await wsh.ok("checkpoint", "save", "dev", "big");
  const full = await wsh.run("checkpoint", "save", "dev", "bigger");
  expect([full.code, full.stderr]).toEqual([1, expect.stringContaining("of 1048576 bytes (setting checkpoint_bytes)")]);
  await wsh.ok("checkpoint", "save", "dev", "big", "--replace");
  await wsh.ok("checkpoint", "delete", "dev", "big");
  const planted = join(folderOf(wsh), "..", "s1.planted");
  const elsewhere = join(wsh.dir, "elsewhere");
  fs.mkdirSync(elsewhere);
  fs.writeFileSync(join(elsewhere, "p1.1.state"), "precious");
  fs.symlinkSync(elsewhere, planted);
  expect(await named(wsh)).toEqual([]);
  expect((await wsh.run("checkpoint", "save", "dev", "planted", "--replace")).stderr).toContain("symbolic link");
  expect((await wsh.run("checkpoint", "delete", "dev", "planted")).code).toBe(1);
  expect(fs.readFileSync(join(elsewhere, "p1.1.state"), "utf8")).toBe("precious");
});

test("whenever the replacement of a checkpoint is cut off, one of the two is complete", async () => {
  await using wsh = new Wsh();
  await wsh.session("dev");
  await wsh.ok("checkpoint", "save", "dev", "a");
  const rounds = process.env.WSH_TEST_FULL === "1" ? [0, 1, 2, 3, 4, 5, 6, 7] : [1, 2, 4];
  for (const round of rounds) {
    await wsh.exec("dev", `echo round ${round}`);
    const child = wsh.spawn(["checkpoint", "save", "dev", "a", "--replace"]);
    // Somewhere between its start and its end.
    await Promise.race([child.exited, Bun.sleep(round * 25)]);
    child.kill("SIGKILL");
    await child.exited;
    expect(await wsh.ok("checkpoint", "show", "dev", "a")).toContain("@1 in ");
    expect(await named(wsh)).toHaveLength(1);
  }
  await wsh.ok("checkpoint", "save", "dev", "a", "--replace");
  expect(await wsh.ok("checkpoint", "show", "dev", "a")).toContain(`round ${rounds.at(-1)}`);
  await wsh.ok("checkpoint", "delete", "dev", "a");
  expect(await named(wsh)).toEqual([]);
});

test("forget deletes those of the session, too, and reports which", async () => {
  await using wsh = new Wsh();
  await wsh.session("dev");
  await wsh.ok("checkpoint", "save", "dev", "a");
  expect((await wsh.run("forget", "dev", "--yes")).code).toBe(1);
  await wsh.ok("kill", "dev");
  expect(await wsh.ok("forget", "dev", "--yes")).toMatch(/session 'dev' \(@s1\), with checkpoint 'a': \d+ KB/);
  expect(await named(wsh)).toEqual([]);
});

test("agents save, compare and restore", async () => {
  await using mcp = new McpInstance();
  const client = await mcp.client();
  const call = async (name: string, args: Record<string, unknown>): Promise<string> => {
    const { content } = await client.callTool({ name, arguments: args });
    return (content as { text: string }[]).map(({ text }) => text).join("\n");
  };
  const tool = (args: Record<string, unknown>): Promise<string> => call("wsh_checkpoint", args);
  await call("wsh_create_session", { name: "dev" });
  await call("wsh_exec", { session: "dev", command: "echo one" });
  expect(await tool({ action: "save", session: "dev", label: "a", note: "why" })).toContain('"status":"saved"');
  await call("wsh_exec", { session: "dev", command: "echo two" });
  expect(await tool({ action: "diff", session: "dev", label: "a" })).toContain('"+two"');
  expect(await tool({ action: "show", session: "dev", label: "a" })).toContain('"one"');
  expect(await tool({ action: "list", search: "why" })).toContain('"in":"note"');
  expect(await tool({ action: "restore", session: "dev", label: "a" })).toContain("(as)");
  expect(await tool({ action: "restore", session: "dev", label: "a", as: "b" })).toContain('"session":"b"');
  expect(await tool({ action: "diff", session: "dev" })).toContain("'diff' needs 'label'");
  expect(await tool({ action: "delete", session: "dev", label: "a" })).toContain('"status":"deleted"');
  expect(await tool({ action: "list" })).toContain('"named":[]');
});
