/** Savings in calls: sessions made on the way, answers of the right size, and self-contained results. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/client";
import { freePort } from "../support/free-ports.ts";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { stopProcess } from "../support/processes.ts";
import { testWith } from "../support/programs.ts";
import { until } from "../support/until.ts";
import { hostOf } from "../support/wsh.ts";

const mcp = new McpInstance();
let client: Client;
let dir: string;
beforeAll(async () => {
  client = await mcp.client();
  dir = join(mcp.dir, "work here");
  fs.mkdirSync(dir);
});
afterAll(() => mcp[Symbol.asyncDispose]());

async function good(name: string, args: Record<string, unknown>) {
  const answer = await call(client, name, args);
  if (answer.isError) throw new Error(`${name} ${JSON.stringify(args)}: ${answer.texts[0]}`);
  return answer.value;
}

describe("a session that a call makes", () => {
  test("begins in the call's directory, with its variables; later calls cannot change them unnoticed", async () => {
    const session = "placed";
    const at = { session, create: true, cwd: dir };
    const first = await good("wsh_exec", { ...at, env: { COLOUR: "grün" }, command: 'pwd; echo "$COLOUR"' });
    expect(first).toMatchObject({ output: `${dir}\ngrün`, exit_code: 0, created: true });
    const second = await good("wsh_exec", { ...at, command: 'echo "still $COLOUR"; cd /' });
    expect(second).toMatchObject({ output: "still grün", exit_code: 0 });
    expect(second.created).toBeUndefined();
    for (const more of [{ cwd: dir }, { env: { COLOUR: "red" } }, { cwd: dir, env: { COLOUR: "red" } }]) {
      const refused = await call(client, "wsh_exec", {
        session,
        create: true,
        ...more,
        command: "touch /tmp/never-$$",
      });
      expect(refused).toMatchObject({ isError: true, value: { code: "invalid_request", cwd: "/" } });
      expect(refused.value.message).toContain(`session '${session}' already exists, in '/'`);
      expect(refused.value.hint).toContain("cd DIR");
    }
    expect((await good("wsh_exec", { session, command: "pwd" })).output).toBe("/");
  });

  test("is not made for an invalid call", async () => {
    const place = { session: "never", create: true };
    for (const [name, args] of [
      ["wsh_exec", { command: "true", cwd: "/no/such" }],
      ["wsh_exec", { command: "true", grep: "(" }],
      ["wsh_run_command", { input: "true", keys: ["NoSuchKey"] }],
      ["wsh_run_command", { input: "true", steps: [{}] }],
      ["wsh_run_command", { input: "true", cwd: "/no/such" }],
    ] as const) {
      expect((await call(client, name, { ...place, ...args })).isError, JSON.stringify(args)).toBe(true);
    }
    const list = await good("wsh_list_sessions", { all: true });
    expect(list.map(({ name }: { name: string }) => name)).not.toContain("never");
  });

  test("takes a whole dialog in its first call", async () => {
    const answer = await good("wsh_run_command", {
      ...{ session: "dialog", create: true, cwd: dir, env: { PLACE: "Ulm" } },
      ...{ input: 'read -p \'Name: \' n; echo "$n from $PLACE in $(basename "$PWD")"', submit: true },
      steps: [{ expect: "Name:", input: "Ann", submit: true }],
    });
    expect(answer).toMatchObject({ created: true, exit_code: 0, state: "prompt" });
    expect(answer.output).toBe("Name: Ann\nAnn from Ulm in work here");
  });
});

/** Each filter in both kinds of sessions. */
const isFull = process.env.WSH_TEST_FULL === "1";

