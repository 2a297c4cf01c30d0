/** Lines longer than the kernel keeps for a program that reads lines: refused completely, never cut. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { contentOf } from "../support/content-of.ts";
import { Http } from "../support/http.ts";
import { isMissing } from "../support/programs.ts";
import { SessionApi } from "../support/session-api.ts";
import { shared } from "../support/shared.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

/** Longest line that a program on this system receives. */
const MOST = process.platform === "darwin" ? 1_000 : 4_072;

const wsh = shared(new Wsh());
const http = new Http({ unix: wsh.instance.httpSocket });

test.each(["input", "run"])("%s into a program that reads lines", async (operation) => {
  const file = join(wsh.dir, `${operation}.txt`);
  const name = `lines-${operation}`;
  await http.create({ name, command: `echo ready; cat >${file}` });
  await http.shows(name, "ready");
  const send = (text: string) =>
    operation === "input"
      ? http.send("POST", `/sessions/${name}/input`, { body: `${text}\r` })
      : http.post(`/sessions/${name}/run`, { input: text, submit: true, timeout_ms: 200, max_wait_ms: 2_000 });
  const refused = await send(`short\n${"x".repeat(MOST + 1)}`);
  expect(refused.status).toBe(413);
  expect(refused.body).toMatchObject({ error: { code: "payload_too_large" } });
  expect(refused.text).toContain(`${MOST + 1} bytes`);
  expect((await send("y".repeat(MOST))).status).toBeLessThan(300);
  // Nothing of the refused line, and all of the others.
  await until("the line", () => contentOf(file) === `${"y".repeat(MOST)}\n`);
});

test("a shell's editor takes longer lines, by input and by exec", async () => {
  const api = await SessionApi.shell(http, "editor", { shell: "bash" });
  const text = "z".repeat(MOST * 2);
  expect(await api.exec(`x=${text}; echo \${#x}`)).toMatchObject({ exit_code: 0, output: String(text.length) });
  await api.type(`y=${text}; echo \${#y} long\r`);
  await http.shows("editor", `${text.length} long`);
});

test("lines that a person submits, and commands typed into a shell that reads lines, do not add up", async () => {
  const file = join(wsh.dir, "ended.txt");
  await wsh.session("ended", "--", `echo ready; cat >${file}`);
  await using person = await EmulatorTerminal.attach(wsh, "ended", { seen: "ready" });
  const line = "x".repeat(MOST - 100);
  for (let round = 1; round <= 3; round++) {
    expect((await http.send("POST", "/sessions/ended/input", { body: line })).status).toBe(204);
    person.type("\r");
    await until("the line", () => contentOf(file) === `${line}\n`.repeat(round));
  }
  if (isMissing("dash")) return;
  const api = await SessionApi.shell(http, "typed", { shell: "bash" });
  await api.type("dash\r");
  await until("dash", async () => (await api.status()).foreground?.name === "dash");
  await api.until("prompt");
  // Each is a line of more than 200 bytes.
  for (let round = 0; round < 25; round++) {
    expect(await api.exec(`echo ${round}`, { typed: "sh" })).toMatchObject({ output: String(round), exit_code: 0 });
  }
});

test("wsh exec of a line that no screen shows ends with the line", async () => {
  await wsh.session("long");
  const line = `echo ${"x".repeat(6_000)} >/dev/null; (exit 3)`;
  for (let round = 0; round < 3; round++) {
    const { stdout, stderr, code } = await wsh.run("exec", "long", "--", line);
    expect({ stdout, stderr, code }).toEqual({ stdout: "", stderr: "", code: 3 });
  }
});
