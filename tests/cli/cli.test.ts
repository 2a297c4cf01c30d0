/** The command line without a terminal: the input of a person or script, the output, and the exit code. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { splitAtDashes } from "../../src/cli/shell-words.ts";
import { shellText } from "../../src/shell/quoting.ts";
import { Gate } from "../support/held-command.ts";
import { stopProcess } from "../support/processes.ts";
import { isMissing } from "../support/programs.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { within } from "../support/timing-retries.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";
import { program } from "../support/wsh-program.ts";

let wsh: Wsh;
beforeAll(() => {
  wsh = new Wsh();
});
afterAll(async () => {
  await wsh[Symbol.asyncDispose]();
});

describe("version and usage errors", () => {
  test("--version prints the version and nothing else", async () => {
    expect(await wsh.run("--version")).toEqual({ code: 0, stdout: "wsh 0.1.0\n", stderr: "" });
  });

  test.each([
    [["lst"], "unknown command 'lst'"],
    [["att"], "(Did you mean attach?)"],
    [["help", "opens"], "unknown command 'opens'"],
    [["lst", "--help"], "unknown command 'lst'"],
    [["list", "--foo"], "unknown option '--foo'"],
    [["rename", "x"], "missing required argument"],
    [["attach"], "no session is running"],
    [["list", "extra"], "too many arguments"],
    [["wait", "x", "tomorrow"], "'tomorrow' is not a condition"],
    [["exec", "x"], "the command is missing"],
    [["-L", "no/such", "list"], '"no/such" is not an instance name'],
    [["--socket", "/tmp/x.sock", "list"], "--socket is '/tmp/x.sock'"],
    [["list", "--socket", "/tmp/x.sock"], "--socket is '/tmp/x.sock'"],
    [["screen", "x", "--tail", "0"], "'0' is not a whole number of at least 1"],
    [["new", "x", "--size", "0x24"], "'0x24' is not a size"],
    [["resize", "x", "1001x24"], "'1001x24' is not a size"],
    [["send", "x"], "nothing to type"],
    [["persist", "maybe"], "Allowed choices are on, off"],
  ])("%j is a usage error", async (args, message) => {
    const { code, stdout, stderr } = await wsh.run(...args);
    expect(stderr).toContain(message);
    expect(stderr).toStartWith("wsh: ");
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  });

  test.each([
    [["attach", "nobody"], "no session 'nobody'"],
    [["attach", "nobody", "--scrollback", "some"], "'some' is not a scrollback amount"],
    [["kill", "nobody"], "no session 'nobody'"],
    [["screen", "bad~name"], "is not a session name"],
    [["new", "bad~name"], "is not a session name"],
    [["new", "x", "--cwd", "/no/such/dir"], "the directory '/no/such/dir' does not exist"],
    [["new", "x", "--tag", "a b"], "is not a tag"],
    [["new", "x", "--shell", "/no/such/shell"], "/no/such/shell"],
    [["persist"], "no server of instance 't' is running"],
    [["status"], "no server of instance 't' is running"],
    [["token"], "has no token yet"],
  ])("%j fails with a message and a hint", async (args, message) => {
    const { code, stdout, stderr } = await wsh.run(...args);
    expect(stderr).toContain(message);
    expect(stderr.split("\n").length).toBeGreaterThanOrEqual(3);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(await wsh.list("--all")).toEqual([]);
  });
});

describe("a faulty machine", () => {
  test("no space for the output is an error, unlike a reader that closed the pipe", async () => {
    const child = Bun.spawn([...wsh.command("config")], {
      env: wsh.env,
      stdout: Bun.file("/dev/full"),
      stderr: "pipe",
    });
    expect(await new Response(child.stderr).text()).toBe("wsh: cannot write standard output: ENOSPC\n");
    expect(await child.exited).toBe(1);
  });

  test.skipIf(process.getuid?.() === 0)("doctor reports what it could not check", async () => {
    const home = join(wsh.dir, "closed");
    mkdirSync(home, { mode: 0 });
    const { code, stdout } = await wsh.runWith({ env: { HOME: home } }, "doctor", "--json");
    const findings: { subject: string; state: string }[] = JSON.parse(stdout);
    expect(code).toBe(1);
    const wrong = findings.filter(({ state }) => state === "wrong").map(({ subject }) => subject);
    expect(wrong).toEqual(["directories", "token", "settings"]);
  });
});

describe("sessions", () => {
  test("kill ends each existing session, and names each that does not exist", async () => {
    await wsh.session("a");
    await wsh.session("b");
    const { code, stdout, stderr } = await wsh.run("kill", "nobody", "a", "noone", "b");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "Session 'a' killed.\nSession 'b' killed.\n" });
    expect(stderr).toMatch(/no session 'nobody'.*\n.*no session 'noone'/);
    expect(await wsh.list()).toEqual([]);
  });

  test("a session is made, listed, tagged, renamed, resized and killed without a server", async () => {
    expect(await wsh.ok("new", "dev", "--tag", "b", "--tag", "a")).toBe("dev\n");
    const [info] = await wsh.list();
    expect(info).toMatchObject({ name: "dev", running: true, rows: 24, cols: 80, clients: 0, tags: ["a", "b"] });
    expect(await wsh.ok("tag", "dev")).toBe("Session 'dev': a, b\n");
    expect(await wsh.ok("tag", "dev", "--add", "c", "--remove", "a", "--remove", "b")).toBe("Session 'dev': c\n");
    expect(await wsh.ok("list", "--tag", "nope")).toBe("No active sessions.\n");
    expect(await wsh.ok("rename", "dev", "prod")).toBe("Session 'dev' is now 'prod'.\n");
    expect(await wsh.ok("resize", "prod", "100x30")).toBe("Session 'prod' is 100x30.\n");
    const table = await wsh.ok("ls");
    expect(table).toMatch(/^NAME +PID +COMMAND +SIZE +CLIENTS +STATE +TAGS\nprod +\d+ +\S+bash +100x30 +0 +\w+ +c\n$/);
    expect(await wsh.ok("kill", "prod")).toBe("Session 'prod' killed.\n");
    expect(await wsh.ok("list")).toBe("No active sessions.\n");
    expect(wsh.servers()).toEqual([]);
  });

  test("a name in use is a conflict, or selects the session that has it", async () => {
    const first = await wsh.session("taken");
    const again = await wsh.run("new", "taken");
    expect(again.code).toBe(1);
    expect(again.stderr).toContain("a session named 'taken' already exists");
    expect((await wsh.session("taken", "--if-exists", "attach")).id).toBe(first.id);
    await wsh.ok("kill", "taken");
  });

  test("text and keys are sent, and the screen is read", async () => {
    await wsh.session("typed");
    await wsh.ok("send", "typed", "echo 'one  two'", "--enter");
    await wsh.shows("typed", /^one {2}two$/m);
    await wsh.ok("send", "typed", "--keys", "Up", "Enter");
    await wsh.shows("typed", /^one {2}two\n(.*\n)*one {2}two$/m);
    await wsh.runWith({ input: "echo from stdin\r" }, "send", "typed", "-");
    await wsh.shows("typed", /^from stdin$/m);
    await wsh.ok("send", "typed", "--base64", btoa("echo base\r"));
    // With the prompt after it.
    await wsh.shows("typed", /^base\n\$/m);
    expect((await wsh.ok("screen", "typed", "--tail", "2")).split("\n")[0]).toBe("base");
    const screen = JSON.parse(await wsh.ok("screen", "typed", "--json"));
    expect(screen).toMatchObject({ rows: 24, cols: 80, alternate_active: false });
    await wsh.ok("exec", "typed", "--", "printf '\\033[1;31mred\\033[0m\\n'");
    expect(await wsh.ok("screen", "typed", "--format", "ansi")).toContain("\x1b[1;31mred\x1b[0m");
    const unknown = await wsh.run("send", "typed", "--keys", "Hyper+Q");
    expect(unknown.code).toBe(1);
    await wsh.ok("kill", "typed");
  });

  test("a hung session is listed as unresponsive and delays nobody", async () => {
    await using own = new Wsh();
    await own.session("good");
    await own.session("hung");
    const [, host = 0] = own.hosts();
    await stopProcess(host);
    const listed = await within(2_500, () => own.ok("list"));
    expect(listed).toMatch(/^good +\d+/m);
    expect(listed).toMatch(/^hung +- +- +- +- +unresponsive$/m);
    expect(await own.list()).toMatchObject([{ name: "good" }, { name: "hung", state: "unresponsive" }]);
    process.kill(host, "SIGCONT");
    await until("it to answer again", async () => (await own.ok("list")).includes("unresponsive") === false);
  });

  test("a session whose process speaks another protocol is listed as such and refused", async () => {
    await using own = new Wsh();
    await own.session("real");
    const path = join(own.instance.sessionsDir, "77.sock");
    const hello = new TextEncoder().encode(JSON.stringify({ wsh: 99, version: "9.9.9" }));
    using fake = Bun.listen({
      unix: path,
      socket: {
        open(socket) {
          socket.write(new Uint8Array([1, 0, 0, 0, hello.length, ...hello]));
        },
        data() {},
      },
    });
    expect(fake.unix).toBe(path);
    expect(await own.ok("list")).toMatch(/^@77 +.*another version$/m);
    const { code, stderr } = await own.run("screen", "@77");
    expect(code).toBe(1);
    expect(stderr).toContain("9.9.9");
  });

  test("a session whose process was killed no longer runs, and its name is free", async () => {
    await using own = new Wsh();
    await own.session("lost");
    await own.killHost();
    await until("it to be lost", async () => (await own.list()).every(({ running }) => !running));
    await own.session("lost");
  });

  test("an ended session is listed with --all and read until it is killed", async () => {
    await wsh.ok("new", "short", "--", "echo last words; exit 5");
    await until("it to end", async () => (await wsh.list()).every(({ name }) => name !== "short"));
    const all = await wsh.list("--all");
    expect(all.find(({ name }) => name === "short")).toMatchObject({ running: false, exit_code: 5 });
    expect(await wsh.ok("screen", "short")).toContain("last words");
    await wsh.ok("kill", "short");
    expect((await wsh.list("--all")).some(({ name }) => name === "short")).toBe(false);
  });
});

describe("commands in a session", () => {
  beforeAll(async () => {
    await wsh.session("work");
    await wsh.ok("wait", "work", "prompt");
  });

  test.each([
    [["true"], 0, ""],
    [["echo hello; false"], 1, "hello\n"],
    [["(exit 42)"], 42, ""],
    [["sh -c 'kill -TERM $$'"], 143, "Terminated\n"],
    [["printf", "%s|", "a b", "it's", "$HOME"], 0, "a b|it's|$HOME|\n"],
    [["printf 'no newline'"], 0, "no newline\n"],
    [["printf 'a\\n\\nb\\n'"], 0, "a\n\nb\n"],
  ])("exec -- %j", async (words, code, stdout) => {
    expect(await wsh.run("exec", "work", "--", ...words)).toMatchObject({ code, stdout });
  });

  test("output is printed as it arrives, not at the end", async () => {
    const child = wsh.spawn(["exec", "work", "--", "echo first; read line; echo second $line"]);
    const reader = child.stdout.getReader();
    const decoder = new TextDecoder();
    let first = "";
    while (!first.endsWith("\n")) first += decoder.decode((await reader.read()).value);
    expect(first).toBe("first\n");
    await wsh.ok("send", "work", "go", "--enter");
    let rest = "";
    for (let part = await reader.read(); !part.done; part = await reader.read()) rest += decoder.decode(part.value);
    expect(rest).toContain("second go\n");
    expect(await child.exited).toBe(0);
  });

  test("a long output arrives complete through a slow pipe", async () => {
    const child = wsh.spawn(["exec", "work", "--", "seq 1 5000"]);
    const { promise, resolve } = Promise.withResolvers<void>();
    setTimeout(resolve, 100);
    await promise;
    const text = await new Response(child.stdout).text();
    expect(text).toBe(Array.from({ length: 5000 }, (_, index) => `${index + 1}\n`).join(""));
  });

  test("a command that takes too long returns 124, and continues or is ended as requested", async () => {
    const gate = new Gate(wsh.dir);
    const left = await wsh.run("exec", "work", "--timeout", "0.2", "--", `${gate.wait}; echo woke`);
    expect(left.code).toBe(124);
    gate.open();
    await wsh.shows("work", /^woke$/m);
    await wsh.ok("wait", "work", "prompt");
    const ended = await wsh.run("exec", "work", "--timeout", "0.2", "--on-timeout", "interrupt", "--", "sleep 30");
    expect(ended.code).toBe(124);
    expect(await wsh.ok("wait", "work", "prompt")).toBe("prompt\n");
  });

  test("a followed output prints each matching line as a line", async () => {
    const child = wsh.spawn(["output", "work", "--follow", "--grep", "^hit"]);
    let printed = "";
    const read = (async () => {
      for await (const bytes of child.stdout) printed += new TextDecoder().decode(bytes);
    })();
    // The follower may begin at any of them, and reads each before the next is printed.
    for (let n = 0; !printed.includes("hit"); n++) await wsh.exec("work", `echo hit ${n}`);
    for (const word of ["one", "two"]) {
      await wsh.exec("work", `printf hi; echo t ${word}`);
      await until(word, () => printed.includes(word));
    }
    child.kill("SIGINT");
    await read;
    expect(printed).toMatch(/^(hit \d+\n)+hit one\nhit two\n$/);
  });

  test("Ctrl+C stops the command, and its code is reported", async () => {
    const child = wsh.spawn(["exec", "work", "--", "echo started; sleep 30"]);
    const reader = child.stdout.getReader();
    await reader.read();
    child.kill("SIGINT");
    expect(await child.exited).toBe(130);
    expect(await wsh.ok("wait", "work", "prompt")).toBe("prompt\n");
  });

  test("a busy prompt is refused", async () => {
    await wsh.ok("send", "work", "sleep 30", "--enter");
    await until("sleep to run", async () =>
      (await wsh.list()).some(({ name, windows }) => name === "work" && windows[0]?.panes[0]?.program === "sleep"),
    );
    const { code, stderr } = await wsh.run("exec", "work", "--", "true");
    expect(code).toBe(1);
    expect(stderr).toContain("sleep");
    await wsh.ok("signal", "work", "INT");
    await wsh.ok("wait", "work", "prompt");
  });

  test("--background prints an id; wait and output take it", async () => {
    const id = (await wsh.ok("exec", "work", "--background", "--", "sleep 0.2; echo done it")).trim();
    expect(await wsh.ok("wait", "work", "--command-id", id)).toBe("command_finished\n");
    expect(await wsh.ok("output", "work", "--command", id)).toBe("done it\n");
    expect(await wsh.ok("commands", "work", "-n", "1")).toMatch(new RegExp(`^${id} +0 +\\S+ m?s +1 +.*done it`, "m"));
  });

  test("run types a line and prints its output", async () => {
    expect(await wsh.ok("run", "work", "echo typed; echo twice")).toContain("typed\ntwice\n");
  });

  test("wait reports the condition that held, and 124 when none did", async () => {
    const waiting = wsh.run("wait", "work", "--text", "a needle", "--timeout", "20");
    // Printed repeatedly until it was seen: a wait counts only output after its start.
    const gate = new Gate(wsh.dir);
    const said = wsh.ok("exec", "work", "--", gate.wait.replace("do ", "do echo 'a 'needle; "));
    expect(await waiting).toMatchObject({ code: 0, stdout: "text\n" });
    gate.open();
    await said;
    expect(await wsh.run("wait", "work", "exited", "--timeout", "0.05")).toMatchObject({
      code: 124,
      stdout: "timeout\n",
    });
  });

  test("--json prints the operation's result", async () => {
    const result = JSON.parse(await wsh.ok("exec", "work", "--json", "--", "echo x"));
    expect(result).toMatchObject({ session: "work", state: "finished", exit_code: 0, output: "x", omitted_lines: 0 });
    const status = JSON.parse(await wsh.ok("status", "work", "--json"));
    expect(status).toMatchObject({ alive: true, state: "prompt", relay: false });
  });

  test("without a name a command gets a separate session", async () => {
    const failed = await wsh.run("exec", "--", "echo out; echo err >&2; exit 9");
    expect(failed).toMatchObject({ code: 9, stdout: "out\nerr\n" });
    const signalled = await wsh.run("exec", "--", "kill -KILL $$");
    expect(signalled.code).toBe(137);
    const where = await wsh.run("exec", "--cwd", "/", "--env", "A=b c", "--", 'echo "$PWD $A"');
    expect(where).toMatchObject({ code: 0, stdout: "/ b c\n" });
  });

  test("restart and clear", async () => {
    await wsh.ok("exec", "work", "--", "echo before clearing");
    await wsh.ok("clear", "work");
    expect(await wsh.screen("work")).not.toContain("before clearing");
    const before = (await wsh.list()).find(({ name }) => name === "work")?.pid;
    await wsh.ok("restart", "work");
    expect((await wsh.list()).find(({ name }) => name === "work")?.pid).not.toBe(before);
  });
});

describe("wsh without a terminal", () => {
  test.each([
    ["exit 3", 3],
    ["true", 0],
    ["kill -9 $$", 137],
  ])("wsh -c '%s' exits with %d", async (command, code) => {
    await using own = new Wsh();
    const result = await own.run("-c", command);
    expect(result.code).toBe(code);
    expect(result.stderr).toBe("");
  });

  test("the end of standard input detaches", async () => {
    await using own = new Wsh();
    await own.session("eof");
    const piped = ["sh", "-c", `echo 'echo typed' | "$@"`, "sh", ...program];
    await using terminal = EmulatorTerminal.run(own, ["attach", "eof"], { wsh: piped });
    expect(await terminal.exited).toBe(0);
    expect(await terminal.text()).toContain("[detached from session 'eof']");
    await own.shows("eof", /^typed$/m);
    // With no terminal at either end, nothing is typed or displayed.
    expect(await own.runWith({ input: "echo other\n" }, "attach", "eof")).toMatchObject({
      ...{ code: 1, stdout: "" },
      stderr: expect.stringMatching(/neither standard input nor standard output is a terminal\n.*wsh screen/),
    });
    expect(await own.screen("eof")).not.toContain("other");
  });

  test("without a terminal no shell opens, nothing is left behind, and the message names what to use instead", async () => {
    await using own = new Wsh();
    const result = await own.runWith({ input: "echo typed\n" });
    expect(result).toMatchObject({ code: 1, stdout: "" });
    expect(result.stderr).toContain("is a terminal\n");
    expect(result.stderr).toContain("wsh new");
    expect(await own.list("--all")).toEqual([]);
    expect(own.servers()).toEqual([]);
  });

  test("inside a session wsh refuses to nest unless a flag allows it", async () => {
    await using own = new Wsh();
    const refused = await own.runWith({ env: { WSH_SESSION: "outer" } });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("this terminal is already in session 'outer'");
    const nested = await own.runWith({ env: { WSH_SESSION: "outer" } }, "--nested");
    expect(nested.stderr).toContain("nor standard output is a terminal");
  });

  test("inside a session attach refuses that session, which would show itself recursively", async () => {
    await using own = new Wsh();
    await own.session("mirror");
    const [{ pane_id: pane } = { pane_id: "" }] = await own.list();
    await own.session("other", "--", "exit 5");
    const env = { WSH_SESSION: "mirror", WSH_PANE: pane, WSH_SOCKET: own.instance.httpSocket };
    const refused = await own.runWith({ env }, "attach", "mirror");
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("already in session 'mirror'") });
    expect((await own.runWith({ env }, "attach", "other")).stderr).not.toContain("already");
  });
});

describe("the server", () => {
  test("ensure starts one once, persist and status reach it, stop ends everything", async () => {
    await using own = new Wsh();
    const first = JSON.parse(await own.ok("server", "--ensure", "--bind", "none", "--json"));
    expect(first).toEqual({ socket: own.instance.httpSocket, addresses: [], pid: own.servers()[0] ?? 0 });
    expect(JSON.parse(await own.ok("server", "--ensure", "--json"))).toEqual(first);
    await own.session("kept");
    expect(await own.ok("persist")).toContain("ephemeral");
    expect(await own.ok("persist", "on")).toContain("persistent");
    expect(await own.ok("status")).toMatch(/^sessions +1$/m);
    expect(await (await own.fetch("/sessions/kept")).json()).toMatchObject({ name: "kept" });
    expect(await own.ok("stop")).toBe("Server stopped.\n");
    expect(await own.ok("stop")).toBe("No server running.\n");
    await until("every process to end", () => own.processes().length === 0);
  });

  test("stop without a server ends the sessions", async () => {
    await using own = new Wsh();
    await own.session("a");
    await own.session("b");
    expect(await own.ok("stop")).toBe("No server running. 2 sessions ended.\n");
    expect(await own.list("--all")).toEqual([]);
  });

  test("stop removes files that a killed server has left", async () => {
    await using own = new Wsh();
    await own.session("a");
    const server = await own.server();
    await server.kill("SIGKILL");
    expect(await own.ok("stop")).toBe("No server running. 1 session ended.\n");
    const { runtimeDir, httpSocket } = own.instance;
    expect(existsSync(httpSocket)).toBe(false);
    expect(readdirSync(runtimeDir).filter((file) => /\.(sock|lock)$/.test(file))).toEqual([]);
  });

  test("a second server, a port in use and a path that is not a socket have their own errors", async () => {
    await using own = new Wsh();
    const server = await own.server("--token", "0123456789abcdef");
    const second = await own.run("server", "--bind", "none");
    expect(second.code).toBe(1);
    expect(second.stderr).toContain("already listens");
    await server.kill("SIGKILL");

    using taken = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("") });
    const busy = await own.run("server", "--bind", `127.0.0.1:${taken.port}`);
    expect(busy.code).toBe(1);
    expect(busy.stderr).toContain(`cannot listen on 127.0.0.1:${taken.port}`);
    const hidden = await own.run("server", "--ensure", "--bind", `127.0.0.1:${taken.port}`);
    expect(hidden.code).toBe(1);
    expect(hidden.stderr).toContain(`cannot listen on 127.0.0.1:${taken.port}`);

    mkdirSync(own.instance.httpSocket.replace("/t.http", "/u.http"), { recursive: true });
    const blocked = await own.run("-L", "u", "server", "--bind", "none");
    expect(blocked.code).toBe(1);
    expect(blocked.stderr).toContain("is not a socket");
  });

  test("instances without a configured address get different ones", async () => {
    await using own = new Wsh();
    const servers = ["u", "v"].map((name) => own.spawn(["-L", name, "server"]));
    for (const name of ["u", "v"])
      await until("it to listen", async () => (await own.run("-L", name, "persist")).code === 0);
    const addresses = await Promise.all(
      ["u", "v"].map(async (name) => JSON.parse(await own.ok("-L", name, "info", "--json")).server.addresses[0]),
    );
    expect(new Set(addresses).size).toBe(2);
    for (const address of addresses) expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    for (const server of servers) server.kill("SIGTERM");
    for (const server of servers) expect(await server.exited).toBe(0);
  });

  test("on TCP the printed token grants access", async () => {
    await using own = new Wsh();
    const { addresses } = JSON.parse(await own.ok("server", "--ensure", "--bind", "127.0.0.1:0", "--json"));
    const token = (await own.ok("token")).trim();
    expect(token.length).toBeGreaterThanOrEqual(16);
    const answer = await fetch(`${addresses[0]}/sessions`, { headers: { Authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(200);
    expect((await fetch(`${addresses[0]}/sessions`)).status).toBe(401);
  });

  test("twenty at once start one server", async () => {
    await using own = new Wsh();
    const started = Array.from({ length: 20 }, () => own.run("server", "--ensure", "--bind", "none", "--json"));
    const results = await Promise.all(started);
    expect(results.map(({ code }) => code)).toEqual(Array(20).fill(0));
    expect(new Set(results.map(({ stdout }) => JSON.parse(stdout).pid)).size).toBe(1);
    // The late ones exit by themselves.
    await until("one server", () => own.servers().length === 1);
  });
});

describe("settings, scripts and completions", () => {
  test("config prints every setting with its origin", async () => {
    await using own = new Wsh({ config: "grace_seconds = 5\n", env: { WSH_PTY: "bun-pty" } });
    const table = await own.ok("config");
    expect(table).toMatch(/^grace_seconds +5 seconds +\S+config.toml:1 /m);
    expect(table).toMatch(/^pty +"bun-pty" +WSH_PTY /m);
    expect(table).toMatch(/^scrollback_lines +10000 lines +default /m);
    const changed: { name: string }[] = JSON.parse(await own.ok("config", "--changed", "--json"));
    // All tests run without a status line.
    expect(changed.map(({ name }) => name).sort()).toEqual(["grace_seconds", "pty", "status"]);
  });

  test("an error in the file names its line", async () => {
    await using own = new Wsh({ config: "pty = 'bun'\ngrace = 5\n" });
    const { code, stderr } = await own.run("config");
    expect(code).toBe(1);
    expect(stderr).toContain("config.toml:2: unknown setting 'grace'");
  });

  test("config check and reload list every mistake once, in the order of the file, and nothing that applies only elsewhere", async () => {
    const config = [
      'status = "maybe"',
      'prefix_key = "C-i"',
      "[keys]",
      '"g" = "pane.splitt"',
      '"h" = "pane.zoom"',
      '"é" = "view.nothing"',
      "[theme]",
      'status = "whitee"',
      "[[on]]",
      'event = "bell"',
      'do = "no.such"',
      "[[notify]]",
      'way = "ntfy"',
      'url = "https://ntfy.example/x"',
      'token_file = "/nonexistent/token"',
    ];
    await using own = new Wsh({ config: `${config.join("\n")}\n`, env: { WSH_STATUS: "" } });
    for (const action of ["check", "reload"]) {
      const { code, stdout, stderr } = await own.run("config", action);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      const places = [...stderr.matchAll(/^wsh: \S+config\.toml:(\d+): (\S+ ?\S*)/gm)];
      expect(places.map(([, line, what]) => `${line} ${what}`)).toEqual([
        "1 status is",
        "2 prefix_key Ctrl+i",
        '4 [keys] "g":',
        '6 [keys] "é":',
        "8 [theme] status",
        "9 [[on]] do:",
        "12 [[notify]] token_file:",
      ]);
      expect(stderr).not.toMatch(/ignored|is used|has no effect/);
    }
  });

  test("buffer names a file that cannot be used, and says which would do", async () => {
    const missing = join(wsh.dir, "missing/file");
    const bytes = join(wsh.dir, "bytes");
    writeFileSync(bytes, new Uint8Array([0xff, 0xfe]));
    await wsh.ok("buffer", "set", "a text");
    for (const [args, message, hint] of [
      [["load", missing], `'${missing}' cannot be read: ENOENT`, "Give the path of a file that can be read."],
      [["save", missing], `'${missing}' cannot be written: ENOENT`, "Give the path of a file that can be written."],
      [["load", bytes], `${bytes} is not UTF-8 text`, "Paste buffers contain only text."],
    ] as const)
      expect(await wsh.run("buffer", ...args)).toMatchObject({ code: 1, stderr: `wsh: ${message}\n     ${hint}\n` });
  });

  test("notify says why nobody sees the message", async () => {
    await wsh.session("unseen");
    expect(await wsh.run("notify", "hello", "--session", "unseen")).toMatchObject({
      code: 1,
      stderr: "wsh: no terminal is attached to session 'unseen'\n",
    });
    expect(await wsh.run("notify", " ", "--session", "unseen")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("wsh: the message is empty\n"),
    });
  });

  test("skill lists the guides for agents and prints one", async () => {
    const list = await wsh.ok("skill");
    expect(list).toMatch(/^core-http +API primitives/);
    expect(list.trim().split("\n")).toHaveLength(11);
    expect(await wsh.ok("skill", "core-http")).toStartWith("# wsh:core over HTTP and the command line");
    const { code, stderr } = await wsh.run("skill", "nosuch");
    expect({ code, named: stderr.includes("nosuch") && stderr.includes("core-http") }).toEqual({
      code: 2,
      named: true,
    });
  });

  test.each(["bash", "zsh", "fish"])("%s takes its completions and integration script", async (shell) => {
    const completions = await wsh.ok("completions", shell);
    expect(completions).toContain("reset-terminal");
    expect(completions).toContain("list --names");
    const script = await wsh.ok("shell-integration", shell);
    expect(script.length).toBeGreaterThan(500);
    if (isMissing(shell)) return;
    for (const [name, text] of Object.entries({ completions, script })) {
      const path = join(wsh.dir, `${name}.${shell}`);
      writeFileSync(path, text);
      const checked = Bun.spawnSync([shell, "-n", path], { env: wsh.env, stderr: "pipe" });
      expect(checked.stderr.toString()).toBe("");
    }
  });

  /** A directory for PATH in which `wsh` is the program under test. */
  async function binOf(own: Wsh): Promise<string> {
    const bin = join(own.dir, "bin");
    mkdirSync(bin);
    const { program } = await import("../support/wsh-program.ts");
    writeFileSync(join(bin, "wsh"), `#!/bin/sh\nexec ${program.join(" ")} "$@"\n`);
    chmodSync(join(bin, "wsh"), 0o755);
    return bin;
  }

  test.skipIf(isMissing("fish"))("fish completes the sessions of the instance that is named", async () => {
    await using own = new Wsh();
    await own.session("alpha");
    await own.ok("-L", "u", "new", "beta");
    const path = `${await binOf(own)}:${own.env.PATH}`;
    writeFileSync(join(own.dir, "completions"), await own.ok("completions", "fish"));
    const complete = (line: string): string => {
      const script = `source completions; complete -C '${line}'`;
      return Bun.spawnSync(["fish", "-c", script], { cwd: own.dir, env: { ...own.env, PATH: path } })
        .stdout.toString()
        .trim();
    };
    expect(complete("wsh attach ")).toBe("alpha");
    expect(complete("wsh -L u attach ")).toBe("beta");
    expect(complete("wsh attach --server-name u b")).toBe("beta");
    expect(complete("wsh -Lu kill ")).toBe("beta");
    expect(complete("wsh window sw")).toBe("swap");
  });

  test.skipIf(isMissing("zsh"))("zsh completes the sessions of the instance that is named", async () => {
    await using own = new Wsh();
    await own.ok("-L", "u", "new", "beta");
    const path = `${await binOf(own)}:${own.env.PATH}`;
    writeFileSync(join(own.env.HOME ?? "", ".zshrc"), "PS1='$ '\n");
    await own.session("alpha", "--shell", "zsh", "--env", `PATH=${path}`);
    await own.shows("alpha", /^\$/m);
    await own.enter("alpha", 'eval "$(wsh completions zsh)"; clear; echo loa""ded');
    await own.shows("alpha", /^loaded$/m);
    for (const [typed, shown] of [
      ["wsh attach ", "wsh attach alpha"],
      ["wsh -L u attach ", "wsh -L u attach beta"],
      ["wsh attach --server-name u b", "wsh attach --server-name u beta"],
      ["wsh -Lu kill ", "wsh -Lu kill beta"],
    ] as const) {
      await own.call("alpha", "input.send", { data: typed, keys: ["Tab"] });
      await own.shows("alpha", shown);
      // Not Ctrl+C: an interrupt also discards input behind it, if the shell reads it late.
      await own.call("alpha", "input.send", { keys: ["Ctrl+U"] });
    }
  });

  test("bash completes subcommands, options and the names of sessions", async () => {
    await using own = new Wsh();
    await own.session("alpha");
    const bin = await binOf(own);
    writeFileSync(join(own.dir, "completions"), await own.ok("completions", "bash"));
    const complete = (...words: string[]): string => {
      const list = words.map((word) => `'${word}'`).join(" ");
      const script = `. ./completions; COMP_WORDS=(wsh ${list}); COMP_CWORD=${words.length}; _wsh; echo "\${COMPREPLY[*]}"`;
      const path = `${bin}:${own.env.PATH}`;
      return Bun.spawnSync(["bash", "-c", script], { cwd: own.dir, env: { ...own.env, PATH: path } })
        .stdout.toString()
        .trim();
    };
    expect(complete("att")).toBe("attach");
    expect(complete("attach", "")).toBe("alpha");
    expect(complete("-L", "t", "kill", "al")).toBe("alpha");
    expect(complete("-L", "other", "kill", "al")).toBe("");
    expect(complete("-Lother", "kill", "al")).toBe("");
    expect(complete("-L", "")).toBe("");
    expect(complete("mcp", "--session", "al")).toBe("alpha");
    expect(complete("server", "--hostname", "al")).toBe("");
    expect(complete("attach", "--re")).toBe("--read-only");
    expect(complete("screen", "alpha", "--format", "")).toBe("plain styled ansi");
    expect(complete("persist", "o")).toBe("on off");
    expect(complete("window", "s")).toBe("select swap synchronize");
    expect(complete("window", "swap", "al")).toBe("alpha");
    expect(complete("window", "move", "--in")).toBe("--index");
  });

  test("a reader that closes the pipe ends the command quietly", async () => {
    await wsh.session("piped", "--size", "1000x500");
    const script = `"$@" screen piped --json | head -c 10 >/dev/null; echo "\${PIPESTATUS[0]}"`;
    const { program } = await import("../support/wsh-program.ts");
    const run = Bun.spawnSync(["bash", "-c", script, "bash", ...program], { env: wsh.env, stderr: "pipe" });
    expect(run.stderr.toString()).toBe("");
    expect(["0", "141"]).toContain(run.stdout.toString().trim());
    await wsh.ok("kill", "piped");
  });

  test("output is complete when the reader is slow", async () => {
    await wsh.session("long", "--size", "1000x500");
    const child = wsh.spawn(["screen", "long", "--json"]);
    const text = await new Response(child.stdout).text();
    expect(JSON.parse(text).rows).toBe(500);
    await wsh.ok("kill", "long");
  });
});

describe("words after --", () => {
  test("one word is shell text, several are quoted individually", () => {
    expect(shellText(["make && echo done"])).toBe("make && echo done");
    expect(shellText(["echo", "a b", "it's", "$x", ""])).toBe("echo 'a b' 'it'\\''s' '$x' ''");
    expect(shellText(["ls", "-la", "/tmp/x.y"])).toBe("ls -la /tmp/x.y");
  });

  test("options before -- are recognised", () => {
    expect(splitAtDashes(["dev", "make"], ["exec", "dev", "--", "make"])).toEqual({ before: ["dev"], after: ["make"] });
    expect(splitAtDashes(["make"], ["exec", "--", "make"])).toEqual({ before: [], after: ["make"] });
    expect(splitAtDashes(["dev", "make"], ["exec", "dev", "make"])).toEqual({ before: ["dev", "make"], after: null });
    expect(splitAtDashes(["a", "--", "b"], ["exec", "a", "--", "--", "b"])).toEqual({
      before: ["a"],
      after: ["--", "b"],
    });
  });
});