describe("the output of a server that is ready", () => {
  const serve = (port: number) =>
    `python3 -c "
import socket
for n in range(200): print('loading module', n, flush=True)
server = socket.create_server(('127.0.0.1', ${port}))
while True: server.accept()"`;
  for (const place of [{}, { session: "server", create: true }]) {
    testWith("python3")(`${"session" in place ? "at a prompt" : "in a separate session"}`, async () => {
      const shown = async (more: object) => {
        const port = freePort();
        const ready = [{ type: "port", port }];
        const answer = await good("wsh_exec", {
          ...place,
          command: serve(port),
          background: true,
          until: ready,
          ...more,
        });
        expect(answer).toMatchObject({ decided_by: "port", state: "running", exit_code: null });
        await good("wsh_manage_session", { session: answer.session, action: "kill" });
        return answer;
      };
      const whole = await shown({});
      expect(whole.output).toContain("loading module 199");
      expect(Buffer.byteLength(whole.output)).toBeLessThan(320);
      if (isFull || !("session" in place)) {
        expect(await shown({ tail: 2 })).toMatchObject({
          output: "loading module 198\nloading module 199",
          total_lines: 200,
        });
        expect(await shown({ output: "none" })).toMatchObject({ output: "", total_lines: 200 });
      }
      if (isFull || "session" in place) expect((await shown({ grep: "module 7$" })).output).toBe("8:loading module 7");
    });
  }
});

describe("a failing build among others", () => {
  test("shows both ends of its output, and the rest on request", async () => {
    const steps = ["good", "bad"].map((name) => ({
      ...(name === "good" ? { name } : {}),
      command: `for n in $(seq 1 500); do echo "[${name}] unit $n"; done; [ ${name} = good ] || { echo 'error: no lib'; exit 4; }`,
    }));
    const { steps: done } = await good("wsh_exec", { mode: "parallel", steps });
    const [fine, broken] = done;
    expect(fine).toMatchObject({
      name: "good",
      state: "finished",
      exit_code: 0,
      total_lines: 500,
    });
    expect(broken).toMatchObject({ exit_code: 4, total_lines: 501 });
    expect(broken.name).toStartWith("for n in");
    expect(broken.output).toStartWith("[bad] unit 492\n");
    expect(broken.output).toEndWith("error: no lib");
    expect(Buffer.byteLength(broken.output)).toBeLessThan(850);
    expect(JSON.stringify(fine).length).toBeLessThan(200);
    const more = { session: broken.session, command_id: broken.command_id };
    expect((await good("wsh_get_output", { ...more, range: "250-251" })).text).toBe("[bad] unit 250\n[bad] unit 251");
    expect(
      (await good("wsh_get_output", { session: fine.session, command_id: fine.command_id, range: "7" })).text,
    ).toBe("[good] unit 7");
  });
});

