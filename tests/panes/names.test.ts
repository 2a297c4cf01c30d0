/** Windows by their names: an ambiguous name is refused, and errors name their target. */
import { expect, test } from "bun:test";
import { splitServer } from "../support/panes.ts";
import type { Wsh } from "../support/wsh.ts";

test("an ambiguous window name is refused with the ids, and nothing is run or closed", async () => {
  await using all = await splitServer();
  const { wsh, http, panes } = all;
  await wsh.session("dev");
  const [one, two] = [await made(wsh, "dev", "--name", "logs"), await made(wsh, "dev", "--name", "logs")];
  for (const args of [
    ["exec", "dev:logs", "--", "echo ran"],
    ["window", "close", "dev:logs"],
    ["screen", "dev:logs.0"],
  ]) {
    const { code, stdout, stderr } = await wsh.run(...args);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(`is ambiguous: it fits windows ${one}, ${two}`);
  }
  const { status, body } = await http.post("/sessions/dev:logs/exec", { command: "echo ran" });
  expect(status).toBe(400);
  expect(body).toMatchObject({ error: { code: "invalid_request", hint: expect.stringContaining(two) } });
  expect(await panes("dev")).toHaveLength(3);
  await wsh.ok("window", "close", two);
  expect(await wsh.exec("dev:logs", "echo ran")).toBe("ran\n");
});

test("a window whose name contains a dot is found, and never mistaken for a pane", async () => {
  await using all = await splitServer();
  const { wsh, http } = all;
  await wsh.session("dev");
  const ask = async (target: string) => (await wsh.run("exec", target, "--", "echo $WSH_PANE")).stdout.trim();
  const window = await made(wsh, "dev", "--name", "logs.1");
  const other = await made(wsh, "dev", "--name", "logs.old");
  expect(await ask("dev:logs.1")).toBe(await ask(window));
  expect(await ask("dev:logs.old")).toBe(await ask(other));
  await made(wsh, "dev", "--name", "logs");
  const { pane } = (await http.post("/sessions/dev:logs/panes", {})).body as { pane: string };
  const { code, stderr } = await wsh.run("exec", "dev:logs.1", "--", "echo $WSH_PANE");
  expect([code, stderr]).toEqual([1, expect.stringContaining("is ambiguous")]);
  await wsh.ok("window", "close", window);
  expect(await ask("dev:logs.1")).toBe(pane);
});

test("a window is found by the name of its program, as long as none has it as its own", async () => {
  await using all = await splitServer();
  const { wsh } = all;
  const { pane_id: first } = await wsh.session("dev");
  await wsh.shows("dev", /^\$/m);
  await made(wsh, "dev", "--name", "other", "--", "cat");
  const [{ windows = [] } = {}] = await wsh.list();
  const automatic = windows[0]?.name ?? "";
  const ask = async () => (await wsh.exec(`dev:${automatic}`, "echo $WSH_PANE")).trim();
  expect(await ask()).toBe(first);
  const own = await made(wsh, "dev", "--name", automatic);
  expect(await ask()).toBe((await wsh.exec(own, "echo $WSH_PANE")).trim());
});

test("errors name the requested target, and an existing way", async () => {
  await using all = await splitServer();
  const { wsh } = all;
  await wsh.session("dev");
  await made(wsh, "dev", "--index", "5");
  const taken = await wsh.run("window", "new", "dev", "--index", "5");
  expect(taken.stderr).toContain("window 5 already exists");
  expect(taken.stderr).toContain("Choose a free index, such as 6");
  const itself = await wsh.run("split", "dev", "--view", "dev");
  expect(itself.stderr).toContain("would show itself");
  expect(itself.stderr).not.toContain("--nested");
  for (const [id, what] of [
    ["@999", "pane"],
    ["@w999", "window"],
    ["@s999", "session"],
  ] as const) {
    expect((await wsh.run("screen", id)).stderr).toContain(`no ${what} '${id}'`);
  }
});

test("exec in a pane that is killed names the pane, not the session, which continues", async () => {
  await using all = await splitServer();
  const { wsh, http } = all;
  await wsh.session("dev");
  const { pane } = (await http.post("/sessions/dev/panes", {})).body as { pane: string };
  await using running = wsh.spawn(["exec", pane, "--", "echo begun; sleep 60"]);
  await running.stdout.getReader().read(); // its output is followed now
  expect(await http.send("DELETE", `/sessions/${pane}/pane`)).toMatchObject({ status: 200 });
  expect(await running.exited).toBe(125);
  const stderr = await new Response(running.stderr).text();
  expect(stderr).toContain(`pane '${pane}' of session 'dev'`);
  expect(stderr).not.toContain("the session was ended");
  expect(await wsh.exec("dev", "echo lives")).toBe("lives\n");
});

async function made(wsh: Wsh, ...args: string[]): Promise<string> {
  return (await wsh.ok("window", "new", ...args)).trim();
}
