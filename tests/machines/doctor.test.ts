/** `wsh doctor` on a misconfigured connection: it names the failing step and its remedy. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { packInvitation, unpackInvitation } from "../../src/cluster/authority/invitation.ts";
import { serverFiles } from "../../src/cluster/authority/server-config.ts";
import { joinedFile } from "../../src/cluster/fleet/creds-file.ts";
import type { Beat } from "../../src/protocol/fleet-messages.ts";
import { beatSubject, serviceSubject } from "../../src/protocol/fleet-subjects.ts";
import { PROTOCOL_VERSION } from "../../src/protocol/messages.ts";
import { Authority, type Certificate, type Wanted } from "../support/certificates.ts";
import { TestFleet } from "../support/fleet.ts";
import { isMissing, testWith } from "../support/programs.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(120_000);

interface Finding {
  readonly subject: string;
  readonly state: string;
  readonly text: string;
  readonly advice?: string;
}

async function doctor(wsh: Wsh, ...machine: readonly string[]): Promise<Finding[]> {
  return JSON.parse((await wsh.run("doctor", ...machine, "--json")).stdout);
}

/** Fault of a certificate, the message, and the remedy. */
const broken: readonly [what: string, wanted: Wanted, text: RegExp, advice: RegExp][] = [
  ["that has ended", { from: -9, until: -1 }, /expired/, /^Renew it .*clock here says \d{4}-/],
  ["that begins in two days", { from: 2 }, /not yet valid/, /^Correct the clock here, .*clock here says \d{4}-/],
  ["for another host", { names: "DNS:other.example.org" }, /for another name/, /^Use an address that it names/],
];

describe("a server with TLS", () => {
  const local = new Wsh();
  afterAll(() => local[Symbol.asyncDispose]());

  /** Steps to a server with that certificate. */
  async function stepsTo({ cert, key }: Certificate, ca: string | null): Promise<Finding[]> {
    await using remote = new Wsh();
    const address = await remote.tcpServer("--tls-cert", cert, "--tls-key", key);
    const trusted = ca === null ? [] : ["--ca", ca];
    await local.run("servers", "add", address, "--name", "m", "--token", (await remote.ok("token")).trim(), ...trusted);
    try {
      return await doctor(local, "m");
    } finally {
      await local.ok("servers", "remove", "m");
    }
  }

  testWith("openssl")("whose certificate is valid, or expires soon", async () => {
    const authority = new Authority(join(local.dir, "right"));
    expect(await stepsTo(authority.sign(), authority.ca)).toMatchObject([
      { subject: "reach", state: "ok" },
      { subject: "TLS", state: "ok", text: expect.stringContaining("an authority of a test, 364 days left") },
      { subject: "version", state: "ok" },
      { subject: "clock", state: "ok" },
    ]);
    const soon = await stepsTo(authority.sign({ until: 3 }), authority.ca);
    expect(soon[1]).toMatchObject({ subject: "TLS", state: "note", advice: expect.stringContaining("renew") });
  });

  testWith("openssl").each(broken)("with a certificate %s", async (_, wanted, text, advice) => {
    const authority = new Authority(join(local.dir, "broken"));
    const steps = await stepsTo(authority.sign(wanted), authority.ca);
    expect(steps).toEqual([
      { subject: "reach", state: "ok", text: expect.any(String) },
      { subject: "TLS", state: "wrong", text: expect.stringMatching(text), advice: expect.stringMatching(advice) },
    ]);
  });

  testWith("openssl")("whose authority is not trusted: another one was given, or none", async () => {
    const [authority, other] = [new Authority(join(local.dir, "own")), new Authority(join(local.dir, "other"))];
    for (const ca of [other.ca, null]) {
      expect((await stepsTo(authority.sign(), ca)).at(-1)).toMatchObject({
        ...{ subject: "TLS", state: "wrong", advice: expect.stringContaining("--ca FILE") },
      });
    }
  });

  test("where nothing listens, and where the listener does not speak TLS", async () => {
    const plain = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("") });
    const address = `https://127.0.0.1:${plain.port}`;
    expect((await doctor(local, address)).at(-1)).toMatchObject({
      ...{ subject: "TLS", state: "wrong", advice: expect.stringContaining("may not speak TLS") },
    });
    await plain.stop(true);
    expect((await doctor(local, address)).at(-1)).toMatchObject({
      ...{ subject: "reach", state: "wrong", advice: expect.stringContaining("the server there") },
    });
  });

  test("whose clock is minutes off", async () => {
    let ahead = 0;
    const hello = { wsh: PROTOCOL_VERSION, version: "0", server_id: "x", hostname: "h" };
    using there = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => Response.json({ ...hello, now: Date.now() + ahead }),
    });
    for (const [ms, text] of [
      [600_000, "600 s ahead of"],
      [-300_000, "300 s behind"],
    ] as const) {
      ahead = ms;
      expect((await doctor(local, `http://127.0.0.1:${there.port}`)).at(-1)).toMatchObject({
        ...{ subject: "clock", state: "note", text: expect.stringContaining(text) },
        advice: expect.stringContaining("NTP"),
      });
    }
  });
});