describe("a result reports", () => {
  test("how long a command took, not how long a program had run that was quit", async () => {
    const session = "took";
    const here = { session, create: true };
    const asked = await good("wsh_run_command", { ...here, input: "read -p 'Go on? ' x", submit: true });
    expect(asked).toMatchObject({ state: "waiting_for_input", prompt: "Go on? " });
    const quit = await good("wsh_run_command", { session, input: "y", submit: true });
    expect(quit).toMatchObject({ state: "prompt", exit_code: 0, command_id: expect.any(Number) });
    expect(quit.duration_ms).toBeUndefined();
    const ran = await good("wsh_run_command", { session, input: "sleep 0.2", submit: true });
    // By the arrival of the marks, which a busy machine reads late.
    expect(ran.duration_ms).toBeGreaterThan(100);
  });

  test("typed, where the exit code is the typed line's own report", async () => {
    const session = "nested";
    await good("wsh_run_command", { session, create: true, input: "sh", submit: true });
    const typed = await good("wsh_exec", { session, command: "echo hi; (exit 7)", typed: "sh" });
    expect(typed).toMatchObject({ typed: true, exit_code: 7, output: "hi" });
    expect(typed.verified).toBeUndefined();
  });

  test("the whole of a menu that is redrawn", async () => {
    const session = "menu";
    const menu = join(mcp.dir, "menu.sh");
    fs.writeFileSync(
      menu,
      // Between two reads a key would be echoed, and move the drawing.
      `stty -echo -icanon; at=0; items=(one two three four)
draw() { for i in 0 1 2 3; do [ $i = $at ] && echo "> \${items[$i]}" || echo "  \${items[$i]}"; done; }
echo Choose:; draw
while IFS= read -rsn1 key; do
  case "$key" in j) at=$((at+1)); printf '\\e[4A\\e[J'; draw ;; q) break ;; esac
done
stty echo icanon`,
    );
    const begun = await good("wsh_run_command", { session, create: true, input: `bash ${menu}`, submit: true });
    expect(begun.output).toBe("Choose:\n> one\n  two\n  three\n  four");
    expect((await good("wsh_run_command", { session, input: "j" })).output).toBe("  one\n> two\n  three\n  four");
    // A text printed again in its old place counts as new, too.
    const steps = [
      { expect: "four", input: "j" },
      { expect: "four", input: "q" },
    ];
    const end = await good("wsh_run_command", { session, steps, input: "j" });
    expect(end).toMatchObject({ exit_code: 0, output: "  one\n  two\n  three\n> four" });
  });

  test("all output of a dialog that only checks its end", async () => {
    const dialog = { session: "looks", create: true, input: "read -p 'Name: ' n; read -sp 'Secret: ' s", submit: true };
    const steps = [{ expect: "Name:", input: "Ann", submit: true }, { expect: "password" }];
    const begun = await good("wsh_run_command", { ...dialog, steps });
    expect(begun).toMatchObject({ state: "password", decided_by: "password" });
    const late = await call(client, "wsh_run_command", {
      session: "looks",
      steps: [{ expect: "never" }],
      max_wait_ms: 300,
    });
    expect(late).toMatchObject({ isError: true, value: { code: "expect_not_met", step: 0 } });
  });

  test("not again the caller's own words", async () => {
    const quiet = await good("wsh_exec", { command: "pwd", cwd: dir });
    expect(quiet).toMatchObject({ output: dir, exit_code: 0 });
    expect(quiet.cwd).toBeUndefined();
    expect((await good("wsh_exec", { command: "true" })).cwd).toBe(mcp.dir);
  });

  test("no answers of the terminal to a binary file", async () => {
    const binary = join(mcp.dir, "binary");
    fs.writeFileSync(binary, "\u0000\u0001\u001b[c\u001b[5n\u001b[6n\u0002\n");
    expect((await good("wsh_exec", { command: `cat ${binary}; echo saved`, tail: 1 })).output).toBe("saved");
    const later = await good("wsh_exec", { command: `cat ${binary}; sleep 0.3; echo saved`, grep: "saved|\\[" });
    expect(later.output).toEndWith(":saved");
    expect(later.matches).toBe(1);
    // A program that reads answers gets them.
    const asks = "stty raw -echo; printf '\\033[5n'; head -c 4 | od -c | head -1; stty sane";
    expect((await good("wsh_exec", { command: asks })).output).toContain("033   [   0   n");
  });

  test("silence by its plain name", async () => {
    const idle = await good("wsh_exec", { command: "echo up; sleep 60", background: true, until: ["idle"] });
    expect(idle).toMatchObject({ decided_by: "idle", state: "running", output: "up" });
    expect(await good("wsh_wait", { session: idle.session, any_of: ["idle"] })).toMatchObject({ decided_by: "idle" });
    await good("wsh_manage_session", { session: idle.session, action: "kill" });
  });

  test("that a command was started whose session hangs", async () => {
    const started = join(mcp.dir, "started");
    const waiting = call(client, "wsh_exec", { command: `touch ${started}; exec sleep 60`, max_wait_ms: 60_000 });
    await until("the command to start", () => fs.existsSync(started));
    const list = await good("wsh_list_sessions", { tag: "exec" });
    const { name, pid } = list.find(({ command }: { command: string }) => command.includes(started));
    const host = hostOf(pid);
    // The shell has reported it, and its session process has received that.
    await until("its start to be known", async () => {
      return (await good("wsh_get_status", { session: name })).last_command?.state === "running";
    });
    await stopProcess(host);
    let command_id: number | undefined;
    try {
      const { isError, value } = await waiting;
      expect(isError).toBe(true);
      expect(value).toMatchObject({ code: "session_unavailable", session: name });
      command_id = value.command_id;
      expect(value.message).toContain("was started");
      expect(value.hint).toContain("wsh_wait");
    } finally {
      process.kill(host, "SIGCONT");
    }
    const goesOn = { session: name, command_id, any_of: ["command_finished"], max_wait_ms: 0 };
    expect(await good("wsh_wait", goesOn)).toMatchObject({ decided_by: "timeout", state: "running" });
    await good("wsh_manage_session", { session: name, action: "kill" });
  });
});
