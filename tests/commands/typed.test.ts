/**
 * exec at the prompt of a shell without integration: nested, behind ssh, or of another kind. Its result is the
 * line's own report: exact output and exit code, never verified; and where no shell reads, nothing is run or reported.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { OperationOutput } from "../../src/operations/table.ts";
import { Gate } from "../support/held-command.ts";
import { failure, Http } from "../support/http.ts";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { isMissing } from "../support/programs.ts";
import { SessionApi } from "../support/session-api.ts";
import { shared } from "../support/shared.ts";
import { Sshd } from "../support/sshd.ts";
import { givenTime } from "../support/timing-retries.ts";
import { until } from "../support/until.ts";

setDefaultTimeout(60_000);

const wsh = shared(new McpInstance());
const http = new Http({ unix: wsh.instance.httpSocket });

type Answer = OperationOutput<"exec">;
let sessions = 0;

/** A nested shell at its prompt. */
class Nested implements AsyncDisposable {
  constructor(
    readonly api: SessionApi,
    readonly kind: "sh" | "fish",
  ) {}

  static async start(command: string, kind: "sh" | "fish" = "sh", fields: object = {}): Promise<Nested> {
    const api = await SessionApi.shell(http, `typed-${++sessions}`, { cols: 80, ...fields });
    await api.type(`${command}\r`);
    await until(`the prompt of ${command}`, async () => {
      const { state, foreground } = await api.status();
      return state === "prompt" && !["bash", "zsh"].includes(foreground?.name ?? "")
        ? true
        : (await isNested(api)) || null;
    });
    return new Nested(api, kind);
  }

  exec(command: string, fields: object = {}): Promise<Answer> {
    return this.api.exec(command, { typed: this.kind, ...fields });
  }

  async refused(command: string, code: string, fields: object = {}): Promise<void> {
    const { body } = await http.post(`/sessions/${this.api.name}/exec`, { command, typed: this.kind, ...fields });
    expect(body).toMatchObject({ error: { code } });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return http.kill(this.api.name);
  }
}

/** The foreground is another group than the session's shell, and reads at a prompt. */
async function isNested(api: SessionApi): Promise<boolean> {
  const { state, foreground, last_command } = await api.status();
  return state === "prompt" && foreground !== null && last_command?.state === "running";
}

const shells: readonly [string, "sh" | "fish", string][] = [
  ["dash", "sh", "dash"],
  ["bash --norc", "sh", "bash"],
  ["zsh -f", "sh", "zsh"],
  ["fish --no-config", "fish", "fish"],
];

for (const [command, kind, program] of shells) {
  describe.skipIf(isMissing(program))(command, () => {
    let nested: Nested;
    beforeAll(async () => {
      nested = await Nested.start(command, kind);
    });
    afterAll(async () => {
      await nested?.[Symbol.asyncDispose]();
    });

    test("returns output and exit code, as the line reports them", async () => {
      const result = await nested.exec("echo out; false");
      expect(result).toMatchObject({ state: "finished", exit_code: 1, output: "out", typed: true, verified: false });
      expect(result.duration_ms).toBeGreaterThanOrEqual(0);
      expect(await nested.exec("printf 'no end'")).toMatchObject({ output: "no end", exit_code: 0 });
      expect(await nested.exec("true")).toMatchObject({ output: "", exit_code: 0 });
    });

    test("keeps quotes, several lines, other scripts and characters that a history would expand", async () => {
      expect(await nested.exec(`echo 'it is' "a \\"b\\"" !! $HOME \\\\ ü€😀`)).toMatchObject({
        output: expect.stringMatching(/^it is a "b" !! \/\S+ \\ ü€😀$/),
      });
      const lines = kind === "fish" ? "for x in 1 2\n  echo $x\nend" : "for x in 1 2; do\n  echo $x\ndone";
      expect(await nested.exec(lines)).toMatchObject({ output: "1\n2", exit_code: 0 });
      if (kind === "sh") expect(await nested.exec("cat <<E\na'b\nE")).toMatchObject({ output: "a'b" });
    });

    test("keeps state from one command to the next", async () => {
      await nested.exec("cd /tmp");
      expect(await nested.exec("pwd")).toMatchObject({ output: "/tmp" });
    });

    test("accepts a line longer than the terminal is wide", async () => {
      const long = "word ".repeat(120).trim();
      const result = await nested.exec(`echo ${long}`);
      expect(result.output?.replaceAll("\n", " ")).toBe(long);
    });

    test("reports a syntax error like the shell", async () => {
      const result = await nested.exec(kind === "fish" ? "for x in" : "if");
      expect(result).toMatchObject({ state: "finished", typed: true });
      expect(result.exit_code).not.toBe(0);
      expect(result.output).not.toBe("");
      expect(await nested.exec("echo on")).toMatchObject({ output: "on" });
    });

    test("is left running, or interrupted, on a timeout", async () => {
      const cut = await nested.exec("sleep 60", { max_wait_ms: 1_500, on_timeout: "interrupt" });
      expect(cut).toMatchObject({ state: "interrupted", typed: true });
      // Most shells discard the rest of the line with the command, including the mark.
      expect([null, 130]).toContain(cut.exit_code ?? null);
      await nested.api.until("prompt");
      const gate = new Gate(wsh.dir);
      const left = await nested.exec(`sh -c "${gate.wait}"; echo late`, { max_wait_ms: 1_000 });
      expect(left).toMatchObject({ state: "running", exit_code: null });
      await nested.refused("echo no", "not_at_prompt", { max_wait_ms: 0 });
      gate.open();
      await nested.api.until("prompt");
      expect(await nested.exec("echo next")).toMatchObject({ output: "next" });
    });
  });
}

