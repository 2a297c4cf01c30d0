/**
 * The cost of keeping all output: a flood as a command of exec, which is spooled, and typed by hand, which is not; each
 * in a session with the spool and in one without, in turns.
 */
import fs from "node:fs";
import { join } from "node:path";
import { type Figure, figure } from "./figure.ts";
import type { Measure } from "./measure.ts";
import type { Stage } from "./stage.ts";
import { until } from "./until.ts";

const ROUNDS = 7;
const OUTPUT = "seq 1 3000000";

interface CommandRecord {
  readonly id: number;
  readonly state: string;
  readonly duration_ms: number | null;
}

/** Runs the output and returns how long it took, in ms. */
type Way = (stage: Stage, session: string) => Promise<number>;

async function asked(stage: Stage, session: string): Promise<number> {
  const text = await stage.run(stage.wsh, "exec", session, "--json", "--output", "none", "--", OUTPUT);
  return JSON.parse(text).duration_ms;
}

async function typed(stage: Stage, session: string): Promise<number> {
  const newest = async (): Promise<CommandRecord | undefined> =>
    JSON.parse(await stage.run(stage.wsh, "commands", session, "--json")).at(-1);
  const before = (await newest())?.id ?? 0;
  await stage.run(stage.wsh, "send", session, `${OUTPUT}\r`);
  return until("the output to end", async () => {
    const command = await newest();
    return command !== undefined && command.id > before && command.state === "finished" ? command.duration_ms : null;
  });
}

const ways: readonly (readonly [who: string, way: Way])[] = [
  ["exec", asked],
  ["typed", typed],
];

export const spool: Measure = {
  name: "spool",
  async run(stage) {
    const off = join(stage.dir, "off.toml");
    fs.writeFileSync(off, "spool_command_bytes = 0\n");
    const sessions = ["spooled", "unspooled"];
    await stage.run(stage.wsh, "new", "spooled");
    await stage.run("env", `WSH_CONFIG=${off}`, stage.wsh, "new", "unspooled");
    const samples = ways.map(() => sessions.map((): number[] => []));
    for (let round = -1; round < ROUNDS; round++) {
      for (const [row, [, way]] of ways.entries()) {
        for (const [column, session] of sessions.entries()) {
          const ms = await way(stage, session);
          // The first round compiles.
          if (round >= 0) samples[row]?.[column]?.push(ms);
        }
      }
    }
    return {
      title: "Output that is kept whole, ms",
      columns: ["with the spool", "without"],
      lines: ways.map(([who], row) => ({
        who,
        figures: (samples[row] ?? []).map((all): Figure => figure(all)),
      })),
      alone: true,
      goal: "exec: 1.2 × the time without; typed: no difference",
      meaning:
        `The duration of \`${OUTPUT}\` (26 MB) at a shell's prompt, by its record; ${ROUNDS} rounds, all in turns. What exec ` +
        "started is written to a file past what memory keeps; what is typed is not, and has no file.",
    };
  },
};
