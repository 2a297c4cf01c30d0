/**
 * The cost of checkpoints: an active and a quiet session with and without them, the bytes that a flood writes, and
 * restoring many sessions with a long history at once.
 */
import fs from "node:fs";
import { join } from "node:path";
import { type Figure, figure } from "./figure.ts";
import type { Line, Measure } from "./measure.ts";
import { cpu, pss } from "./process.ts";
import type { Stage } from "./stage.ts";
import { until } from "./until.ts";

/** Ten lines a second, as of a build. */
const ACTIVE = 'while :; do echo "line of an active session $RANDOM"; sleep 0.1; done';
/** Duration of the observation, in ms: longer than the longest interval between two checkpoints. */
const WATCHED_MS = 35_000;
/** Time from the start until code is compiled and its memory released, in ms. */
const SETTLE_MS = 5_000;
/** Delay before a quiet session is observed, in ms: its checkpoint is written by then. */
const QUIET_AFTER_MS = 4_000;
const QUIET_MS = 20_000;
const FLOOD = "seq 1 3000000; exec sleep 1000";
const SESSIONS = 50;
const LINES = 10_000;
/** A history of so many lines takes more than this on the disk, in bytes. */
const LEAST_BYTES = 5_000;

export const checkpoint: Measure = {
  name: "checkpoint",
  async run(stage) {
    const kept = await active(stage, "recent");
    const off = await active(stage, "off");
    const quiet = await quietWrites(stage);
    const flood = await floodWrites(stage);
    const restored = await restoreMany(stage);
    const line = (who: string, ...figures: (Figure | null)[]): Line => ({ who, figures });
    return {
      title: "Checkpoints",
      columns: ["figure", "memory, MB"],
      lines: [
        line("active session, % of a processor", figure([kept.core]), figure([kept.memory])),
        line('the same with checkpoint = "off"', figure([off.core]), figure([off.memory])),
        line(`files that a quiet session wrote in ${QUIET_MS / 1_000} s`, figure([quiet]), null),
        line("what is kept of a flood of 23 MB, KB", figure([flood.kept]), null),
        line("what its process wrote for that, KB", figure([flood.written]), null),
        line(`${SESSIONS} sessions of ${LINES} lines restored, s`, figure([restored]), null),
      ],
      alone: true,
      goal:
        "≤ 1 % of a processor and ≤ 1 MB more in an active session; a quiet one writes nothing; a flood writes no more " +
        "than the newest 1,000 lines; 50 sessions restored in ≤ 5 s",
      meaning:
        "An active session prints ten lines a second; processor time and memory of its process over half a minute. The flood " +
        "is `seq 1 3000000`; counted are the bytes of its checkpoint's files, and those that its process handed to " +
        "write(2) for files. The sessions keep their whole history, are killed with SIGKILL and restored by " +
        "`wsh restore --all`; the time is that of the command.",
    };
  },
};

async function start(stage: Stage, name: string, kept: string, command?: string): Promise<number> {
  const rest = command === undefined ? [] : ["--", command];
  const { pid } = JSON.parse(
    await stage.run("env", `WSH_CHECKPOINT=${kept}`, stage.wsh, "new", name, "--json", ...rest),
  );
  return parentOf(pid);
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s*(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

async function active(stage: Stage, kept: string): Promise<{ readonly core: number; readonly memory: number }> {
  const host = await start(stage, "active", kept, ACTIVE);
  await Bun.sleep(SETTLE_MS);
  const before = cpu(host);
  await Bun.sleep(WATCHED_MS);
  const core = ((cpu(host) - before) / WATCHED_MS) * 100;
  const memory = pss(host);
  await stage.run(stage.wsh, "kill", "active");
  return { core, memory };
}

async function quietWrites(stage: Stage): Promise<number> {
  await start(stage, "quiet", "recent");
  await Bun.sleep(QUIET_AFTER_MS);
  const since = Date.now();
  await Bun.sleep(QUIET_MS);
  const changed = filesOf(stage).filter(({ at }) => at > since);
  await stage.run(stage.wsh, "kill", "quiet");
  return changed.length;
}

async function floodWrites(stage: Stage): Promise<{ readonly kept: number; readonly written: number }> {
  const host = await start(stage, "flood", "recent", FLOOD);
  await until("the checkpoint of the flood", () =>
    filesOf(stage).find(({ path, size }) => path.endsWith(".history") && size > 0),
  );
  await until("it to be at rest", () => {
    const newest = Math.max(...filesOf(stage).map(({ at }) => at));
    return Date.now() - newest > SETTLE_MS ? true : null;
  });
  const kept = filesOf(stage).reduce((sum, { size }) => sum + size, 0);
  const written = writtenBy(host);
  await stage.run(stage.wsh, "kill", "flood");
  return { kept: kept / 1_024, written: written / 1_024 };
}

/** Bytes that a process caused to be written to storage, without terminals and sockets. */
function writtenBy(pid: number): number {
  return Number(/^write_bytes: (\d+)/m.exec(fs.readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]);
}

async function restoreMany(stage: Stage): Promise<number> {
  const names = Array.from({ length: SESSIONS }, (_, at) => `s${at}`);
  const hosts: number[] = [];
  for (const name of names) hosts.push(await start(stage, name, "history"));
  for (const name of names) {
    await stage.run(stage.wsh, "exec", name, "--output", "none", "--", `seq -f 'line %.0f of the history' 1 ${LINES}`);
  }
  await until("all to be written", () => {
    const histories = filesOf(stage).filter(({ path, size }) => path.endsWith(".history") && size > LEAST_BYTES);
    return histories.length >= SESSIONS ? true : null;
  });
  for (const host of hosts) process.kill(host, "SIGKILL");
  const began = performance.now();
  await stage.run("env", "WSH_CHECKPOINT=history", stage.wsh, "restore", "--all");
  const seconds = (performance.now() - began) / 1_000;
  const listed: { running: boolean }[] = JSON.parse(await stage.run(stage.wsh, "list", "--json"));
  if (listed.filter(({ running }) => running).length < SESSIONS) throw new Error("not all sessions run again");
  for (const name of names) await stage.run(stage.wsh, "kill", name);
  return seconds;
}

interface Kept {
  readonly path: string;
  readonly size: number;
  /** Unix time in ms. */
  readonly at: number;
}

function filesOf(stage: Stage): Kept[] {
  const directory = join(stage.dir, "home/.local/state/wsh/default.checkpoints");
  if (!fs.existsSync(directory)) return [];
  const names = fs.readdirSync(directory, { recursive: true, encoding: "utf8" });
  return names.flatMap((name) => {
    const stat = fs.statSync(join(directory, name), { throwIfNoEntry: false });
    return stat?.isFile() === true ? [{ path: name, size: stat.size, at: stat.mtimeMs }] : [];
  });
}
