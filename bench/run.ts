/**
 * `bun run bench` measures everything and writes docs/performance-log.md; `bun run bench NAME…` measures some and
 * replaces their parts of that page.
 * Each measure runs wsh beside its peers in turns. No figure here is a test: machines differ, and this one may be busy.
 * The executable is dist/wsh, or what WSH_BENCH_BINARY names.
 */
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { renderEcho, renderFlood } from "./attach-render.ts";
import { checkpoint } from "./checkpoint.ts";
import { commandEnds } from "./commands.ts";
import { copyMode } from "./copy-mode.ts";
import { cost } from "./cost.ts";
import { echo } from "./echo.ts";
import { floodAttached, floodDetached } from "./flood.ts";
import { history } from "./history.ts";
import { idle } from "./idle.ts";
import { latency } from "./latency.ts";
import { machinesCalls } from "./machines/calls.ts";
import { machinesOutages } from "./machines/outages.ts";
import { machinesCost, machinesScale, machinesTenThousand } from "./machines/scale.ts";
import { machinesFlood, machinesStopped } from "./machines/streams.ts";
import { mcpCalls, mcpStart, mcpTokens } from "./mcp.ts";
import { type Measure, type Report, table } from "./measure.ts";
import { memory } from "./memory.ts";
import { panesChange, panesEcho, panesFlood, panesMemory } from "./panes.ts";
import { scale } from "./scale.ts";
import { spool } from "./spool.ts";
import { installed, Stage } from "./stage.ts";
import { start } from "./start.ts";
import { statusLine } from "./status-line.ts";
import { sixteen } from "./tasks/tasks.ts";
import { webCrowd, webMiniatures } from "./web/crowd.ts";
import { web } from "./web/page.ts";
import { webHistory } from "./web/scrolling.ts";

const measures: readonly Measure[] = [
  echo,
  floodDetached,
  floodAttached,
  renderEcho,
  renderFlood,
  statusLine,
  cost,
  latency,
  commandEnds,
  spool,
  start,
  mcpStart,
  mcpCalls,
  mcpTokens,
  sixteen,
  memory,
  scale,
  idle,
  history,
  copyMode,
  panesEcho,
  panesFlood,
  panesChange,
  panesMemory,
  checkpoint,
  web,
  webHistory,
  webCrowd,
  webMiniatures,
  machinesCalls,
  machinesFlood,
  machinesStopped,
  machinesScale,
  machinesOutages,
  machinesCost,
];
/** Measures that run only when they are named. */
const long: readonly Measure[] = [machinesTenThousand];
const root = join(import.meta.dir, "..");
const document = join(root, "docs/performance-log.md");

const asked = process.argv.slice(2);
const known = [...measures, ...long];
const unknown = asked.find((name) => !known.some((measure) => measure.name === name));
if (unknown !== undefined || !installed("tmux")) {
  console.error(
    unknown === undefined ? "tmux is not installed: there is nothing to compare with" : `no measure '${unknown}'`,
  );
  console.error(`measures: ${known.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}

const chosen = asked.length === 0 ? measures : known.filter(({ name }) => asked.includes(name));
const reports: Report[] = [];
for (const measure of chosen) {
  await using stage = new Stage(process.env.WSH_BENCH_BINARY ?? join(root, "dist/wsh"));
  const report = await measure.run(stage);
  reports.push(report);
  console.log(`\n${report.title}\n${table(report)}\ngoal: ${report.goal}`);
}
write(reports, asked.length === 0);

/** The part of the document below its mark is generated; the part above it is written by hand and kept. */
function write(all: readonly Report[], anew: boolean): void {
  const mark = "<!-- measured: everything below is written by `bun run bench` -->";
  const [above = "# Performance log\n\n", below = ""] = fs.existsSync(document)
    ? fs.readFileSync(document, "utf8").split(mark)
    : [];
  const known = anew ? [] : below.split(/^(?=### )/m).slice(1);
  const parts = new Map(known.map((part) => [part.slice(4, part.indexOf("\n")), `${part.trimEnd()}\n`]));
  for (const report of all) {
    const { title, meaning, goal } = report;
    parts.set(title, `### ${title}\n\n${meaning}\n\nGoal: ${goal}.\n\n${table(report)}\n`);
  }
  const head = known.length === 0 ? machine() : (below.split(/^### /m)[0] ?? "").trim();
  fs.mkdirSync(join(root, "docs"), { recursive: true });
  fs.writeFileSync(document, `${above}${mark}\n\n${head}\n\n${[...parts.values()].join("\n")}`);
  console.log("\ndocs/performance-log.md");
}

function machine(): string {
  const [cpu] = os.cpus();
  const versions = [
    `wsh ${version(process.env.WSH_BENCH_BINARY ?? join(root, "dist/wsh"), "--version")}`,
    `Bun ${Bun.version}`,
    version("tmux", "-V"),
    ...(installed("screen") ? [version("screen", "--version")] : []),
    ...(installed("dtach") ? [version("dtach", "--version")] : []),
    version("bash", "--version"),
  ];
  return [
    `${os.cpus().length} × ${cpu?.model.trim() ?? "unknown processor"}, ${Math.round(os.totalmem() / 2 ** 30)} GB, ${os.type()} ${os.release()}; ` +
      `load ${os.loadavg()[0]?.toFixed(1)}. ${versions.join("; ")}.`,
    "",
    "Figures are medians, in brackets the middle half of the samples. `×` is wsh's median divided by that line's: over 1, wsh is slower or larger.",
  ].join("\n");
}

function version(program: string, flag: string): string {
  const { stdout, stderr } = Bun.spawnSync([program, flag]);
  return `${stdout}${stderr}`.split("\n")[0]?.replace(/^wsh /, "").trim() ?? "";
}
