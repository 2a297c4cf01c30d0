/** Commands in separate sessions: over HTTP and by `wsh exec`, with the command's output and exit code. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import type { ExecResult } from "../../src/protocol/commands.ts";
import type { SessionInfo } from "../../src/protocol/session.ts";
import { Gate } from "../support/held-command.ts";
import { failure, Http } from "../support/http.ts";
import { SessionApi } from "../support/session-api.ts";
import { shared } from "../support/shared.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(30_000);

const wsh = shared(new Wsh({ config: "grace_seconds = 1\nexec_grace_seconds = 600\n" }));
const http = new Http({ unix: wsh.instance.httpSocket });

const exec = (fields: object): Promise<ExecResult & { session: string }> =>
  http.expect(200, http.post("/exec", fields));
const sessions = (): Promise<SessionInfo[]> => http.list("?all=1");

describe("a command without a session", () => {
  test("ends with the process's own status", async () => {
    const result = await exec({ command: "echo out; echo err >&2; exit 3" });
    expect(result).toEqual({
      session: expect.stringMatching(/^exec-\d+$/),
      state: "finished",
      exit_code: 3,
      signal: null,
      output: "out\nerr",
      omitted_lines: 0,
      duration_ms: expect.any(Number),
      cwd: wsh.env.HOME,
      command_id: expect.any(Number),
      output_cursor: expect.any(Number),
      readable_until: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(await exec({ command: "kill -TERM $$" })).toMatchObject({ exit_code: null, signal: "SIGTERM" });
    expect(await exec({ command: "printf abc" })).toMatchObject({ output: "abc" });
    expect(await exec({ command: "tty >/dev/null && echo a terminal" })).toMatchObject({ output: "a terminal" });
  });

  test("has the directory, environment and input of the request", async () => {
    const given = { cwd: "/tmp", env: { NAME: "a b" }, stdin: "line\nno end" };
    const result = await exec({ command: 'pwd; echo "$NAME"; cat', ...given });
    expect(result).toMatchObject({ output: "/tmp\na b\nline\nno end", cwd: "/tmp", exit_code: 0 });
  });

  test("is one of several, in order or at once", async () => {
    const steps = [{ command: "echo 1" }, { command: "exit 2", name: "bad" }, { command: "echo 3" }];
    const { steps: inOrder } = await exec({ steps });
    expect(inOrder).toMatchObject([
      { state: "finished", output: "1" },
      { name: "bad", state: "finished", exit_code: 2 },
      { state: "skipped", exit_code: null },
    ]);
    expect((await exec({ steps, stop_on_error: false })).steps?.at(-1)).toMatchObject({ output: "3" });
    // Each waits for the other: only side by side can they end.
    const pipe = join(wsh.dir, "pipe");
    const both = [
      { command: `mkfifo ${pipe}; echo hello >${pipe}` },
      { command: `until test -p ${pipe}; do :; done; cat ${pipe}` },
    ];
    const { steps: atOnce } = await exec({ steps: both, mode: "parallel" });
    expect(atOnce).toMatchObject([{ exit_code: 0 }, { exit_code: 0, output: "hello" }]);
    expect(new Set(atOnce?.map((step) => step.session)).size).toBe(2);
  });

  test("that ends just after it was ready has not been stopped", async () => {
    // It is ready while much of its output is unread, and ends while the rest is read.
    const command = "seq 1 20000; echo ready; exit 3";
    for (let run = 0; run < 8; run++) {
      const { state, exit_code } = await exec({ command, until: [{ type: "text", text: "ready" }] });
      expect({ state, exit_code }).toEqual({ state: exit_code === null ? "running" : "finished", exit_code });
    }
  });

  test("is refused when it cannot run, and leaves nothing", async () => {
    const before = new Set((await sessions()).map(({ id }) => id));
    const wrong: readonly (readonly [object, number, string])[] = [
      [{}, 400, "invalid_request"],
      [{ command: "" }, 400, "invalid_request"],
      [{ command: "a\0" }, 400, "invalid_request"],
      [{ command: "true", env: { "A=B": "" } }, 400, "invalid_request"],
      [{ command: "true", env: { A: "\0" } }, 400, "invalid_request"],
      [{ command: "true", cwd: "/nowhere" }, 400, "cwd_not_found"],
      [{ command: "true", cwd: "/\0" }, 400, "cwd_not_found"],
      [{ command: "x".repeat(200_000) }, 413, "payload_too_large"],
      [{ steps: Array(11).fill({ command: "true" }), mode: "parallel" }, 400, "invalid_request"],
    ];
    for (const [fields, status, code] of wrong) {
      expect(await http.post("/exec", fields)).toMatchObject({ status, body: failure(code) });
    }
    expect((await sessions()).every(({ id }) => before.has(id))).toBe(true);
  });

  test("at the deadline is left, interrupted or killed", async () => {
    const slow = { command: "sleep 60", max_wait_ms: 50 };
    expect(await exec({ ...slow, on_timeout: "interrupt" })).toMatchObject({ state: "interrupted", signal: "SIGINT" });
    expect(await exec({ ...slow, on_timeout: "kill" })).toMatchObject({ state: "killed", signal: "SIGKILL" });
    // Without time for it, the next step does not begin, although failures do not end the sequence.
    const begun = join(wsh.dir, "begun");
    const two = [{ command: slow.command }, { command: `touch ${begun}` }];
    const late = { steps: two, stop_on_error: false, max_wait_ms: slow.max_wait_ms, on_timeout: "kill" };
    expect((await exec(late)).steps).toMatchObject([{ state: "killed" }, { state: "skipped" }]);
    expect(fs.existsSync(begun)).toBe(false);
    const left = await exec(slow);
    expect(left).toMatchObject({ state: "running", exit_code: null, command_id: expect.any(Number) });
    await http.kill(left.session);
  });

  test("stays readable for a while, for longer when nobody waits for it", async () => {
    const seen = await exec({ command: "echo seen" });
    const unseen = await exec({ command: "echo unseen", background: true });
    const api = new SessionApi(http, unseen.session);
    const { command } = await api.until("command_finished", { command_id: unseen.command_id });
    expect(command).toMatchObject({ exit_code: 0, command: "echo unseen" });
    const gone = `session ${seen.session} to be gone after its second`;
    await until(gone, async () => (await http.get(`/sessions/${seen.session}`)).status === 404);
    await Bun.sleep(1_100); // as long as the other's grace period
    expect((await api.output(`command_id=${unseen.command_id}`)).text).toBe("unseen");
    expect(await http.session(unseen.session)).toMatchObject({ running: false, exit_code: 0, tags: ["exec"] });
  });

  test("continues when its caller disconnects, and its result is readable", async () => {
    const ends = new AbortController();
    const gate = new Gate(wsh.dir);
    const late = `${gate.wait}; echo late`;
    const call = http.post("/exec", { command: late }, { signal: ends.signal }).catch(() => null);
    const session = await until("the session", async () =>
      (await sessions()).find(({ command, running }) => running && command === late),
    );
    ends.abort();
    await call;
    // The server notices the caller's end first; a command that ended sooner would be reported to the caller.
    await http.session(session.name);
    gate.open();
    await http.ended(session.name);
    await Bun.sleep(1_100); // longer than the grace period of one that was waited for
    expect((await new SessionApi(http, session.name).output("lines=5")).text).toContain("late");
  });
});

describe("an ephemeral server", () => {
  test("waits for sessions whose end no caller knows, not for those whose end was reported to a waiter", async () => {
    await using own = new Wsh({ config: "grace_seconds = 600\n", name: "e" });
    await own.ok("server", "--ensure", "--bind", "none");
    await own.session("kept", "--", "exit 4");
    await own.session("told");
    const there = new Http({ unix: own.instance.httpSocket });
    const ended = await there.expect(200, there.post("/sessions/kept/wait", { any_of: ["exited"] }));
    expect(ended).toMatchObject({ decided_by: "exited" });
    const exit = await there.expect(200, there.post("/sessions/told/exec", { command: "exit 5" }));
    expect(exit).toMatchObject({ exit_code: 5 });
    await until("the server to end", () => own.servers().length === 0);
    // Their session processes still know.
    expect((await own.run("output", "kept")).code).toBe(0);
  });
});

describe("wsh exec", () => {
  test("prints the command's output while it runs, and exits with its code", async () => {
    const go = join(wsh.dir, "go");
    const child = wsh.spawn([
      "exec",
      "--",
      `echo first; until test -e ${go}; do sleep 0.01; done; echo second; exit 6`,
    ]);
    const reader = child.stdout.getReader();
    let seen = "";
    const read = async (text: string): Promise<void> => {
      while (!seen.includes(text)) {
        const { value, done } = await reader.read();
        if (done) throw new Error(`ended after '${seen}'`);
        seen += new TextDecoder().decode(value);
      }
    };
    await read("first\n");
    expect(seen).toBe("first\n");
    fs.writeFileSync(go, "");
    await read("second\n");
    expect(await child.exited).toBe(6);
  });

  test("codes of signals, timeouts and usage errors", async () => {
    expect(await wsh.run("exec", "--", "kill -TERM $$")).toMatchObject({ code: 143 });
    expect(await wsh.run("exec", "--timeout", "0.2", "--on-timeout", "kill", "--", "sleep 60")).toMatchObject({
      code: 124,
    });
    expect(await wsh.run("exec", "--")).toMatchObject({ code: 2 });
    expect(await wsh.run("exec", "nobody", "--", "true")).toMatchObject({ code: 1 });
  });

  test("options select the output of a command that is awaited until it is ready", async () => {
    const ready = ["--until", "text=ready", "--tail", "1", "--json"];
    const { stdout } = await wsh.run("exec", ...ready, "--", "seq 5; echo ready; exec sleep 60");
    const { session, ...result } = JSON.parse(stdout);
    expect(result).toMatchObject({ decided_by: "text", state: "running", output: "ready", total_lines: 6 });
    await wsh.kill(session);
  });

  test("one word is shell text, several are quoted individually", async () => {
    expect(await wsh.run("exec", "--", "echo a; echo b")).toMatchObject({ stdout: "a\nb\n" });
    expect(await wsh.run("exec", "--", "printf", "[%s]", "a b", "$HOME", "it's", "")).toMatchObject({
      stdout: "[a b][$HOME][it's][]\n",
    });
  });

  test("directory, environment and standard input", async () => {
    const args = ["exec", "--cwd", "/tmp", "--env", "A=b c", "-i", "--", 'pwd; echo "$A"; tr a-z A-Z'];
    expect(await wsh.runWith({ input: "hello\n" }, ...args)).toMatchObject({ code: 0, stdout: "/tmp\nb c\nHELLO\n" });
  });

  test("--json prints only the result", async () => {
    const { stdout, code } = await wsh.run("exec", "--json", "--", "echo x; exit 2");
    expect(code).toBe(2);
    const result = JSON.parse(stdout);
    expect(result).toMatchObject({ state: "finished", exit_code: 2, output: "x", command_id: expect.any(Number) });
    const left = ({ readable_until: at }: { readable_until: string }) => Date.parse(at) - Date.now();
    expect(left(result)).toBeLessThanOrEqual(1_000);
    const part = JSON.parse((await wsh.run("exec", "--json", "--tail", "1", "--", "seq 9")).stdout);
    expect(part).toMatchObject({ output: "9", total_lines: 9 });
    // Output that was not shown can be read for longer.
    expect(left(part)).toBeGreaterThan(60_000);
    expect(await wsh.ok("output", part.session, "--command", String(part.command_id), "--lines", "2-3")).toBe("2\n3\n");
  });

  test("--background prints where it runs, and its result can be waited for", async () => {
    const name = (await wsh.ok("exec", "--background", "--", "echo done; exit 1")).trim();
    expect(await wsh.ok("wait", name, "exited")).toBe("exited\n");
    const [{ id, exit_code }] = JSON.parse(await wsh.ok("commands", name, "--json"));
    expect(exit_code).toBe(1);
    expect(await wsh.ok("output", name, "--command", String(id))).toBe("done\n");
  });

  test("Ctrl+C interrupts the command; a second one leaves it running", async () => {
    const stops = wsh.spawn([
      "exec",
      "--",
      "trap 'echo stopping; exit 9' INT; echo ready; while :; do sleep 0.05; done",
    ]);
    await firstOutput(stops);
    stops.kill("SIGINT");
    expect(await stops.exited).toBe(9);
    const stubborn = wsh.spawn(["exec", "--", "trap 'echo no' INT; echo ready; while :; do sleep 0.05; done"]);
    await firstOutput(stubborn);
    const refused = until("a second Ctrl+C to end the wait", () => {
      stubborn.kill("SIGINT");
      // One more may fall into its last moments, and end it as a signal does.
      return stubborn.exitCode !== null || stubborn.signalCode !== null;
    });
    expect(await stubborn.exited).toBe(130);
    await refused;
    expect(await new Response(stubborn.stderr).text()).toMatch(/is still running in session 'exec-\d+'/);
  });

  test("a session that is killed under it returns 125", async () => {
    const child = wsh.spawn(["exec", "--", "echo ready; sleep 60"]);
    await firstOutput(child);
    const running = (await wsh.list()).find(({ command }) => command === "echo ready; sleep 60");
    await wsh.ok("kill", running?.name ?? "none");
    expect([125, 129, 143]).toContain(await child.exited);
  });
});

describe("wsh exec in a session", () => {
  beforeAll(async () => {
    await SessionApi.shell(http, "dev", { shell: "bash" });
  });

  test("runs at its prompt and keeps changes of its state", async () => {
    expect(await wsh.run("exec", "dev", "--", "cd /tmp; X=1; echo moved; false")).toMatchObject({
      code: 1,
      stdout: "moved\n",
    });
    expect(await wsh.run("exec", "dev", "--", "echo $PWD $X")).toMatchObject({ code: 0, stdout: "/tmp 1\n" });
    expect(await wsh.run("exec", "dev", "--", "echo 'open")).toMatchObject({ code: 2 });
    expect(await wsh.run("exec", "dev", "--", "bash -c 'kill -9 $$'")).toMatchObject({ code: 137 });
  });

  test("a timeout and Ctrl+C end the command, not the shell", async () => {
    // A loop of the shell itself is interrupted, since the shell stays.
    const loop = { command: "while :; do :; done", max_wait_ms: 200, on_timeout: "kill" };
    const { code, stdout } = await wsh.run(
      "exec",
      "dev",
      "--json",
      "--timeout",
      "0.2",
      "--on-timeout",
      "kill",
      "--",
      loop.command,
    );
    expect(code).toBe(124);
    const { state, exit_code } = await http.expect<ExecResult>(200, http.post("/sessions/dev/exec", loop));
    expect(JSON.parse(stdout)).toMatchObject({ state, exit_code });
    // A separate shell: an interactive one can miss the signal between fork and exec.
    const child = wsh.spawn(["exec", "dev", "--", "bash -c 'echo ready; exec sleep 60'"]);
    await firstOutput(child);
    child.kill("SIGINT");
    expect(await child.exited).toBe(130);
    expect(await wsh.run("exec", "dev", "--", "echo still here")).toMatchObject({ code: 0, stdout: "still here\n" });
    const left = await wsh.run("exec", "dev", "--timeout", "0.1", "--", "sleep 60");
    expect(left).toMatchObject({ code: 124, stderr: expect.stringContaining("is still running") });
    expect(await wsh.run("exec", "dev", "--", "true")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/sleep/),
    });
    // A shell can miss the signal before its program runs.
    const api = new SessionApi(http, "dev");
    await until("sleep", async () => (await api.status()).foreground?.name === "sleep");
    await wsh.ok("signal", "dev", "INT");
    await wsh.prompt("dev");
  });

  test("a command that is not ready at the deadline and ignores its end says so, in a session and without", async () => {
    await SessionApi.shell(http, "deaf", { shell: "bash" });
    const command = "bash -c 'trap true INT; echo set; while :; do read -p q: x; done'";
    const fields = { command, until: [{ type: "text", text: "never" }], max_wait_ms: 2_000, on_timeout: "interrupt" };
    for (const path of ["/sessions/deaf/exec", "/exec"]) {
      const result = await http.expect<ExecResult & { session: string }>(200, http.post(path, fields));
      expect(result).toMatchObject({
        decided_by: "timeout",
        state: "running",
        waits_for: "waiting_for_input",
        warnings: ["the command was interrupted at the deadline and still runs"],
      });
      await http.kill(result.session);
    }
  });

  test("wait exits with 124 on a timeout", async () => {
    expect(await wsh.run("wait", "dev", "bell", "--timeout", "0.1")).toMatchObject({ code: 124, stdout: "timeout\n" });
    expect(await wsh.run("wait", "dev", "moon")).toMatchObject({ code: 2 });
    expect(await wsh.run("wait", "nobody", "prompt")).toMatchObject({ code: 1 });
  });
});

async function firstOutput(child: { readonly stdout: ReadableStream<Uint8Array> }): Promise<void> {
  const reader = child.stdout.getReader();
  await reader.read();
  reader.releaseLock();
}
