/** Time until a lost connection is noticed, and until a restored one is used again. */
import { figure } from "../figure.ts";
import type { Measure } from "../measure.ts";
import type { Stage } from "../stage.ts";
import { until } from "../until.ts";
import { RemoteStage } from "./remote-stage.ts";

const ROUNDS = 3;

export const machinesOutages: Measure = {
  name: "machines-outages",
  async run(stage) {
    await using remote = await RemoteStage.of(stage, { isFleetAlone: true, delayMs: 0 });
    const { proxy } = remote;
    if (proxy === null) throw new Error("there is no proxy to hold");
    await remote.remote.run(stage.wsh, "new", "dev");
    const answers = async (): Promise<boolean> => (await stage.get("/sessions/m1%2Fdev/screen")).ok;
    await until("m1 to answer", answers);
    const shown: number[] = [];
    const healed: number[] = [];
    const restarted: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      proxy.hold();
      shown.push(
        await took(() => until("the partition to be known", async () => (await health(stage)) === "unreachable")),
      );
      proxy.heal();
      healed.push(await took(() => until("m1 to answer", answers)));
      await until("m1 to be healthy", async () => (await health(stage)) === "healthy");
    }
    for (let round = 0; round < ROUNDS; round++) {
      await remote.nats.kill();
      await until("the loss to be known", async () => (await health(stage)) === "unreachable");
      await remote.nats.begin();
      restarted.push(await took(() => until("m1 to answer", answers)));
    }
    return {
      title: "A fleet's outages, ms",
      columns: ["time"],
      lines: [
        { who: "a machine's way is silent → it is listed as unreachable", figures: [figure(shown)] },
        { who: "the way is back → it answers a request", figures: [figure(healed)] },
        { who: "the only nats-server is up again after kill -9 → m1 answers a request", figures: [figure(restarted)] },
      ],
      alone: true,
      goal: "shown in 15 s, healed in 1 s, back 1 s after a restart",
      meaning: `${ROUNDS} times each. A way is silent when nothing passes and nobody is told, as in a partition.`,
    };
  },
};

async function took(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await act();
  return performance.now() - began;
}

async function health(stage: Stage): Promise<string> {
  return (await (await stage.get("/servers/m1")).json()).health;
}
