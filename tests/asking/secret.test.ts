/** Secrets: a person's input for a program reaches that program, and wsh keeps none of it. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { readText } from "../../src/platform/readable.ts";
import type { AskResult } from "../../src/protocol/ask-result.ts";
import { Http } from "../support/http.ts";
import { testWith } from "../support/programs.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const SECRET = "qZ7-correct-horse-4711";
const READY = /Enter types it there/;

/** Files below a directory that contain a text, byte by byte. */
function holding(directory: string, text: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return holding(path, text);
    // Files are written beside their place and moved there: one may be gone by now.
    return entry.isFile() && readText(path)?.includes(text) === true ? [path] : [];
  });
}

/** Unlinked files with spooled output that processes of the instance hold open, byte by byte. */
function spoolsWith(wsh: Wsh, text: string): string[] {
  return wsh.processes().flatMap(({ pid }) => {
    try {
      return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
        const path = `/proc/${pid}/fd/${fd}`;
        const stat = statSync(path, { throwIfNoEntry: false });
        return stat?.isFile() === true && readFileSync(path).includes(text) ? [path] : [];
      });
    } catch {
      return []; // ended meanwhile
    }
  });
}

/** Nothing of the instance contains it: no file, named or not, in any encoding. */
function nowhere(wsh: Wsh, secret: string): void {
  const base64 = Buffer.from(secret).toString("base64").slice(0, -2);
  const forms = [
    secret,
    base64,
    Buffer.from(secret).toString("hex"),
    JSON.stringify([...Buffer.from(secret)]).slice(1, -1),
  ];
  for (const form of forms) {
    expect(holding(wsh.dir, form)).toEqual([]);
    if (process.platform === "linux") expect(spoolsWith(wsh, form)).toEqual([]);
  }
}

async function scene(command?: string) {
  // Everything that writes to disk is on.
  const wsh = new Wsh({ config: 'audit = true\nhistory = "output"\ncheckpoint = "history"\nlog_level = "debug"\n' });
  await wsh.server();
  await wsh.session("s", ...(command === undefined ? [] : ["--", "bash", "-c", command]));
  const terminal = await EmulatorTerminal.attach(wsh, "s", { seen: command === undefined ? "$" : /./ });
  const http = new Http({ unix: wsh.instance.httpSocket });
  const heard: string[] = [];
  const socket = new WebSocket(`ws+unix://${wsh.instance.httpSocket}:/sessions/s/ws/json`);
  socket.onmessage = ({ data }) => void heard.push(String(data));
  await new Promise((resolve) => {
    socket.onopen = resolve;
  });
  const events = ["lines", "cursor", "mode", "diffs", "input", "activity", "chars", "overlay", "commands"];
  socket.send(JSON.stringify({ id: 1, method: "subscribe", params: { events } }));
  await until("the subscription", () => heard.length > 0);
  const raw = new WebSocket(`ws+unix://${wsh.instance.httpSocket}:/sessions/s/ws/raw?snapshot=1`);
  raw.binaryType = "arraybuffer";
  raw.onmessage = ({ data }) => void heard.push(Buffer.from(data as ArrayBuffer).toString("latin1"));
  return {
    ...{ wsh, terminal, http, heard },
    password: () =>
      until(
        "a password prompt",
        async () => ((await http.get("/sessions/s/status")).body as { state: string }).state === "password",
      ),
    ask: async (): Promise<AskResult> =>
      http.expect(200, http.post("/sessions/s/ask", { question: "Passphrase", kind: "secret", max_wait_ms: 60_000 })),
    async [Symbol.asyncDispose]() {
      socket.close();
      raw.close();
      await terminal[Symbol.asyncDispose]();
      await wsh[Symbol.asyncDispose]();
    },
  };
}

