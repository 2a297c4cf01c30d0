// Quiet: adds an interface to the machine, at which browsers break off what they load.
/** A machine in a separate network whose link goes down: nothing arrives, and neither end is notified. */
import { expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { canMakeNetworks, Network } from "../support/network.ts";
import { isMissing } from "../support/programs.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { TwoMachines } from "../support/two-machines.ts";
import { until } from "../support/until.ts";

setDefaultTimeout(180_000);
/** With the full size the link is down until both ends have given up; else for the time of a list and a call. */
const isLong = process.env.WSH_TEST_FULL !== undefined;
/** A caller's own deadline, in ms. */
const DEADLINE_MS = 1_500;
/** Longest time from a connection's silence to its report, in ms: three of ssh's queries, and a busy machine. */
const NOTICED_MS = 60_000;

test.skipIf(!canMakeNetworks() || isMissing("sshd", "ssh", "ssh-keygen"))(
  "a link that is silent: its sessions are listed as of then, calls end at their deadline, and the screen is back with it",
  async () => {
    await using network = await Network.make();
    const at = { address: network.remote, inside: network.inside };
    await using machines = await (await TwoMachines.start({ at })).add();
    const { local, remote } = machines;
    await local.ok("new", "m1/dev");
    await local.session("own");
    await local.server();
    const pane = (await local.ok("split", "own", "--view", "m1/dev")).trim();
    // The session has the size of the terminal that attached or typed last: the person's rows have no edge.
    await local.shows(pane, /^\$/m);
    await using person = await EmulatorTerminal.attach(local, "m1/dev");
    person.type("echo before\r");
    await person.sees(/^before$/m);
    await local.shows(pane, /^before$/m);
    const listed = async () => {
      const all = (await (await local.fetch("/sessions")).json()) as Record<string, unknown>[];
      return all.find(({ name }) => name === "m1/dev");
    };
    expect(await listed()).not.toHaveProperty("as_of");

    await network.link("down");
    const late = join(remote.dir, "late");
    const began = performance.now();
    const refused = await local.fetch("/sessions/m1%2Fdev/exec", {
      method: "POST",
      headers: { "Content-Type": "application/json", "Wsh-Deadline": `${Date.now() + DEADLINE_MS}` },
      body: JSON.stringify({ command: `touch ${late}` }),
    });
    const { error } = (await refused.json()) as { error: { code: string } };
    expect(error.code).toMatch(/^(outcome_unknown|machine_unreachable)$/);
    expect(performance.now() - began).toBeLessThan(NOTICED_MS);
    expect(await listed()).toMatchObject({ state: "unresponsive", as_of: expect.any(Number) });
    await remote.enter("dev", "echo meanwhile");
    await remote.shows("dev", /^meanwhile$/m);
    if (isLong) {
      const description = async (): Promise<boolean> => /m1 unreachable, \d+ s/.test(await person.text());
      await until("the terminal to say so", description, NOTICED_MS);
      await until("the view to say so", async () => (await local.screen(pane)).includes("unreachable"), NOTICED_MS);
      await until("ssh to give up", () => machines.masterPid() === null, NOTICED_MS);
    }

    await network.link("up");
    // Where ssh gave up, either of the two may be back last: after the view's size the person sees an edge.
    const isBack = (text: string): boolean => /^meanwhile *│?$/m.test(text) && !text.includes("unreachable");
    await until("the screen to be back", async () => isBack(await person.text()), NOTICED_MS);
    await until("the view to be back", async () => /^meanwhile$/m.test(await local.screen(pane)), NOTICED_MS);
    await until("the machine to be listed as it is", async () => (await listed())?.as_of === undefined, NOTICED_MS);
    expect((await local.run("exec", "m1/dev", "--", "echo after")).stdout).toBe("after\n");
    expect(fs.existsSync(late)).toBe(false);
  },
);
