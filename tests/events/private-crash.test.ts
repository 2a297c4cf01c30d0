/** Events of a private session that has crashed, and of its pane in another process. */
import { expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import type { RecordedEvent } from "../../src/protocol/recorded-events.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);

test("its crash tells an agent no tags, and its pane in another process no words", async () => {
  await using wsh = new Wsh();
  await wsh.server();
  const { id } = await wsh.session("desk", "--private", "--tag", "hidden-tag", "--", "cat");
  await wsh.session("work", "--", "cat");
  const go = join(wsh.dir, "go");
  // Again and again: one may still go to the process that has died.
  const waiting = `until [ -e '${go}' ]; do sleep 0.05; done; while :; do printf '\\033]9;hidden\\007'; sleep 0.1; done`;
  const pane = (await wsh.ok("split", "work", "--", "sh", "-c", waiting)).trim();
  await wsh.ok("pane", "move", pane, "--to", "desk");
  await wsh.killHost(-2);
  fs.writeFileSync(go, "");
  const recorded = async (): Promise<RecordedEvent[]> =>
    (await wsh.ok("events", "--since", "start", "--no-follow"))
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  const [told, gone] = await until("the crash and the notification", async () => {
    await wsh.ok("list");
    const all = (await recorded()).filter(({ session_id }) => session_id === id);
    const found = ["notification", "session_destroyed"].map((name) => all.find(({ event }) => event === name));
    return found.every((each) => each !== undefined) ? found : null;
  });
  expect(told).toMatchObject({ private: true, pane });
  expect(gone).toMatchObject({ private: true, reason: "session_crashed", tags: ["hidden-tag"] });
  expect(told?.text).toBeUndefined();
  const byAgent = await wsh.fetch("/events?since=start&wait_ms=0", { headers: { "Wsh-Agent": "claude" } });
  const seen = await byAgent.text();
  expect(seen).toContain("session_destroyed");
  expect(seen).not.toContain("hidden-tag");
});