testWith("ssh-keygen")(
  "a passphrase for ssh-keygen is in no file, reply, event, screen or history of wsh",
  async () => {
    await using the = await scene();
    const { terminal, wsh, http } = the;
    terminal.type("ssh-keygen -q -t ed25519 -f key; echo done=$?\r");
    for (const prompt of ["Enter passphrase", "Enter same passphrase"]) {
      await terminal.sees(prompt);
      await the.password();
      const asked = the.ask();
      const shown = await terminal.sees(READY);
      expect(shown).toMatch(/Only for ssh-keygen, pid \d+:/);
      expect(shown).toContain("ssh-keygen -q -t ed25519 -f key");
      terminal.type(SECRET);
      await terminal.sees("•".repeat(SECRET.length));
      terminal.type("\r");
      const result = await asked;
      expect(result).toEqual({
        ...{ session: "s", ask_id: result.ask_id, state: "answered", decided_by: "answered", answered_by: "terminal" },
      } as AskResult);
    }
    await terminal.sees("done=0");
    const { code } = await wsh.run("exec", "s", "--", `ssh-keygen -y -P '' -f key`);
    expect(code).not.toBe(0);
    const places = ["", "/screen", "/scrollback", "/commands", "/output?lines=100", "/status", "/ask", "/overlays"];
    const replies = await Promise.all(
      places.map(async (place) => JSON.stringify(await http.get(`/sessions/s${place}`))),
    );
    expect(replies.filter((reply) => reply.includes(SECRET))).toEqual([]);
    await until("the output among the events", () => the.heard.join("").includes("done=0"));
    expect(the.heard.filter((message) => message.includes(SECRET))).toEqual([]);
    expect(terminal.bytes).not.toContain(SECRET);
    nowhere(wsh, SECRET);
  },
);

testWith("sudo", "setpriv")("sudo gets the person's input", async () => {
  await using the = await scene();
  const { terminal } = the;
  // Root is not asked; nobody is, and has no valid password.
  const as = process.getuid?.() === 0 ? "setpriv --reuid=65534 --clear-groups " : "";
  terminal.type(`${as}sudo -k -p 'PASSWORD: ' true\r`);
  await terminal.sees(/^PASSWORD:/m);
  await the.password();
  const asked = the.ask();
  expect(await terminal.sees(READY)).toContain("sudo");
  terminal.type(`${SECRET}\r`);
  expect(await asked).toMatchObject({ state: "answered" });
  await terminal.sees(/try again|incorrect|not in the sudoers/i);
  terminal.type("\x03");
  nowhere(the.wsh, SECRET);
});

test("a program that stopped reading a password meanwhile gets nothing, and neither does its successor", async () => {
  await using the = await scene();
  const { terminal } = the;
  terminal.type("read -rs -p 'first: ' A; clear; stty -echo; cat -v\r");
  await terminal.sees("first: ");
  await the.password();
  const asked = the.ask();
  await terminal.sees(READY);
  // The shell's read has ended, and cat reads without echo in its place.
  await the.wsh.ok("send", "s", "--keys", "Enter");
  await until("the other program", async () => {
    const { foreground } = (await the.http.get("/sessions/s/status")).body as { foreground: { name: string } | null };
    return foreground?.name === "cat";
  });
  terminal.type(`${SECRET}\r`);
  expect(await asked).toMatchObject({ state: "closed", decided_by: "secret_not_taken" });
  terminal.type("plain\r");
  expect(await terminal.sees(/^plain$/m)).not.toContain(SECRET);
  nowhere(the.wsh, SECRET);
});

testWith("ssh-keygen")("nor is it kept when its program runs in one of several panes", async () => {
  await using the = await scene();
  const { terminal, wsh, http } = the;
  const { pane } = await http.expect<{ pane: string }>(201, http.post("/sessions/s/panes", { direction: "down" }));
  await wsh.ok("send", pane, "ssh-keygen -q -t ed25519 -f key; echo done=$?", "--keys", "Enter");
  const state = async () => ((await http.get(`/sessions/${pane}/status`)).body as { state: string }).state;
  for (const prompt of ["Enter passphrase", "Enter same passphrase"]) {
    await terminal.sees(prompt);
    await until("a password prompt", async () => (await state()) === "password");
    const question = { question: "Passphrase", kind: "secret", max_wait_ms: 60_000 };
    const asked = http.expect<AskResult>(200, http.post(`/sessions/${pane}/ask`, question));
    await terminal.sees(READY);
    terminal.type(`${SECRET}\r`);
    expect(await asked).toMatchObject({ state: "answered" });
  }
  await terminal.sees("done=0");
  expect((await wsh.run("exec", pane, "--", "ssh-keygen -y -P '' -f key")).code).not.toBe(0);
  expect(terminal.bytes).not.toContain(SECRET);
  nowhere(wsh, SECRET);
});
