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
    shownIn: null,
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

test("a permission for the session does not cover its process's pane that another session shows", async () => {
  using place = testInstance();
  const asked: { readonly question: string; readonly choices?: readonly string[] }[] = [];
  const answers = ["In this session", "Once", "Once"];
  const allowed = new Set<string>();
  const questions = {
    personPresence: () => ({ people: 1, acted_ms: 0 }),
    retract: () => {},
    async ask(question: { readonly question: string; readonly choices: readonly string[] }) {
      asked.push(question);
      return { state: "answered", answered_by: "terminal", answer: answers.shift(), decided_by: "answered" };
    },
  };
  const permission = new Permission({
    instance: place.instance,
    settings: { agents_may: "own", public_url: "", notify_text: "full" },
    session: {
      ...{ name: "host", tags: [], questions },
      isAllowed: (name: string) => allowed.has(name),
      allow: (name: string) => allowed.add(name),
    },
    eventConsumers: () => [],
    audit: () => null,
  } as unknown as PermissionPort);
  const operation = { name: "input.send", access: "operate", summary: "Type" } as const;
  const caller = { kind: "cli", id: "x", agent: "claude", connected: true } as const;
  const type = (shownIn: string | null): Promise<void> => {
    const subject = {
      owners: [null],
      pane: "@1",
      isPrivate: false,
      shownIn,
      describe: () => [],
      fingerprint: () => "",
    };
    const request = { op: "input.send", input: {}, caller, signal: new AbortController().signal };
    return permission.require(request, operation, () => subject);
  };
  await type(null);
  await type(null);
  expect(asked).toHaveLength(1);
  await type("desk");
  await type("desk");
  expect(asked.map(({ question }) => question.match(/session '\w+'/)?.[0])).toEqual([
    ...["session 'host'", "session 'desk'", "session 'desk'"],
  ]);
  expect(asked[1]?.choices).toEqual(["Once", "Always, everywhere", "No"]);
  // It moves while the person is asked.
  allowed.clear();
  answers.push("In this session");
  const places = [null, "desk"];
  const subject = () => ({
    ...{ owners: [null], pane: "@1", isPrivate: false, describe: () => [], fingerprint: () => "" },
    shownIn: places.shift() ?? null,
  });
  const request = { op: "input.send", input: {}, caller, signal: new AbortController().signal };
  await expect(permission.require(request, operation, subject)).rejects.toMatchObject({ code: "access_denied" });
});
