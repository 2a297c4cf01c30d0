/**
 * All output of a command of exec or run is available: the part that memory does not keep is in an unlinked file,
 * and a search reports first what it could not read.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import type { AskResult } from "../../src/protocol/ask-result.ts";
import type { ExecResult, OutputResult } from "../../src/protocol/commands.ts";
import { firstCommandId } from "../../src/protocol/pane-numbers.ts";
import { failure, Http } from "../support/http.ts";
import { SessionApi } from "../support/session-api.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const full = process.env.WSH_TEST_FULL === "1";

setDefaultTimeout(60_000);

/**
 * Memory for the output of commands, in bytes, and lines of history: smaller than the product's, so that less output is
 * longer than both. A newer command's output replaces the older one's then.
 */
const MEMORY = full ? 8 * 1024 * 1024 : 64 * 1024;
const HISTORY = full ? 10_000 : 1_000;
const SMALL = `max_command_bytes = ${MEMORY}\nscrollback_lines = ${HISTORY}\n`;
/** Lines of LONG: past the history and what a record keeps (512 KB at most), with the needle in neither half. */
const LINES = full ? 20_000 : 4_000;
/** The line that is the needle, far from both ends. */
const NEEDLE = LINES * 0.45;
const LONG = `awk 'BEGIN { for (n = 1; n <= ${LINES}; n++) print (n == ${NEEDLE} ? "the needle é" : "line " n " of many that say little") }'`;
/** As a search shows it: alone, and with the lines around it. */
const FOUND = `${NEEDLE}:the needle é`;
const AROUND = [
  `${NEEDLE - 1}-line ${NEEDLE - 1} of many that say little`,
  FOUND,
  `${NEEDLE + 1}-line ${NEEDLE + 1} of many that say little`,
].join("\n");

/** An instance with a server. */
class Instance implements AsyncDisposable {
  private constructor(
    readonly wsh: Wsh,
    readonly http: Http,
  ) {}

  static async start(config = "", sizes = SMALL): Promise<Instance> {
    const wsh = new Wsh({ config: `${sizes}${config}` });
    await wsh.server();
    return new Instance(wsh, new Http({ unix: wsh.instance.httpSocket }));
  }

  shell(name: string): Promise<SessionApi> {
    return SessionApi.shell(this.http, name);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.wsh[Symbol.asyncDispose]();
  }
}

/** A command's output. */
function outputOf(api: SessionApi, id: number | null | undefined, query = ""): Promise<OutputResult> {
  return api.get(`commands/${id}/output?${query}`);
}

async function firstCommand(api: SessionApi): Promise<number> {
  return firstCommandId((await api.http.session(api.name)).pane_id);
}

