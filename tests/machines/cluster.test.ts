/** A server of a NATS cluster crashes: its connections continue through another one. */
import { expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { contentOf } from "../support/content-of.ts";
import { TestFleet } from "../support/nats-fleet.ts";
import { isMissing } from "../support/programs.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";

setDefaultTimeout(240_000);

/** Commands in flight while a server is killed. */
const AT_ONCE = 8;

test.skipIf(process.env.WSH_TEST_FULL === undefined || isMissing("nats-server"))(
  "a server of three is killed: calls go on through another, no command runs twice, no session vanishes",
  async () => {
    const users = [
      { name: "bob", role: "operate" },
      { name: "m1", role: "machine" },
    ] as const;
    await using fleet = await TestFleet.start(users, { servers: 3 });
    const [bob, m1] = [fleet.hub("bob"), fleet.machine("m1")];
    const sessions = Array.from({ length: AT_ONCE }, (_, at) => `dev${at}`);
    for (const name of sessions) await m1.session(name);
    await m1.session("seen");
    const names = [...sessions, "seen"].map((name) => `m1/${name}`);
    const listed = async (): Promise<string[]> =>
      ((await (await bob.fetch("/sessions?all_machines=1")).json()) as { name: string }[])
        .map(({ name }) => name)
        .sort();
    await until("the sessions to be listed", async () => (await listed()).length === names.length);
    const log = join(m1.dir, "runs");
    const runsOf = (mark: string): number => contentOf(log).split(`${mark}\n`).length - 1;
    const exec = async (session: string, command: string) => {
      const init = {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ command }),
      };
      return (await (await bob.fetch(`/sessions/m1%2F${session}/exec`, init)).json()) as Record<string, unknown>;
    };

    await using person = await EmulatorTerminal.attach(bob, "m1/seen");

    for (const [round, user] of ["bob", "m1", "bob", "m1", "bob", "m1"].entries()) {
      const victim = await until(`the server of ${user}`, async () => {
        for (const nats of fleet.cluster) if (await nats.has(user)) return nats;
        return null;
      });
      const gate = join(m1.dir, `gate${round}`);
      const asked = sessions.map((session, at) => {
        const mark = `r${round}.${at}`;
        // Half of them run when the server is killed, half may be anywhere in transit.
        const wait = at % 2 === 0 ? `until [ -e ${gate} ]; do sleep 0.05; done; ` : "";
        const answer = exec(session, `echo ${mark} >>${log}; ${wait}echo ${mark} over`);
        answer.catch(() => {}); // it is awaited below, unless something fails before
        return { mark, answer };
      });
      await until("commands to run", () => asked.every(({ mark }, at) => at % 2 === 1 || runsOf(mark) === 1));
      await victim.kill();
      expect(await listed()).toEqual(names);
      fs.writeFileSync(gate, "");
      for (const { mark, answer } of asked) {
        const said = await answer;
        expect({ mark, output: said.output, runs: runsOf(mark) }).toEqual({ mark, output: `${mark} over`, runs: 1 });
      }
      expect(await exec("dev0", `echo after${round}`)).toMatchObject({ output: `after${round}` });
      expect(await listed()).toEqual(names);
      await m1.enter("seen", `echo seen-$((40 + ${round}))`);
      await person.sees(new RegExp(`^seen-${40 + round}$`, "m"));
      await victim.begin();
      await victim.joined(2);
    }
  },
);
