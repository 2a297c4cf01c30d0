/** Data on other machines that is kept across starts: one machine's bad data spoils nothing of the others. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { Members, memberSessions } from "../../../src/cluster/fleet/members.ts";
import { RememberedMembers } from "../../../src/cluster/fleet/remembered-members.ts";
import { readLastKnown, writeLastKnown } from "../../../src/cluster/last-known.ts";
import { type Instance, resolveInstance } from "../../../src/instance/paths.ts";
import { sessionInfo } from "../../support/session-info.ts";

let dir = "";
let instance: Instance;
beforeEach(() => {
  dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-remembered-"));
  instance = resolveInstance({ env: { XDG_RUNTIME_DIR: dir, XDG_STATE_HOME: dir, HOME: dir } });
});
afterEach(() => fs.rmSync(dir, { recursive: true, force: true }));

/** As JSON reads 1e999: JSON cannot write it. */
const impossible = sessionInfo({ idle_ms: Number.POSITIVE_INFINITY });

function members(): Members {
  return new Members({
    ...{ now: () => performance.now(), isUp: () => true, isRejected: () => false },
    ...{ leaving: () => {}, reconnected: () => {} },
  });
}

test("of added machines", () => {
  writeLastKnown(instance, "good", [sessionInfo()]);
  writeLastKnown(instance, "bad", [impossible]);
  expect(readLastKnown(instance, "good")?.sessions).toMatchObject([{ name: "dev" }]);
  expect(readLastKnown(instance, "bad")).toBeNull();
});

test("of a fleet's machines", () => {
  const before = members();
  const told = { reportedAt: Date.now(), boot: "b", rev: 1 };
  before.remember("good", null, memberSessions("good", [sessionInfo()], told), Date.now());
  before.remember("bad", null, memberSessions("bad", [impossible], told), Date.now());
  const first = new RememberedMembers(instance, before);
  first.writeChanges();
  first.stop();
  const after = members();
  new RememberedMembers(instance, after);
  expect(after.lastList("good")?.sessions.map(({ info }) => info.name)).toEqual(["good/dev"]);
  expect(after.lastList("bad")).toBeNull();
});
