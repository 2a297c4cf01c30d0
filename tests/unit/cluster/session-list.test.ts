/** JSON of lists, which is assembled from cached parts, compared with its sessions. */
import { expect, test } from "bun:test";
import { asJson, asSessions, jsonOf, type ListForm, listedSession } from "../../../src/cluster/session-list.ts";
import type { SessionInfo } from "../../../src/protocol/session.ts";
import { sessionInfo } from "../../support/session-info.ts";

/** A list with every way in which a session gets into one. */
function listOf<T>(form: ListForm<T>, own: SessionInfo, remote: readonly SessionInfo[]): T[] {
  const list: T[] = [];
  form.add(list, own);
  for (const info of remote) {
    form.addAged(list, listedSession("m1", info), 5);
    form.addLastSeen(list, listedSession("m1", info), 1_234);
  }
  return list;
}

const remote = [
  sessionInfo(),
  sessionInfo({ idle_ms: 70, state: "waiting_for_input", title: "ünï 😀" }),
  sessionInfo({ as_of: 7, running: false, state: "crashed", crashed: { saved_at: 1, why: "killed" } }),
];

test("JSON of a list equals that of its sessions", () => {
  expect(JSON.parse(jsonOf(listOf(asJson, sessionInfo(), remote)))).toEqual(listOf(asSessions, sessionInfo(), remote));
  expect(jsonOf([])).toBe("[]");
  for (const form of ["add", "addAged", "addLastSeen"] as const) {
    const list: string[] = [];
    if (form === "add") asJson.add(list, sessionInfo());
    else asJson[form](list, listedSession("m1", sessionInfo()), 1);
    expect(JSON.parse(jsonOf(list))).toHaveLength(1);
  }
});

test("ages grow, and a session whose machine does not answer has the time since", () => {
  const [, aged, lastSeen] = JSON.parse(jsonOf(listOf(asJson, sessionInfo(), [sessionInfo({ idle_ms: 70 })])));
  expect(aged).toMatchObject({ id: "m1/@s3", name: "m1/dev", state: "prompt", last_activity_ms: 45, idle_ms: 75 });
  expect(aged.as_of).toBeUndefined();
  expect(lastSeen).toMatchObject({ state: "unresponsive", as_of: 1_234, last_activity_ms: 40, idle_ms: 70 });
});

test("another machine's data spoils no list", () => {
  const said = JSON.parse(
    JSON.stringify(sessionInfo({ idle_ms: 3 })).replace(
      '"idle_ms":3',
      '"idle_ms":1e999,"__proto__":{"name":"x"},"toJSON":1',
    ),
  );
  const [, aged] = JSON.parse(jsonOf(listOf(asJson, sessionInfo(), [said])));
  expect(aged.idle_ms).toBeNull();
  expect(aged.name).toBe("m1/dev");
});