/** The session process: its shell's parent. */
async function processOf(api: SessionApi): Promise<number> {
  const { pid } = await api.http.session(api.name);
  const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

/** Unlinked files that a process has open below a directory. */
function unnamedFiles(pid: number, dir: string): string[] {
  return fs
    .readdirSync(`/proc/${pid}/fd`)
    .map((descriptor) => `/proc/${pid}/fd/${descriptor}`)
    .filter((path) => {
      let target: string;
      try {
        target = fs.readlinkSync(path);
      } catch {
        return false; // closed meanwhile
      }
      return target.startsWith(dir) && target.endsWith("(deleted)");
    });
}

const spoolsOf = ({ wsh }: Instance, pid: number): string[] => unnamedFiles(pid, wsh.instance.stateDir);

let instance: Instance;
/** A shell in which LONG is the only command, and its result. */
let once: SessionApi;
let long: ExecResult;
/** A shell for the commands of all cases: each reads its newest one only. */
let api: SessionApi;
beforeAll(async () => {
  instance = await Instance.start("grace_seconds = 60\nexec_grace_seconds = 600\nspool_command_bytes = 700000\n");
  [once, api] = await Promise.all([instance.shell("once"), instance.shell("shared")]);
  long = await once.exec(LONG);
});
afterAll(async () => {
  await instance[Symbol.asyncDispose]();
});

describe("the output of a requested command", () => {
  test("is searched completely, with numbers and the lines around", async () => {
    const { command_id: id, omitted_lines } = long;
    expect(omitted_lines).toBeGreaterThan(LINES - 2_000);
    const found = await outputOf(once, id, "grep=needle&context=1");
    expect(found).toMatchObject({
      matches: 1,
      text: AROUND,
      omitted_lines: 0,
      omitted_bytes: 0,
      total_lines: LINES,
    });
    expect(found).not.toHaveProperty("incomplete");
    expect((await outputOf(once, id, "grep=needle&line_numbers=false")).text).toBe("the needle é");
    expect((await outputOf(once, id, "grep=nowhere")).text).toBe("");
    const pattern = encodeURIComponent(`^line (1|250\\d|${LINES}) `);
    const some = await outputOf(once, id, `grep=${pattern}&head=2&tail=1`);
    expect(some.matches).toBe(12);
    expect(some.text?.split("\n").map((line) => line.split(":")[0])).toEqual(["1", "2500", `${LINES}`]);
  });

  test("is read by ranges of lines, from its start and from its end", async () => {
    const last = full ? 150_000 : 50_000;
    const { command_id: id } = await api.exec(`seq 1 ${last}`);
    const texts = async (query: string): Promise<string | undefined> => (await outputOf(api, id, query)).text;
    expect(await texts("range=9999-10001")).toBe("9999\n10000\n10001");
    expect(await texts(`range=${last - 1}-`)).toBe(`${last - 1}\n${last}`);
    expect(await texts("range=30000")).toBe("30000");
    expect(await texts("head=2")).toBe("1\n2");
    expect(await texts("tail=2")).toBe(`${last - 1}\n${last}`);
    expect(await texts("head=1&tail=1")).toBe(`1\n[${last - 2} lines omitted]\n${last}`);
    expect(await texts("range=10000-40000&tail=1")).toBe("40000");
    expect(await texts("range=5-6&line_numbers=true")).toBe("5:5\n6:6");
    // All lines of a part are present, in order, at every border of blocks, and of the parts in memory.
    const [from, to] = [2_000, last - 2_000];
    const part = (await texts(`range=${from}-${to}&max_bytes=1048576`)) ?? "";
    expect(part.split("\n")).toEqual(Array.from({ length: to - from + 1 }, (_, n) => String(from + n)));
    // Past the limit, both ends are kept and counted.
    const cut = await outputOf(api, id, `range=${from}-${to}&max_bytes=1000`);
    const shown = cut.text?.split("\n") ?? [];
    expect([shown[0], shown.at(-1)]).toEqual([`${from}`, `${to}`]);
    expect(cut.omitted_lines).toBe(to - from + 1 - (shown.length - 1));
  });

  test("has colours, tabs and wide characters like the screen", async () => {
    const line = "printf '\\033[31mred %d\\033[0m\\tend\\r\\n日本 é %d  \\n' $n $n";
    const times = full ? 12_000 : 3_000;
    const { command_id: id } = await api.exec(`n=0; while ((n < ${times})); do ${line}; ((n++)); done`);
    expect((await outputOf(api, id, `range=${times + 1}-${times + 2}`)).text).toBe(
      `red ${times / 2}        end\n日本 é ${times / 2}`,
    );
    const before = `日本 é ${times / 2 - 1}`;
    expect((await outputOf(api, id, `grep=${encodeURIComponent(`${before}$`)}`)).text).toBe(`${times}:${before}`);
  });

  test("is read while the command runs, also for wsh_run_command's commands", async () => {
    const { command_id: id } = await api.exec(`${LONG}; echo ready; read -r`, {
      max_wait_ms: 10_000,
      background: true,
    });
    await api.until({ type: "text", text: "ready" }, { since: 0 });
    expect((await outputOf(api, id, "grep=needle")).text).toBe(FOUND);
    expect((await outputOf(api, id, `range=${LINES}-`)).text).toContain("ready");
    await api.type("\r");
    await api.until("command_finished", { command_id: id });
    expect((await outputOf(api, id, "grep=needle")).text).toBe(FOUND);
    const ran = await api.run(LONG, { submit: true });
    expect((await outputOf(api, ran.command_id, "grep=needle")).text).toBe(FOUND);
  });

  test("is kept when the program is restarted", async () => {
    await once.post("restart", {});
    expect((await outputOf(once, long.command_id, "grep=needle")).text).toBe(FOUND);
  });

  test("has no name on disk, and is not open in any program", async () => {
    const api = await instance.shell("unnamed");
    const first = await firstCommand(api);
    const { command_id: id } = await api.exec(LONG);
    const pid = await processOf(api);
    const files = spoolsOf(instance, pid);
    expect(files).toHaveLength(1);
    expect(fs.readFileSync(files[0] ?? "", "utf8")).toContain(`line ${NEEDLE + 1} of many`);
    const { output } = await api.exec("ls -l /proc/self/fd /proc/$$/fd");
    expect(output).not.toContain("deleted");
    const { stateDir } = instance.wsh.instance;
    const before = fs.readdirSync(stateDir);
    process.kill(pid, "SIGKILL");
    await until("the session to be gone", async () => {
      const { status, text } = await api.http.get(`/sessions/${api.name}`);
      return status === 404 || JSON.parse(text).state === "crashed";
    });
    expect(fs.readdirSync(stateDir)).toEqual(before);
    expect(before.filter((name) => name.endsWith(".spool"))).toEqual([]);
    expect(id).toBe(first);
  });

  test("is not kept for input typed by hand: that costs no file, and a search reports what is missing", async () => {
    const api = await instance.shell("typed");
    await api.type(`${LONG}\r`);
    await api.until("command_finished", { command_id: await firstCommand(api) }).catch(() => api.until("prompt"));
    expect(spoolsOf(instance, await processOf(api))).toEqual([]);
    const found = await outputOf(api, await firstCommand(api), "grep=needle");
    expect(found).toMatchObject({ incomplete: true, matches: 0, text: "", total_lines: LINES });
    expect(found.searched).toMatch(/^1–\d+, \d+–(\d+) of \1$/);
    expect(Object.keys(found).slice(0, 2)).toEqual(["incomplete", "searched"]);
    expect(found.reason).toContain("exec or run");
    // The needle's place is known to be missing; the end is complete.
    expect(await outputOf(api, await firstCommand(api), `range=${LINES - 10}-${LINES}`)).not.toHaveProperty(
      "incomplete",
    );
  });

  test("a search of a session's lines reports when older ones are gone, and when not all were requested", async () => {
    const api = await instance.shell("lines");
    await api.exec("seq 1 200");
    const some = await api.output("lines=50&grep=^1$");
    expect(some).toMatchObject({ incomplete: true, text: "", reason: "lines=50" });
    expect(some.searched).toMatch(/^\d+–(\d+) of \1$/);
    const all = await api.output("grep=^1$");
    expect(all).toMatchObject({ text: "1", matches: 1 });
    expect(all).not.toHaveProperty("incomplete");
    await api.exec(LONG);
    const gone = await api.output("grep=needle");
    expect(gone).toMatchObject({ incomplete: true, text: "", matches: 0 });
    expect(gone.omitted_lines).toBeGreaterThan(LINES / 3);
    const history = await instance.http.scrollback("lines", "grep=needle");
    expect(history).toMatchObject({ incomplete: true, lines: [] });
    expect(history.searched).toMatch(/^\d+–(\d+) of \1$/);
    expect((await instance.http.scrollback("lines", "limit=1")).dropped_lines).toBeGreaterThan(LINES / 3);
    const newest = await api.output("lines=100000&max_bytes=2000");
    expect(newest).toMatchObject({ incomplete: true });
    expect((newest.omitted_lines ?? 0) + (newest.text ?? "").split("\n").length - 1).toBeGreaterThan(LINES);
  });

  test("a wait that did not search all lines says so, also beside other sessions and questions", async () => {
    const api = await instance.shell("waited");
    const { output_cursor: since } = await api.status();
    await api.type(`${LONG}\r`);
    await api.until("command_finished", { command_id: await firstCommand(api) }).catch(() => api.until("prompt"));
    const wait = { any_of: [{ type: "text", text: "needle é" }], max_wait_ms: 0 };
    const warning = expect.stringContaining("were not searched");
    expect(await api.wait([{ type: "text", text: "needle é" }], { since, max_wait_ms: 0 })).toMatchObject({
      decided_by: "timeout",
      warnings: [warning],
    });
    const sessions = ["once", "waited"];
    const { body } = await instance.http.post("/wait", { ...wait, sessions, since: { waited: since } });
    expect(body).toMatchObject({ decided_by: "timeout", warnings: [expect.stringMatching(/^waited: .*not searched/)] });
    await using _person = await EmulatorTerminal.attach(instance.wsh, "waited", { seen: "$", rows: 24, cols: 80 });
    const { ask_id } = await api.post<AskResult>("ask", { question: "Which?", choices: ["a", "b"], max_wait_ms: 0 });
    const any_of = [...wait.any_of, { type: "answer", ask_id }];
    const beside = await api.post("wait", { any_of, since, max_wait_ms: 0 });
    expect(beside).toMatchObject({ decided_by: "timeout", warnings: [warning] });
  });

  test("lacks text that later commands printed and overwrote in its lines", async () => {
    const api = await instance.shell("overwritten");
    const { command_id: id } = await api.exec("seq 1 10; printf 'own \\r'; echo done");
    // The next one prints over these lines, once its cursor is there.
    const { command_id: later } = await api.exec("printf '\\033[3;1H'; read; printf 'needle\\r'; echo over-it", {
      background: true,
    });
    await api.until("waiting_for_input");
    await api.type("\r");
    await api.until("command_finished", { command_id: later ?? undefined });
    expect(await outputOf(api, id, "grep=own|needle")).toMatchObject({ text: "11:own", matches: 1 });
  });

  test("cannot be read with an invalid pattern or range", async () => {
    const id = long.command_id;
    for (const query of [
      "grep=(",
      "grep=(%3F<=a)b",
      "range=0",
      "range=5-2",
      "range=x",
      "context=2",
      "head=0",
      "tail=-1",
    ]) {
      const answer = await instance.http.get(`/sessions/${once.name}/commands/${id}/output?${query}`);
      expect(answer).toMatchObject({ status: 400, body: failure("invalid_request") });
    }
    expect(await instance.http.get(`/sessions/${once.name}/output?range=1-2`)).toMatchObject({ status: 400 });
  });
});

describe("the part of the output that exec shows", () => {
  test("is filtered at a prompt and in a separate session, from all of it", async () => {
    const fresh = (fields: object): Promise<ExecResult> =>
      instance.http.expect(200, instance.http.post("/exec", fields));
    for (const exec of [(fields: Record<string, unknown>) => api.post<ExecResult>("exec", fields), fresh]) {
      const result = await exec({ command: LONG, grep: "needle", context: 1 });
      expect(result).toMatchObject({ output: AROUND, matches: 1, omitted_lines: 0, total_lines: LINES });
      // Also after the end of the separate session.
      const its = new SessionApi(instance.http, (result as { session?: string }).session ?? api.name);
      expect((await outputOf(its, result.command_id, "grep=needle")).text).toBe(FOUND);
      expect(await exec({ command: "seq 9", head: 1, tail: 2 })).toMatchObject({
        output: "1\n[6 lines omitted]\n8\n9",
      });
      expect(await exec({ command: "seq 9", output: "none" })).toMatchObject({ output: "", total_lines: 9 });
      expect(await exec({ command: "seq 9", output: "on_failure" })).toMatchObject({ output: "", exit_code: 0 });
      const failed = await exec({ command: "seq 9; false", output: "on_failure", tail: 1 });
      expect(failed).toMatchObject({ output: "9", exit_code: 1, total_lines: 9 });
      const { steps } = await exec({
        steps: [{ command: "echo a; echo b" }, { command: "echo c", grep: "d" }, { command: "seq 3", output: "none" }],
        grep: "^[ab]$",
      });
      expect(steps).toMatchObject([
        { output: "1:a\n2:b", matches: 2 },
        { output: "", matches: 0, total_lines: 1 },
        { output: "", total_lines: 3 },
      ]);
    }
  });

  test("is refused before anything runs when the filter is invalid", async () => {
    const before = (await instance.http.list("?all=1")).length;
    const file = `${instance.wsh.dir}/ran`;
    const wrong = [
      { grep: "(" },
      { context: 1 },
      { grep: "a", steps: [{ command: "true", grep: "[" }], command: undefined },
    ];
    for (const path of ["/exec", `/sessions/${api.name}/exec`, "/sessions/missing/exec"]) {
      for (const fields of wrong) {
        const answer = await instance.http.post(path, {
          command: `touch ${file}`,
          create: path.includes("missing"),
          ...fields,
        });
        expect(answer).toMatchObject({ status: 400, body: failure("invalid_request") });
      }
    }
    expect(fs.existsSync(file)).toBe(false);
    expect(await instance.http.list("?all=1")).toHaveLength(before);
  });

  test("of several at once is only in the steps", async () => {
    const result = await instance.http.expect<ExecResult>(
      200,
      instance.http.post("/exec", { steps: [{ command: "echo 1" }, { command: "echo 2" }], mode: "parallel" }),
    );
    expect(Object.keys(result)).toEqual(["steps"]);
  });

  test("a session with more to read than was shown is kept longer, and reports until when", async () => {
    const minutesUntil = (at: string): number => Math.round((Date.parse(at) - Date.now()) / 60_000);
    const readable = async (fields: object): Promise<number> => {
      const { readable_until } = await instance.http.expect<ExecResult>(200, instance.http.post("/exec", fields));
      return minutesUntil(readable_until ?? "");
    };
    expect(await readable({ command: "echo all of it" })).toBe(1);
    expect(await readable({ command: "seq 1 20000" })).toBe(10);
    const cut = { command: "seq 9", tail: 1 };
    expect(await readable(cut)).toBe(10);
    // Each of several at once, and its own report is true.
    const { steps = [] } = await instance.http.expect<ExecResult>(
      200,
      instance.http.post("/exec", { mode: "parallel", steps: [cut, { command: "seq 9" }] }),
    );
    expect(steps.map(({ readable_until: at = "" }) => minutesUntil(at))).toEqual([10, 1]);
    expect(
      await instance.http.expect<OutputResult>(
        200,
        instance.http.get(`/sessions/${steps[0]?.session}/output?command_id=${steps[0]?.command_id}`),
      ),
    ).toMatchObject({ total_lines: 9 });
  });

  test("is the same on the command line", async () => {
    const { wsh } = instance;
    expect(await wsh.run("exec", "--grep", "needle", "-C", "1", "--", LONG)).toMatchObject({
      code: 0,
      stdout: `${AROUND}\n`,
    });
    expect(await wsh.run("exec", "--tail", "1", api.name, "--", "seq 5; false")).toMatchObject({
      code: 1,
      stdout: "5\n",
    });
    expect(await wsh.run("exec", "--output", "on_failure", "--", "seq 5")).toMatchObject({ code: 0, stdout: "" });
    expect(await wsh.run("exec", "--grep", "(", "--", "echo no")).toMatchObject({ stdout: "" });
    const output = (...flags: string[]): Promise<string> =>
      wsh.ok("output", once.name, "--command", String(long.command_id), ...flags);
    expect(await output("--grep", "needle")).toBe(`${FOUND}\n`);
    expect(await output("--lines", `${LINES - 1}-${LINES}`, "--head", "1")).toContain(`line ${LINES - 1}`);
  });
});

describe("a full spool", () => {
  /** Ends with code 0; the kept part is exact, and the rest is reported as missing. */
  async function partial(api: SessionApi, command: string, lines: number, reason: RegExp): Promise<OutputResult> {
    const { command_id: id, state, exit_code } = await api.exec(command, { max_wait_ms: 300_000 });
    expect({ state, exit_code }).toEqual({ state: "finished", exit_code: 0 });
    const found = await outputOf(api, id, `grep=^x*${lines}$`);
    expect(found).toMatchObject({ incomplete: true, matches: 1, total_lines: lines });
    expect(found.reason).toMatch(reason);
    const [, to] = /–(\d+),/.exec(found.searched ?? "") ?? [];
    expect((await outputOf(api, id, `range=${to}`)).text).toMatch(new RegExp(`^x*${to}$`));
    const after = await outputOf(api, id, `range=${to}-${Number(to) + 2}`);
    expect(after).toMatchObject({ incomplete: true, omitted_lines: 2 });
    return found;
  }

  test("at the limit of a command, for any amount of output", async () => {
    const api = await instance.shell("limit");
    const pid = await processOf(api);
    // 200 MB, or 1 MB: more than the limit and what memory keeps.
    const lines = full ? 2_200_000 : 11_000;
    const flood = `awk 'BEGIN { x = sprintf("%90s", ""); gsub(/ /, "x", x); for (n = 1; n <= ${lines}; n++) print x n }'`;
    await partial(api, flood, lines, /limit of 700000 bytes/);
    const [file = ""] = spoolsOf(instance, pid);
    expect(fs.statSync(file).size).toBeLessThanOrEqual(700_000);
    expect(fs.statSync(file).size).toBeGreaterThan(600_000);
  }, 300_000);

  test("at the limit of a session evicts the oldest output, also its descriptor", async () => {
    // Memory for all: only the limit of the files evicts.
    await using instance = await Instance.start("spool_session_bytes = 250000\n", "");
    const api = await instance.shell("session");
    const pid = await processOf(api);
    const lines = 20_000;
    const ids: (number | null | undefined)[] = [];
    const print = async (times: number): Promise<number> => {
      for (let n = 0; n < times; n++)
        ids.push((await api.exec(`seq -f 'a line that is long enough %.0f' ${lines}`)).command_id);
      return fs.readdirSync(`/proc/${pid}/fd`).length;
    };
    const open = await print(2);
    expect((await outputOf(api, ids.at(-1), "grep=enough 9000$")).text).toBe("9000:a line that is long enough 9000");
    const oldest = await outputOf(api, ids[0], "grep=enough 9000$");
    expect(oldest).toMatchObject({ incomplete: true, text: "" });
    expect(oldest.reason).toContain("newer");
    expect(spoolsOf(instance, pid)).toHaveLength(1);
    expect(await print(2)).toBeLessThanOrEqual(open + 1);
  });

  test("that cannot be written, on a full disk or without a place", async () => {
    await using instance = await Instance.start();
    // Like a full disk: no file of the session process may exceed this.
    const blocks = full ? 1_024 : 128;
    const start = `ulimit -f ${blocks}; exec ${instance.wsh.command("new", "full").join(" ")}`;
    const made = Bun.spawnSync(["bash", "-c", start], { env: instance.wsh.env, cwd: instance.wsh.dir });
    expect(made.exitCode).toBe(0);
    const api = new SessionApi(instance.http, "full");
    await api.until("prompt");
    const lines = full ? 70_000 : 10_000;
    await partial(api, `seq -f 'xxxxxxxxxxxxxxxxxxxx%.0f' 1 ${lines}`, lines, /could not be written \(EFBIG\)/);
    const lost = await instance.shell("lost");
    fs.rmSync(instance.wsh.instance.stateDir, { recursive: true });
    fs.writeFileSync(instance.wsh.instance.stateDir, "in the way");
    const { command_id: next, exit_code } = await lost.exec(LONG);
    expect(exit_code).toBe(0);
    expect((await outputOf(lost, next, "grep=needle")).reason).toContain("could not be written");
  });

  test("that is off", async () => {
    await using instance = await Instance.start("spool_command_bytes = 0\n");
    const api = await instance.shell("off");
    const { command_id: id } = await api.exec(LONG);
    const found = await outputOf(api, id, "grep=needle");
    expect(found).toMatchObject({ incomplete: true, text: "" });
    expect(spoolsOf(instance, await processOf(api))).toEqual([]);
  });

  test("during a password prompt", async () => {
    // In its full size, output is longer than what the others' instance stores.
    await using own = full ? await Instance.start() : null;
    const used = own ?? instance;
    const api = await used.shell("secret");
    // All output before is read while input echoes.
    const secret = "read -r go; stty -echo; read -r a; echo hidden; read -r b; stty echo";
    const lines = full ? 150_000 : 15_000;
    const { command_id: id } = await api.exec(
      `seq 100001 ${100_000 + lines}; ${secret}; seq 200001 ${200_000 + lines}`,
      {
        background: true,
      },
    );
    await api.until("waiting_for_input");
    await api.type("\r");
    await api.until("password");
    await api.type("one\r");
    await api.until({ type: "text", text: "hidden" }, { since: 0 });
    await api.until("password");
    await api.type("two\r");
    await api.until("command_finished", { command_id: id });
    const [file = ""] = spoolsOf(used, await processOf(api));
    const stored = fs.readFileSync(file, "utf8");
    for (const half of [100_000, 200_000]) expect(stored).toMatch(new RegExp(`^${half + lines / 2}\r?$`, "m"));
    expect(stored.includes("hidden")).toBe(false);
    const found = await outputOf(api, id, "grep=hidden");
    expect(found).toMatchObject({ incomplete: true, matches: 0 });
    expect(found.reason).toContain("password");
  });
});
