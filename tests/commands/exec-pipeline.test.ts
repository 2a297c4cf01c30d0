/** exec without a session in which each step reads the output of the one before. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { Http } from "../support/http.ts";
import { givenTime } from "../support/timing-retries.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

/** Bytes that pass through a pipe. */
const MUCH = process.env.WSH_TEST_FULL === "1" ? "30000000" : "2000000";

interface Step {
  readonly name?: string;
  readonly state: string;
  readonly exit_code: number | null;
  readonly output: string;
  readonly session: string;
  readonly warnings?: readonly string[];
}

async function served() {
  const wsh = new Wsh();
  await wsh.server();
  const http = new Http({ unix: wsh.instance.httpSocket });
  const pipeline = async (commands: readonly string[], more: object = {}): Promise<Step[]> => {
    const steps = commands.map((command) => ({ command }));
    const { status, body } = await http.post("/exec", { mode: "pipeline", steps, cwd: wsh.dir, ...more });
    if (status !== 200) throw new Error(JSON.stringify(body));
    return (body as { steps: Step[] }).steps;
  };
  /** Files that steps pass to each other. */
  const left = (): string[] => {
    const directory = join(wsh.instance.stateDir, "stdin");
    return fs.existsSync(directory) ? fs.readdirSync(directory) : [];
  };
  return { wsh, http, pipeline, left, [Symbol.asyncDispose]: () => wsh[Symbol.asyncDispose]() };
}

describe("a pipeline", () => {
  test("gives each step the output of the one before, each with its own output and exit code", async () => {
    await using all = await served();
    const { pipeline, left } = all;
    const steps = await pipeline(["printf '3\\n1\\n2\\n'; echo heard >&2", "sort -n", "tail -1; exit 0"]);
    expect(steps.map(({ state, exit_code }) => [state, exit_code])).toEqual([
      ["finished", 0],
      ["finished", 0],
      ["finished", 0],
    ]);
    // Standard error is the step's own, and not input of the next.
    expect(steps[0]?.output.split("\n").sort()).toEqual(["1", "2", "3", "heard"]);
    expect(steps.slice(1).map(({ output }) => output)).toEqual(["1\n2\n3", "3"]);
    expect(left()).toEqual([]);
  });

  test("begins with stdin if given", async () => {
    await using all = await served();
    const steps = await all.pipeline(["tr a-z A-Z", "cat"], { stdin: "from the caller\n" });
    expect(steps.map(({ output }) => output)).toEqual(["FROM THE CALLER", "FROM THE CALLER"]);
  });

  test("passes every byte on unchanged, with no terminal in between", async () => {
    await using all = await served();
    const { wsh, pipeline } = all;
    const bytes = Buffer.from(Array.from({ length: 256 * 40 }, (_, n) => n % 256));
    fs.writeFileSync(join(wsh.dir, "bytes"), bytes);
    const sum = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    const steps = await pipeline([
      "cat bytes",
      "[ -t 0 ] || [ -t 1 ] || cat",
      "sha256sum; [ -t 1 ] && echo a terminal",
    ]);
    expect(steps[2]?.output).toBe(`${sum}  -\na terminal`);
  });

  test("passes large output on without keeping it in memory", async () => {
    await using all = await served();
    const { pipeline, left } = all;
    const steps = await pipeline([`yes a line of a log | head -c ${MUCH}`, "wc -c"], {
      max_wait_ms: 120_000,
      output_limit: 200,
    });
    expect(steps).toMatchObject([{ exit_code: 0 }, { exit_code: 0, output: MUCH }]);
    expect(left()).toEqual([]);
  });

  test("stops at the first failing step; the others are skipped", async () => {
    await using all = await served();
    const { wsh, pipeline, left } = all;
    const steps = await pipeline(["echo first", "cat; exit 3", "touch ran"]);
    expect(steps).toMatchObject([
      { exit_code: 0 },
      { state: "finished", exit_code: 3, output: "first" },
      { state: "skipped", exit_code: null, output: "" },
    ]);
    expect(fs.existsSync(join(wsh.dir, "ran"))).toBe(false);
    expect(left()).toEqual([]);
  });

  test("continues with the output so far, if stop_on_error is false", async () => {
    await using all = await served();
    const steps = await all.pipeline(["echo before; exit 3", "cat"], { stop_on_error: false });
    expect(steps).toMatchObject([{ exit_code: 3 }, { exit_code: 0, output: "before" }]);
  });

  test("a step that a signal ends has 128 plus the signal, as in a shell", async () => {
    await using all = await served();
    const steps = await all.pipeline(["kill -TERM $$", "cat"]);
    expect(steps).toMatchObject([{ state: "finished", exit_code: 143 }, { state: "skipped" }]);
  });

  test("a step that runs at the end of the wait keeps running, and nothing after it begins", async () => {
    await using all = await served();
    const { wsh, pipeline, left } = all;
    const steps = await givenTime("the output", async (max_wait_ms) => {
      const steps = await pipeline(["echo early; sleep 60", "touch ran"], { max_wait_ms });
      expect(steps).toMatchObject([{ state: "running" }, { state: "skipped" }]);
      if (steps[0]?.output === "early") return steps;
      await wsh.ok("kill", steps[0]?.session ?? "");
      return null;
    });
    // The shell prints before it starts the next program.
    await until("it to run", () => wsh.processes().some(({ command }) => command === "sleep 60"));
    expect(left()).toEqual([]);
    await wsh.ok("kill", steps[0]?.session ?? "");
    await until("nothing of it to run", () => wsh.processes().every(({ command }) => !/sleep 60|tee/.test(command)));
  });

  test("a step is interrupted like a command, and keeps its output so far", async () => {
    await using all = await served();
    const script = "trap 'echo last words; exit 7' INT; echo begun; while :; do sleep 0.1; done";
    await givenTime("the trap", async (max_wait_ms) => {
      const steps = await all.pipeline([script, "cat"], { max_wait_ms, on_timeout: "interrupt" });
      expect(steps).toMatchObject([{ state: "interrupted" }, { state: "skipped" }]);
      return steps[0]?.output.includes("begun") === true ? steps : null;
    });
  });

  test("of one step is that command", async () => {
    await using all = await served();
    const { http, wsh } = all;
    expect(await http.post("/exec", { mode: "pipeline", command: "echo alone" })).toMatchObject({
      status: 200,
      body: { exit_code: 0, output: "alone" },
    });
    expect(wsh.processes().filter(({ command }) => command.includes("tee"))).toEqual([]);
  });

  test("is not displayed in panes: its steps follow each other", async () => {
    await using all = await served();
    const steps = [{ command: "true" }, { command: "true" }];
    for (const [more, said] of [
      [{ mode: "pipeline", show: true }, "pipeline"],
      [{ mode: "sequence", show: true }, "sequence"],
      [{ mode: "parallel", keep: "all" }, "keep"],
      [{ mode: "parallel", beside: "dev" }, "beside"],
    ] as const) {
      expect(await all.http.post("/exec", { steps, ...more })).toMatchObject({
        status: 400,
        body: { error: { code: "invalid_request", message: expect.stringContaining(said) } },
      });
    }
  });
});
