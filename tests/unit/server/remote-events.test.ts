/** A subscriber to the machines of a large fleet delays nobody else. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { Members } from "../../../src/cluster/fleet/members.ts";
import { Machines } from "../../../src/cluster/machines.ts";
import { resolveInstance } from "../../../src/instance/paths.ts";
import { PROTOCOL_VERSION } from "../../../src/protocol/messages.ts";
import { RemoteEvents } from "../../../src/server/machines/remote-events.ts";

const MACHINES = 10_000;
/** Processor time of a check of all, in ms: far more than needed; comparing each with all others takes 1,500. */
const LOOK_MS = 300;

test("a check of the machines of a fleet of ten thousand takes almost no time", () => {
  const dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-watch-"));
  const instance = resolveInstance({ env: { XDG_RUNTIME_DIR: dir, XDG_STATE_HOME: dir, HOME: dir } });
  const members = new Members({
    ...{ now: () => performance.now(), isUp: () => true, isRejected: () => false },
    ...{ leaving: () => {}, reconnected: () => {} },
  });
  for (let at = 0; at < MACHINES; at++) {
    members.heartbeatReceived(`s${at}`, {
      ...{ boot: `boot of s${at}`, rev: 1, settled: true, wsh: PROTOCOL_VERSION, version: "0", hostname: `s${at}` },
      ...{ at: Date.now(), sessions: 0, load: 0, tags: [], accept: "named" },
    });
  }
  const machines = new Machines({ instance, ssh: { command: ["ssh"] } as never });
  machines.fleet = { members } as never;
  const before = process.cpuUsage();
  const told: unknown[] = [];
  using _ = new RemoteEvents(machines).watch(null, (event) => told.push(event));
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(LOOK_MS);
  // Events of the fleet go only to subscribers that name it.
  expect(told).toEqual([]);
  expect([machines.isOfFleet("s9999"), machines.isOfFleet("s10000")]).toEqual([true, false]);
  fs.rmSync(dir, { recursive: true });
});
