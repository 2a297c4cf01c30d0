/**
 * What wsh relies on, tried on the machine at hand: `bun packaging/probe/probe.ts [STEP…]`. Made for hosted Macs, where
 * nobody can look: each step is run for itself, goes on after a failure, and writes JSON. The same steps run on Linux in
 * `bun run check`, with small counts.
 *
 *   --wsh FILE     the executable to probe (else as tests choose it)
 *   --out FILE     where the JSON goes (else standard output); lines for people go to standard error
 *   --small        small counts
 *   --launchctl    step 6 may load an agent into launchd and unload it again
 *
 * Exit codes: 0, 1 when a check failed, 2 for wrong arguments.
 */
import os from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { Checks, type StepReport } from "./report.ts";

export interface ProbeOptions {
  readonly isSmall: boolean;
  readonly mayUseLaunchctl: boolean;
}

type Step = (checks: Checks, options: ProbeOptions) => Promise<void>;

/** In the order of their numbers, from 1. Loaded when run: `--wsh` must be known before the tests' support is. */
const steps: ReadonlyMap<string, () => Promise<Step>> = new Map([
  ["binary", async () => (await import("./steps/binary.ts")).binary],
  ["kernel", async () => (await import("./steps/kernel.ts")).kernel],
  ["terminal", async () => (await import("./steps/terminal.ts")).terminal],
  ["shells", async () => (await import("./steps/shells.ts")).shells],
  ["attach", async () => (await import("./steps/attach.ts")).attach],
  ["service", async () => (await import("./steps/service.ts")).service],
  ["suite", async () => (await import("./steps/suite.ts")).suite],
]);

function usage(message: string): never {
  console.error(`${message}\nusage: probe.ts [--wsh FILE] [--out FILE] [--small] [--launchctl] [STEP…]`);
  console.error(`steps: ${[...steps.keys()].map((name, index) => `${index + 1} ${name}`).join(", ")}`);
  process.exit(2);
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        wsh: { type: "string" },
        out: { type: "string" },
        small: { type: "boolean", default: false },
        launchctl: { type: "boolean", default: false },
      },
    });
  } catch (error) {
    return usage(error instanceof Error ? error.message : String(error));
  }
}

const { values, positionals } = readArguments();
const names = [...steps.keys()];
const chosen = (positionals.length === 0 ? names.slice(0, -1) : positionals).map((word) => {
  const name = names[Number(word) - 1] ?? word;
  return steps.has(name) ? name : usage(`unknown step '${word}'`);
});
if (values.wsh !== undefined) process.env.WSH_BIN = resolve(values.wsh);

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const reports: StepReport[] = [];
for (const name of chosen) {
  const step = names.indexOf(name) + 1;
  say(`== ${step} ${name}`);
  const started = performance.now();
  const checks = new Checks(say);
  const run = await steps.get(name)?.();
  const options = { isSmall: values.small, mayUseLaunchctl: values.launchctl };
  await run?.(checks, options).catch((error) => checks.check(name, () => Promise.reject(error)));
  reports.push({ step, name, state: checks.state, ms: Math.round(performance.now() - started), checks: checks.all });
}

const machine = { platform: process.platform, arch: process.arch, release: os.release(), bun: Bun.version };
const report = `${JSON.stringify({ machine, steps: reports }, null, 2)}\n`;
if (values.out === undefined) await Bun.write(Bun.stdout, report);
else await Bun.write(values.out, report);
// Whatever a hung check has left behind must not keep this process.
process.exit(reports.some(({ state }) => state === "failed") ? 1 : 0);
