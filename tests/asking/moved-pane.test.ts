/** Passwords that a program reads in a pane of another session's process: the session that shows the pane asks. */
import { expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { auditFile } from "../../src/log/audit/audit-log.ts";
import { stopProcess } from "../support/processes.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);

const READY = /Enter types it there/;

/** Reads passwords without echo until one is right, however often it is repeated. */
const asking =
  "until bash -c 'read -rs -p \"Password: \" p; echo; [[ $p =~ ^(Z5)+$ ]]'; do echo wrong; done; echo right-$((6 * 7))";

async function scene() {
  const wsh = new Wsh({ config: 'audit = true\nlog_level = "debug"\n' });
  await wsh.server();
  await wsh.session("desk", "--", "bash", "--norc");
  const json = { "Content-Type": "application/json", "Wsh-Agent": "claude" };
  const byAgent = async (path: string, body: object) => {
    const answer = await wsh.fetch(path, { method: "POST", headers: json, body: JSON.stringify(body) });
    expect(answer.status).toBeLessThan(300);
    return (await answer.json()) as Record<string, unknown>;
  };
  await byAgent("/sessions", { name: "work" });
  const { pane } = await byAgent("/sessions/work/panes", {});
  return { wsh, byAgent, pane: `${pane}` };
}

/** A command that reads a secret in the pane; its line does not contain the question. */
async function readsSecret(wsh: Wsh, pane: string, then = ""): Promise<void> {
  await wsh.ok("send", pane, `read -rs -p 'Ke''y: ' k${then}`, "--enter");
  await until("the secret to be read", async () => {
    const status = await wsh.fetch(`/sessions/${encodeURIComponent(pane)}/status`);
    return ((await status.json()) as { state: string }).state === "password";
  });
}

const questions = async (wsh: Wsh, session: string): Promise<{ ask_id: string }[]> =>
  JSON.parse(await wsh.ok("ask", "--list", "--session", session, "--json"));

/** A program in the pane reads a secret, is asked about at the desk, and "x" is typed there, without Enter. */
async function secretTyped(wsh: Wsh, pane: string, desk: EmulatorTerminal) {
  await readsSecret(wsh, pane, '; echo "<$k>" | tr x y');
  await desk.sees(/[│┃]Key:/);
  const asked = wsh.run("ask", "which key?", "--kind", "secret", "--session", pane);
  await desk.sees(READY);
  await until("the dialog takes keys", async () => {
    desk.type("x");
    return (await desk.text()).includes("•");
  });
  return { asked };
}

test("an agent's program that reads a password is asked about where its pane was moved, and gets what is typed", async () => {
  const { wsh, byAgent, pane } = await scene();
  await using _ends = wsh;
  const input = { command: asking, max_wait_ms: 3_000 };
  expect(await byAgent(`/sessions/${encodeURIComponent(pane)}/exec`, input)).toMatchObject({ waits_for: "password" });
  await until("the question", async () => (await questions(wsh, "work")).length === 1);
  await wsh.ok("pane", "move", pane, "--to", "desk");
  await using desk = await EmulatorTerminal.attach(wsh, "desk", { seen: READY, rows: 24, cols: 100 });
  await desk.sees(/"claude" has started it/);
  expect(await questions(wsh, "work")).toEqual([]);
  const type = async (secret: string) => {
    await until("the dialog takes keys", async () => {
      desk.type(secret);
      return (await desk.text()).includes("••");
    });
    desk.type("\r");
  };
  await type("Q7");
  // The wrong one is asked for again, in the same session.
  await desk.sees((text) => /^.*wrong/m.test(text) && READY.test(text));
  await type("Z5");
  await desk.sees((text) => text.includes("right-42") && !text.includes("wsh asks"));
  const audit = fs.readFileSync(auditFile(wsh.instance, ""), "utf8");
  expect(audit).toContain('"peer.attach"');
  expect(audit).not.toContain("peer.secret");
  expect(`${await wsh.ok("output", pane)}${await wsh.ok("events", "--since", "start", "--no-follow")}`).not.toContain(
    "Q7",
  );
});

test("a question for a secret of a moved pane is put to its person, and none is taken without a program that reads one", async () => {
  const { wsh, pane } = await scene();
  await using _ends = wsh;
  await wsh.ok("pane", "move", pane, "--to", "desk");
  const refused = await wsh.run("ask", "for what?", "--kind", "secret", "--session", pane);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("reading a password") });
  await using desk = await EmulatorTerminal.attach(wsh, "desk", { seen: "bash-", rows: 24, cols: 100 });
  const { asked } = await secretTyped(wsh, pane, desk);
  desk.type("\r");
  expect(await asked).toMatchObject({ code: 0, stdout: "" });
  await desk.sees(/<y/);
});

test("a process that runs a moved pane and hangs gets no secret later, and keeps no other question waiting", async () => {
  const { wsh, pane } = await scene();
  await using _ends = wsh;
  await wsh.ok("pane", "move", pane, "--to", "desk");
  await using desk = await EmulatorTerminal.attach(wsh, "desk", { seen: "bash-", rows: 24, cols: 100 });
  const { asked } = await secretTyped(wsh, pane, desk);
  const runner = wsh.hosts().at(-1) ?? Number.NaN;
  await stopProcess(runner);
  desk.type("\r");
  expect(await asked).toMatchObject({ code: 1, stderr: expect.stringContaining("discarded") });
  const lunch = wsh.run("ask", "lunch?", "--session", "desk");
  await desk.sees(/lunch\?/);
  process.kill(runner, "SIGCONT");
  await wsh.ok("ask", "--cancel", (await questions(wsh, "desk"))[0]?.ask_id ?? "", "--session", "desk");
  await lunch;
  // Once it answers, the program still reads the password.
  await until("its answer", async () => (await wsh.ok("screen", pane)).includes("Key:"));
  expect(await wsh.ok("screen", pane)).not.toContain("<y");
  await wsh.ok("send", pane, "z", "--enter");
  await desk.sees(/<z>/);
});

test("a question for a secret ends with the process that runs the moved pane, and its dialog disappears", async () => {
  const { wsh, pane } = await scene();
  await using _ends = wsh;
  await wsh.ok("pane", "move", pane, "--to", "desk");
  await using desk = await EmulatorTerminal.attach(wsh, "desk", { seen: "bash-", rows: 24, cols: 100 });
  await readsSecret(wsh, pane);
  await desk.sees(/[│┃]Key:/);
  const asked = wsh.run("ask", "which key?", "--kind", "secret", "--session", pane);
  await desk.sees(READY);
  await wsh.killHost(-1);
  expect(await asked).toMatchObject({ code: 1, stderr: expect.stringContaining("read the password has ended") });
  await desk.sees((text) => !text.includes("which key?"));
});
