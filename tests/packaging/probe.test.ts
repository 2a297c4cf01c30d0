/**
 * The probe that hosted Macs run (packaging/probe) runs here too, with small counts: its result on a Mac is worth
 * something only while it passes where everything works.
 */
import { afterAll, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { signAdHoc } from "../../packaging/macho/sign.ts";
import type { StepReport } from "../../packaging/probe/report.ts";
import { smallExecutable } from "../support/macho.ts";

const root = join(import.meta.dir, "../..");
const full = process.env.WSH_TEST_FULL === "1";
const dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-probe-"));
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }));

interface Probed {
  readonly code: number;
  readonly steps: readonly StepReport[];
  readonly stderr: string;
}

async function probe(...args: readonly string[]): Promise<Probed> {
  const out = join(dir, "report.json");
  fs.rmSync(out, { force: true });
  const sizes = full ? [] : ["--small"];
  const run = Bun.spawn([process.execPath, "packaging/probe/probe.ts", ...sizes, "--out", out, ...args], {
    cwd: root,
    stdout: "pipe",
    stderr: "pipe",
  });
  const [code, stderr] = await Promise.all([run.exited, new Response(run.stderr).text()]);
  return { code, stderr, steps: fs.existsSync(out) ? JSON.parse(fs.readFileSync(out, "utf8")).steps : [] };
}

const limitMs = full ? 600_000 : 120_000;

test.each(["binary", "kernel", "terminal", "shells", "attach", "service"])(
  "the step %s finds nothing wrong here",
  async (name) => {
    const { code, steps } = await probe(name);
    const failed = steps.flatMap(({ checks }) => checks.filter(({ state }) => state === "failed"));
    expect({ failed, code, names: steps.map((step) => step.name) }).toEqual({ failed: [], code: 0, names: [name] });
    expect(steps[0]?.state).toBe("ok");
  },
  limitMs,
);

test("an executable that does not start, or has a bad page, fails its step; the next step still runs", async () => {
  const file = join(dir, "program");
  const bytes = signAdHoc(smallExecutable(64), "wsh");
  bytes[5000] = (bytes[5000] ?? 0) ^ 1;
  fs.writeFileSync(file, bytes, { mode: 0o755 });
  const { code, steps, stderr } = await probe("--wsh", file, "1", "2");
  const second = steps[1]?.checks.filter(({ state }) => state === "failed");
  const states = steps.map(({ state }) => state);
  expect({ code, states, second }).toEqual({ code: 1, states: ["failed", "ok"], second: [] });
  expect(steps[0]?.checks[0]).toMatchObject({ state: "failed", facts: { badPages: 1 } });
  expect(stderr).toContain("failed  every page");
});

test("an unknown step or option is a usage error, and nothing runs", async () => {
  for (const args of [["nothing"], ["8"], ["--no-such-option"]]) {
    const { code, steps, stderr } = await probe(...args);
    expect({ code, steps }).toEqual({ code: 2, steps: [] });
    expect(stderr).toContain("usage: probe.ts");
  }
});