describe("in a nested shell", () => {
  /** One whose prompt every case that uses it leaves as it was. */
  let shared: Nested;
  beforeAll(async () => {
    shared = await Nested.start("dash");
  });
  afterAll(async () => {
    await shared[Symbol.asyncDispose]();
  });

  test("colour, carriage returns and megabytes are rendered, and cut as everywhere", async () => {
    const painted = await shared.exec("printf 'a\\033[31mred\\033[0m\\r\\nabc\\rX\\n'");
    expect(painted).toMatchObject({ output: "ared\nXbc" });
    const bytes = process.env.WSH_TEST_FULL === "1" ? 3_000_000 : 600_000;
    const flood = await shared.exec(`yes 0123456789012345678901234567890123456789 | head -c ${bytes}; echo; echo last`);
    expect(flood).toMatchObject({ state: "finished", exit_code: 0 });
    expect(flood.output).toMatch(/^0123[\s\S]*last$/);
    expect(flood.omitted_lines).toBeGreaterThan(bytes / 60);
  });

  test("set -x shows the command and no lines of wsh", async () => {
    await shared.exec("set -x");
    const { output = "" } = await shared.exec("echo hi");
    await shared.exec("set +x");
    expect(output).toContain("hi");
    expect(output).not.toContain("printf");
    expect(output).not.toContain("633");
  });

  test("the text can read the earlier exit status", async () => {
    await shared.exec("(exit 7)");
    // Our last mark is between two lines, and succeeded.
    expect(await shared.exec("echo $?; (exit 4)")).toMatchObject({ exit_code: 4 });
  });

  test("that the command ends, the result is lost, and none is made up", async () => {
    for (const how of ["exit 3", "kill -9 $$", "exec true"]) {
      await using nested = await Nested.start("dash");
      const result = await nested.exec(how);
      expect(result).toMatchObject({ exit_code: null, typed: true, verified: false });
      expect(["lost", "replaced"]).toContain(result.state ?? "");
      await nested.api.until("prompt");
      expect(await nested.api.exec("echo outer")).toMatchObject({ output: "outer", exit_code: 0 });
    }
  });

  test("that becomes another shell, it is reported", async () => {
    await using nested = await Nested.start("dash");
    const result = await nested.exec("exec bash --norc");
    expect(result).toMatchObject({ state: "replaced", exit_code: null, output: "" });
    expect(result.warnings?.join()).toContain("integrate (bash)");
    await nested.api.until("prompt");
    expect(await nested.exec("echo $0")).toMatchObject({ output: "bash" });
  });

  test("that does not echo, nothing is run", async () => {
    await using nested = await Nested.start("dash");
    await nested.api.type("stty -echo\r");
    await nested.api.until("password");
    await nested.refused("touch /tmp/never", "not_at_prompt");
  });

  test("a person's half-typed input is left alone, or discarded on request", async () => {
    await shared.api.type("echo half");
    await shared.refused("echo mine", "prompt_not_empty");
    expect(await shared.exec("echo mine", { clear_line: true })).toMatchObject({ output: "mine" });
  });

  test("a second prompt is not a prompt", async () => {
    await using nested = await Nested.start("dash");
    await nested.api.type("echo 'open\r");
    await nested.api.until({ type: "regex", pattern: "^> $" }, { since: 0 });
    await nested.refused("echo mine", "not_at_prompt", { max_wait_ms: 0 });
  });

  test("history expansion and histories contain nothing of it", async () => {
    if (isMissing("bash")) return;
    await using nested = await Nested.start("HISTFILE=/dev/null HISTCONTROL=ignorespace bash --norc");
    await nested.exec("echo one!! 'two!$'");
    expect((await nested.exec("history")).output).not.toContain("633");
  });

  test("background and until have no id to wait for", async () => {
    await shared.refused("true", "invalid_request", { background: true });
  });

  test("several steps stop at the first that fails", async () => {
    const steps = [{ command: "echo 1" }, { command: "exit_code() { return 5; }; exit_code" }, { command: "echo 3" }];
    const answer = await shared.api.post<Answer>("exec", { steps, typed: "sh" });
    expect(answer.steps).toMatchObject([
      { state: "finished", output: "1", typed: true },
      { state: "finished", exit_code: 5 },
      { state: "skipped" },
    ]);
  });
});

