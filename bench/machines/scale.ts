/**
 * A fleet of many machines as one server sees it: its list, and what it costs to be in a fleet at all. The machines are
 * simulated by one process over one connection; the observer and the NATS server's share are measured.
 */
import fs from "node:fs";
import { passwordOf } from "../../tests/support/nats-server.ts";
import { simulateMachines } from "../../tests/support/simulated-machines.ts";
import { figure } from "../figure.ts";
import type { Line, Measure, Report } from "../measure.ts";
import { pss } from "../process.ts";
import { Stage } from "../stage.ts";
import { timed } from "../timed.ts";
import { until } from "../until.ts";
import { RemoteStage } from "./remote-stage.ts";

const LISTS = 15;
/** Runs of the command line. */
const COMMANDS = 5;
/** Time until work is over, in ms: threads of the compiler and the collector end after ten seconds and release memory. */
const REST_MS = 15_000;

export const machinesScale: Measure = { name: "machines-scale", run: (stage) => scaleOf(stage, [1_000]) };
/** Runs only when it is named: it takes minutes. */
export const machinesTenThousand: Measure = {
  name: "machines-10000",
  run: (stage) => scaleOf(stage, [10_000]),
};

async function scaleOf(stage: Stage, counts: readonly number[]): Promise<Report> {
  const lines: Line[] = [];
  for (const count of counts) {
    await using remote = await RemoteStage.of(stage, { isFleetAlone: true });
    await stage.run(stage.wsh, "new", "dev");
    const sample = await (await stage.get("/sessions?server=local")).json();
    const locally = await timed(LISTS, async () => (await stage.get("/sessions?server=local")).text());
    const { url } = remote.nats;
    const orders = { url, user: "simulated", password: passwordOf("simulated"), count, sessions: sample };
    const machines = await simulateMachines(orders);
    const listed = async (): Promise<number> =>
      ((await (await stage.get("/sessions?all_machines=1")).json()) as []).length;
    const known = async (): Promise<number> => ((await (await stage.get("/servers")).json()) as []).length;
    await until("the machines to be known", async () => (await known()) >= count);
    const before = pss(remote.localServer);
    const cold = await timed(1, async () => {
      await until("every session", async () => (await listed()) >= count);
    });
    const textOf = (path: string) => async (): Promise<string> => (await stage.get(path)).text();
    const cached = await timed(LISTS, textOf("/sessions?all_machines=1"));
    const servers = await timed(LISTS, textOf("/servers"));
    const shown = await timed(COMMANDS, () => stage.run(stage.wsh, "list", "--all-machines"));
    lines.push({
      who: `${count} machines with a session each`,
      figures: [
        figure(cold),
        figure(cached),
        figure(servers),
        figure(shown),
        figure(locally),
        figure([before]),
        figure([pss(remote.localServer)]),
      ],
    });
    machines.kill("SIGKILL");
    await machines.exited;
  }
  return {
    title: `A fleet of ${counts.join(" and ")} machines: its list, ms; memory of the server here, MB`,
    columns: ["all sessions, cold", "cached", "machines", "`wsh list`", "one session, local", "memory before", "after"],
    lines,
    alone: true,
    goal: "1,000 machines: 100 ms cold, 5 ms cached; 10,000: 600 ms cold",
    meaning:
      "GET /sessions with all_machines, GET /servers, until the answer is there; `wsh list --all-machines`. Cold: the machines are known by their beats, and none was asked for its list. " +
      "The machines are simulated by one process, and answer as fast as that does.",
  };
}

export const machinesCost: Measure = {
  name: "machines-cost",
  async run(stage) {
    // All at once: what they share of the executable is shared by as many.
    await using other = new Stage(stage.wsh);
    const alone = await other.server();
    await using remote = await RemoteStage.of(stage, { isFleetAlone: true });
    await Bun.sleep(REST_MS);
    const [without, within, machine] = [alone, remote.localServer, remote.remoteServer].map((pid) =>
      figure([pss(pid)]),
    );
    if (without === undefined || within === undefined || machine === undefined) throw new Error("three servers");
    const size = figure([fs.statSync(stage.wsh).size / 1e6]);
    return {
      title: "What being in a fleet costs a server, MB",
      columns: ["memory at rest (PSS)", "executable"],
      lines: [
        { who: "server in a fleet, which uses others", figures: [within, size] },
        { who: "a machine of the fleet", figures: [machine, size] },
        { who: "server without a fleet", figures: [without, size] },
      ],
      alone: true,
      goal: "≤ 16 MB more; without a fleet nothing",
      meaning:
        "After 15 s in which nothing was asked. The executable is the same one: the NATS client is loaded by who is in a fleet.",
    };
  },
};
