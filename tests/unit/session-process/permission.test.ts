/** Calls that a person has allowed ahead. */
import { expect, spyOn, test } from "bun:test";
import { Permission, type PermissionPort, type PermissionSubject } from "../../../src/session-process/permission.ts";
import { testInstance } from "../../support/registry.ts";

test("calls that are allowed ahead and never made take no room from later ones", async () => {
  using place = testInstance();
  let asked = 0;
  const questions = {
    personPresence: () => ({ people: 1, acted_ms: 0 }),
    retract: () => {},
    async ask() {
      asked++;
      return { state: "answered", answered_by: "terminal", answer: "Once", decided_by: "answered" };
    },
  };
  const permission = new Permission({
    instance: place.instance,
    settings: { agents_may: "own", public_url: "", notify_text: "full" },
    session: { name: "dev", tags: [], isAllowed: () => false, allow: () => {}, questions },
    eventConsumers: () => [],
    audit: () => null,
  } as unknown as PermissionPort);
  const subject: PermissionSubject = {
    owners: [null],
    pane: "@1",
    isPrivate: false,
    describe: () => ["pane @1"],
    fingerprint: () => "same",
  };
  const operation = { name: "input.send", access: "operate", summary: "Type" } as const;
  const caller = { kind: "cli", id: "x", agent: "claude", connected: true } as const;
  const require = (n: number, ahead: boolean): Promise<void> => {
    const request = { op: "input.send", input: { n }, caller, signal: new AbortController().signal };
    return permission.require(request, operation, () => subject, ahead);
  };
  for (let n = 0; n < 70; n++) await require(n, true);
  const later = performance.now() + 1_000_000;
  using _ = spyOn(performance, "now").mockImplementation(() => later);
  await require(71, true);
  expect(asked).toBe(71);
  await require(71, false);
  expect(asked).toBe(71);
  await require(71, false);
  expect(asked).toBe(72);
});