describe.skipIf(isMissing("sshd", "ssh", "ssh-keygen"))("behind ssh", () => {
  let remote: Sshd;
  beforeAll(async () => {
    remote = await Sshd.start();
  });
  afterAll(async () => {
    await remote?.[Symbol.asyncDispose]();
  });

  test("a remote shell is typed into at its prompt, but not while it asks or works", async () => {
    await http.create({ name: "far", command: remote.command("bash --norc -i"), cols: 100 });
    const api = new SessionApi(http, "far");
    await api.until({ type: "regex", pattern: "[$#] $" }, { since: 0, max_wait_ms: 20_000 });
    const far = new Nested(api, "sh");
    await SessionApi.shell(http, "near");
    await http.type("near", `${remote.command("PS1='far$ ' sh -i")}\r`);
    const near = new SessionApi(http, "near");
    await near.until({ type: "regex", pattern: "^far\\$" }, { since: 0, max_wait_ms: 20_000 });
    const { body } = await http.post("/sessions/near/exec", { command: "true", max_wait_ms: 0 });
    expect(body).toMatchObject(failure("not_at_prompt", /./, { hint: expect.stringContaining("typed") }));
    expect(await near.exec("id -u", { typed: "sh" })).toMatchObject({ exit_code: 0, typed: true });
    await http.kill("near");
    expect(await far.exec("echo remote; (exit 5)")).toMatchObject({ output: "remote", exit_code: 5, typed: true });
    await givenTime("the output", async (max_wait_ms) => {
      const cut = await far.exec("echo begun; sleep 60", { max_wait_ms, on_timeout: "interrupt" });
      expect(cut).toMatchObject({ state: "interrupted", exit_code: null });
      return cut.output?.startsWith("begun") ? cut : null;
    });
    expect(await far.exec("echo again")).toMatchObject({ output: "again" });
    const left = await far.exec("sleep 60", { max_wait_ms: 1_000 });
    expect(left.state).toBe("running");
    await far.refused("echo no", "not_at_prompt", { max_wait_ms: 0 });
    await api.press("Ctrl+C");
    await api.until({ type: "idle", ms: 500 });
    // The line's rest is lost with it: earlier input is discarded explicitly.
    expect(await far.exec("echo free", { clear_line: true })).toMatchObject({ output: "free" });
    await far.exec("stty -echo");
    await far.refused("touch never", "not_echoed", { max_wait_ms: 2_000 });
    await api.type("stty echo; python3 -q\r");
    if (!isMissing("python3")) {
      await api.until({ type: "regex", pattern: "^>>>" }, { since: 0, max_wait_ms: 20_000 });
      await far.refused("echo no", "not_at_prompt", { max_wait_ms: 0 });
    }
    await http.kill("far");
  });
});

describe("where no shell reads", () => {
  test.skipIf(isMissing("python3"))("a REPL is refused and gets no key", async () => {
    const api = await SessionApi.shell(http, "repl");
    await api.type("python3\r");
    await api.until({ type: "regex", pattern: "^>>> $" }, { since: 0 });
    const { body } = await http.post("/sessions/repl/exec", { command: "echo hi", typed: "sh", max_wait_ms: 0 });
    expect(body).toMatchObject(failure("not_at_prompt"));
    const { lines } = await http.screen("repl");
    expect(lines.join("\n")).not.toContain("printf");
    await http.kill("repl");
  });

  test("a program that works, or reads a line, is refused", async () => {
    const api = await SessionApi.shell(http, "busy");
    for (const program of ["sleep 60", "cat"]) {
      await api.type(`${program}\r`);
      await until("the program", async () => (await api.status()).foreground?.name === program.split(" ")[0] || null);
      const { body } = await http.post("/sessions/busy/exec", { command: "echo hi", typed: "sh", max_wait_ms: 0 });
      expect(body).toMatchObject(failure("not_at_prompt"));
      await api.press("Ctrl+C");
      await api.until("prompt");
    }
    await http.kill("busy");
  });
});

test("at the session's own prompt the exact method is used", async () => {
  const api = await SessionApi.shell(http, "own");
  const result = await api.exec("echo exact; false", { typed: "sh" });
  expect(result).toMatchObject({ output: "exact", exit_code: 1, command_id: expect.any(Number) });
  expect(result).not.toHaveProperty("typed");
  await http.kill("own");
});

test("a session whose program is a shell without integration is typed into", async () => {
  await http.create({ name: "plain", shell: "sh" });
  const api = new SessionApi(http, "plain");
  await api.until("prompt");
  expect(await api.exec("echo $0; (exit 9)", { typed: "sh" })).toMatchObject({ exit_code: 9, typed: true });
  const gone = await api.exec("exit 4", { typed: "sh" });
  expect(gone).toMatchObject({ state: "lost", exit_code: null });
});

test("a model and the command line type, too", async () => {
  await using nested = await Nested.start("dash");
  const client = await wsh.client();
  const { value } = await call(client, "wsh_exec", { session: nested.api.name, command: "echo $((6*7))", typed: "sh" });
  expect(value).toMatchObject({ state: "finished", output: "42", typed: true });
  const cli = await wsh.run(
    "exec",
    nested.api.name,
    "--typed",
    "sh",
    "--",
    "echo from here; exit_with() { return 6; }; exit_with",
  );
  expect(cli).toMatchObject({ code: 6, stdout: "from here\n" });
});
