/**
 * A fleet made by `wsh fleet`, with machines that joined by its lines: every operation of the table, requested by each
 * role under each access with handwritten subjects. And the report of `wsh doctor` on the connection.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { headers, type NatsConnection } from "@nats-io/transport-node";
import { joinedFile } from "../../src/cluster/fleet/creds-file.ts";
import { prepareStateDir } from "../../src/instance/paths.ts";
import { operations } from "../../src/operations/table.ts";
import { type Access, accessCovers } from "../../src/protocol/caller.ts";
import type { Credentials } from "../../src/protocol/fleet.ts";
import { encodeToken } from "../../src/protocol/fleet-subjects.ts";
import { refusals, TestFleet } from "../support/fleet.ts";
import { NatsServer, writeCredentials } from "../support/nats-server.ts";
import { testWith } from "../support/programs.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(120_000);

const testFleet = testWith("nats-server");
const accesses = ["observe", "operate", "admin"] as const;
let fleet: TestFleet;
let m1: Wsh;
let me: Wsh;
/** Of m1's server. */
let boot = "";

beforeAll(async () => {
  if (testFleet !== test) return;
  fleet = await TestFleet.start();
  m1 = await fleet.join("machine", "m1", { tags: ["gpu"] });
  me = await fleet.join("operate", "me");
});
afterAll(async () => {
  for (const wsh of [m1, me, fleet]) await wsh?.[Symbol.asyncDispose]();
});

/** A machine's answer to a request; null: none. */
async function asked(
  connection: NatsConnection,
  { user }: Pick<Credentials, "user">,
  { access, operation }: { access: Access; operation: string },
): Promise<string | null> {
  const inbox = `_INBOX.${user}.m1.${crypto.randomUUID()}`;
  const answer = Promise.withResolvers<string | null>();
  const heard = connection.subscribe(inbox, { callback: (_, message) => answer.resolve(message.string()) });
  const subject = `wsh1.q.m1.${access}.${user}.${encodeToken(operation)}`;
  const body = JSON.stringify({ op: operation, input: { nonsense: 1 }, caller: { kind: "cli", id: "x" } });
  const said = headers();
  said.set("Wsh-Boot", boot);
  connection.publish(subject, body, { reply: inbox, headers: said });
  await connection.flush();
  const timer = setTimeout(() => answer.resolve(null), 10_000);
  try {
    return await answer.promise;
  } finally {
    clearTimeout(timer);
    heard.unsubscribe();
  }
}

testFleet(
  "every operation, by each role under each access: nothing runs but what the table and the role allow",
  async () => {
    boot = (await (await m1.fetch("/link")).json()).server_id;
    for (const role of accesses) {
      const credentials = await fleet.credentials(role, `x-${role}`);
      const connection = await fleet.client(credentials);
      const refused = refusals(connection);
      const wrong: string[] = [];
      let forbidden = 0;
      for (const { name, access: needed } of operations) {
        for (const access of accesses) {
          if (!accessCovers(role, access)) {
            connection.publish(`wsh1.q.m1.${access}.${credentials.user}.${encodeToken(name)}`, "{}");
            forbidden++;
            continue;
          }
          // A role that may use it is tested elsewhere; a forged role must be refused.
          if (access === needed) continue;
          const answer = await asked(connection, credentials, { access, operation: name });
          if (answer === null || !/"code":"access_denied"/.test(answer))
            wrong.push(`${role} ${access} ${name}: ${answer}`);
        }
      }
      await connection.flush();
      await until("the server's refusals", async () => refused.length >= forbidden || null);
      expect({ role, wrong, refused: refused.length }).toEqual({ role, wrong: [], refused: forbidden });
    }
  },
);

/** Longest wait until a killed machine gets sessions again, in ms: its earlier server counts for three heartbeats. */
const PLACED_MS = 45_000;

testFleet("a session is placed in the fleet, and its tags are those of the invitation", async () => {
  fs.writeFileSync(`${m1.env.HOME}/.config/wsh/config.toml`, 'accept = "placed"\n');
  await m1.killServer();
  await m1.ok("server", "--ensure");
  let refusal = "";
  const made = await until(
    "m1 to be seen",
    async () => {
      const { code, stdout, stderr } = await me.run("new", "train", "--place", "gpu");
      if (code === 0) return stdout.trim();
      refusal = stderr;
      // A lost answer is reported as unknown: the session may exist.
      return (await m1.list()).some(({ name }) => name === "train") ? "m1/train" : null;
    },
    PLACED_MS,
  ).catch((error) => {
    const logs = [m1, me].map(({ instance }) => fs.readFileSync(instance.serverLog, "utf8").slice(-4_000));
    throw new Error([error.message, `the last refusal: ${refusal}`, ...logs, fleet.log.slice(-4_000)].join("\n"));
  });
  expect(made).toBe("m1/train");
  expect((await m1.list()).map(({ name }) => name)).toEqual(["train"]);
});

testFleet("wsh doctor checks the connection to the fleet step by step", async () => {
  const findings = async () => JSON.parse((await me.run("doctor", "--json")).stdout) as Record<string, string>[];
  const ofFleet = (all: Record<string, string>[]) => all.filter(({ subject }) => subject?.startsWith("fleet "));
  const whole = ofFleet(await findings());
  const steps = ["reach", "TLS", "credentials", "permissions", "clock"];
  for (const step of steps) expect(whole.map(({ subject }) => subject)).toContain(`fleet ${step}`);
  expect(whole.filter(({ state }) => state === "wrong")).toEqual([]);
  await fleet.maker.ok("fleet", "revoke", "me", "--dir", fleet.dir);
  expect(ofFleet(await findings()).at(-1)).toMatchObject({
    subject: "fleet credentials",
    state: "wrong",
    advice: expect.stringContaining("revoked"),
  });
  await fleet.stopServer();
  expect(ofFleet(await findings()).at(-1)).toMatchObject({
    subject: "fleet reach",
    state: "wrong",
    advice: expect.stringContaining("nats-server runs there"),
  });
});

testFleet("wsh doctor lists permissions that a self-managed cluster lacks", async () => {
  await using wsh = new Wsh();
  await using nats = await NatsServer.start(wsh.dir, [{ name: "me", role: "observe" }]);
  prepareStateDir(wsh.instance);
  const examined = async (role: "observe" | "operate"): Promise<Record<string, string>[]> => {
    writeCredentials(joinedFile(wsh.instance), { name: "me", role }, [nats.url]);
    return JSON.parse((await wsh.run("doctor", "--json")).stdout);
  };
  expect(await examined("observe")).toContainEqual(
    expect.objectContaining({ subject: "fleet permissions", state: "ok" }),
  );
  expect(await examined("operate")).toContainEqual({
    subject: "fleet permissions",
    state: "wrong",
    text: expect.stringMatching(/wsh1\.[qu]\.[^ ]*\.operate\.me\./),
    advice: expect.stringContaining("docs/machines.md"),
  });
});
