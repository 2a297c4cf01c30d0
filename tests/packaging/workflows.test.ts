/** The workflows do what the documents promise, in valid YAML, with actions pinned to a version. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import * as v from "valibot";

const root = join(import.meta.dir, "../..");
const folder = join(root, ".github/workflows");

const StepSchema = v.strictObject({
  name: v.optional(v.string()),
  uses: v.optional(v.string()),
  with: v.optional(v.record(v.string(), v.union([v.string(), v.boolean()]))),
  if: v.optional(v.string()),
  run: v.optional(v.string()),
  "continue-on-error": v.optional(v.boolean()),
  "timeout-minutes": v.optional(v.number()),
});
const JobSchema = v.strictObject({
  needs: v.optional(v.string()),
  "runs-on": v.string(),
  container: v.optional(v.string()),
  "timeout-minutes": v.number(),
  env: v.optional(v.record(v.string(), v.string())),
  strategy: v.optional(
    v.strictObject({
      "fail-fast": v.boolean(),
      matrix: v.strictObject({ include: v.array(v.record(v.string(), v.string())) }),
    }),
  ),
  steps: v.array(StepSchema),
});
const WorkflowSchema = v.strictObject({
  name: v.string(),
  on: v.record(v.string(), v.unknown()),
  permissions: v.strictObject({ contents: v.literal("read") }),
  concurrency: v.record(v.string(), v.unknown()),
  jobs: v.record(v.string(), JobSchema),
});

function workflow(name: string): v.InferOutput<typeof WorkflowSchema> {
  return v.parse(WorkflowSchema, Bun.YAML.parse(fs.readFileSync(join(folder, name), "utf8")));
}

test("each parses, takes only pinned actions, and names no registry", () => {
  for (const name of fs.readdirSync(folder)) {
    for (const [, job] of Object.entries(workflow(name).jobs)) {
      expect(job.steps.length).toBeGreaterThan(0);
      for (const step of job.steps) {
        expect([step.uses, step.run].filter((what) => what !== undefined)).toHaveLength(1);
        if (step.uses !== undefined) expect(step.uses).toMatch(/^actions\/[\w-]+@v\d+\.\d+\.\d+$/);
      }
    }
    expect(fs.readFileSync(join(folder, name), "utf8")).not.toMatch(/https?:|registry/);
  }
});

test("Linux runs the check that the README names, and nothing else", () => {
  const steps = Object.values(workflow("ci.yml").jobs).flatMap(({ steps }) => steps);
  expect(steps.flatMap(({ run }) => run ?? [])).toEqual([".ci/run"]);
});

test("hosted Macs: three versions on Apple silicon and an Intel one, each step whatever the results of the others", async () => {
  const { build, probe } = workflow("macos.yml").jobs;
  expect(build?.steps.at(-2)?.run).toBe("bun run build.ts --release darwin-arm64 darwin-x64");
  expect(probe?.strategy?.["fail-fast"]).toBe(false);
  expect(probe?.strategy?.matrix.include).toEqual([
    { runner: "macos-14", target: "darwin-arm64" },
    { runner: "macos-15", target: "darwin-arm64" },
    { runner: "macos-26", target: "darwin-arm64" },
    { runner: "macos-15-intel", target: "darwin-x64" },
  ]);
  const probes = (probe?.steps ?? []).filter(({ run }) => run?.includes("probe.ts"));
  // The probe's own list, in its order.
  const { stderr } = Bun.spawnSync([process.execPath, join(root, "packaging/probe/probe.ts"), "no-such-step"]);
  const known = /^steps: (.*)$/m.exec(stderr.toString())?.[1]?.split(", ");
  expect(probes.map(({ name }) => name)).toEqual(known ?? []);
  for (const { name = "", run, if: when } of probes) {
    const [number, step] = name.split(" ");
    expect(when).toBe("always()");
    expect(run).toEndWith(` ${step}`);
    expect(run).toContain(`--out results/${number}-${step}.json`);
  }
  expect(probe?.steps.at(-1)).toMatchObject({ if: "always()", with: { path: "results/*.json" } });
  const minutes = probes.slice(0, 3).map((step) => step["timeout-minutes"] ?? 60);
  expect(minutes.reduce((sum, each) => sum + each)).toBeLessThanOrEqual(5);
  expect(probes.at(-1)?.["continue-on-error"]).toBe(true);
});