describe.skipIf(isMissing("openssl", "nats-server"))("a fleet", () => {
  let fleet: TestFleet;
  let authority: Authority;
  let me: Wsh;

  const steps = async (): Promise<Finding[]> => {
    const all = await doctor(me);
    return all.filter(({ subject }) => subject.startsWith("fleet "));
  };
  /** The servers restart with that certificate. */
  const serveWith = async ({ cert, key }: Certificate): Promise<void> => {
    fs.copyFileSync(cert, join(fleet.dir, "server1", serverFiles.certificate));
    fs.copyFileSync(key, join(fleet.dir, "server1", serverFiles.key));
    await fleet.stopServer();
    await fleet.startServer();
  };

  beforeAll(async () => {
    me = new Wsh();
    authority = new Authority(join(me.dir, "fleet"));
    const { cert, key } = authority.sign();
    fleet = await TestFleet.start("--cert", cert, "--key", key, "--ca", authority.ca);
    await me.ok("fleet", "join", packInvitation(await fleet.invited("operate", "me")));
  });
  afterAll(async () => {
    await me[Symbol.asyncDispose]();
    await fleet[Symbol.asyncDispose]();
  });

  test.each(broken)("whose server has a certificate %s", async (_, wanted, text, advice) => {
    await serveWith(authority.sign(wanted));
    expect(await steps()).toEqual([
      { subject: "fleet reach", state: "ok", text: expect.any(String) },
      {
        ...{ subject: "fleet TLS", state: "wrong" },
        ...{ text: expect.stringMatching(text), advice: expect.stringMatching(advice) },
      },
    ]);
  });

  test("whose server has a certificate of another authority", async () => {
    await serveWith(new Authority(join(me.dir, "other")).sign());
    expect((await steps()).at(-1)).toMatchObject({
      ...{ subject: "fleet TLS", state: "wrong", advice: expect.stringContaining("new invitation") },
    });
  });

  test("with a machine whose clock is minutes off, and when the local one is: it differs from several that agree", async () => {
    await serveWith(authority.sign());
    const said: Omit<Beat, "at"> = {
      ...{ boot: "a boot", rev: 1, settled: true, wsh: PROTOCOL_VERSION, version: "0", hostname: "late" },
      ...{ sessions: 0, load: 0, tags: [], accept: "named" },
    };
    const joins = async (name: string): Promise<void> => {
      const machine = await fleet.client(await fleet.credentials("machine", name));
      const beat = (): string => JSON.stringify({ ...said, at: Date.now() - 300_000 });
      machine.subscribe(serviceSubject("PING"), { callback: () => machine.publish(beatSubject(name), beat()) });
      await machine.flush();
    };
    await joins("late");
    expect((await steps()).at(-1)).toMatchObject({
      ...{ subject: "fleet clock", state: "note", text: expect.stringContaining("late -300 s") },
      advice: expect.stringContaining("Either clock may be wrong"),
    });
    await joins("later");
    expect((await steps()).at(-1)).toMatchObject({
      ...{ subject: "fleet clock", state: "note", advice: "Synchronize the clock here with NTP." },
      text: "the clock here is 300 s ahead of those of 2 machines, which agree: it is likely the wrong one",
    });
  });

  test("with credentials that others can read, that have expired, or that belong to another fleet", async () => {
    const file = joinedFile(me.instance);
    const own = fs.readFileSync(file);
    fs.chmodSync(file, 0o644);
    expect(await steps()).toMatchObject([
      { subject: "fleet credentials", state: "wrong", advice: expect.stringContaining("inaccessible to others") },
    ]);
    fs.chmodSync(file, 0o600);
    fs.writeFileSync(file, await fleet.invited("operate", "brief", { expiresAt: Date.now() + 1_000 }));
    const ended = await until("they to end", async () => (await steps()).find(({ state }) => state === "wrong"));
    expect(ended).toMatchObject({
      ...{ subject: "fleet credentials", text: expect.stringContaining("'brief'") },
      advice: expect.stringContaining("new invitation"),
    });
    await using maker = new Wsh();
    const { cert, key } = authority.sign();
    const given = ["--cert", cert, "--key", key, "--ca", authority.ca];
    const dir = join(maker.dir, "fleet");
    await maker.ok("fleet", "init", dir, "--host", "127.0.0.1", "--port", `${fleet.ports.tls}`, ...given);
    const line = await maker.ok("fleet", "invite", "--dir", dir, "--role", "operate", "--name", "me");
    fs.writeFileSync(file, unpackInvitation(line.trim()));
    expect((await steps()).at(-1)).toMatchObject({
      ...{ subject: "fleet credentials", state: "wrong", advice: expect.stringContaining("another fleet") },
    });
    fs.writeFileSync(file, own);
  });
});
