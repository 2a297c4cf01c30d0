/** Events of sessions are recorded, and readers get each event once. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { EventJournal } from "../../src/events/journal.ts";
import { eventsDir } from "../../src/events/segments.ts";
import { readEvents } from "../../src/events/selection.ts";
import { sessionSocket } from "../../src/instance/paths.ts";
import type { RecordedEvent } from "../../src/protocol/recorded-events.ts";
import { Connection } from "../../src/wire/connection.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const isFull = process.env.WSH_TEST_FULL === "1";
/** Events, pauses among them, and the number of changes from one kill of the server to the next. */
const EVENTS = isFull ? 10_000 : 600;
const CHANGES = EVENTS / 2;
const [A_ROUND, ROUND_MS, A_KILL] = [isFull ? 250 : 60, isFull ? 1_000 : 100, isFull ? 250 : 100];

let wsh: Wsh;
beforeAll(() => {
  wsh = new Wsh({ config: "long_command_seconds = 1\n" });
});
afterAll(async () => wsh[Symbol.asyncDispose]());

type Printed = RecordedEvent & { readonly cursor: string };

const parsed = (text: string): Printed[] =>
  text
    .trimEnd()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

async function recorded(...args: readonly string[]): Promise<Printed[]> {
  return parsed(await wsh.ok("events", ...args, "--since", "start", "--no-follow"));
}

/** The events of these types of a session, by its name or id: without the command, for conditions that are waited for. */
async function journal(session: string, ...types: readonly RecordedEvent["event"][]) {
  const all = { since: "start", wait_ms: 0, limit: 10_000, type: [...types], session: [], tag: [] };
  const { events } = await readEvents(eventsDir(wsh.instance), all, AbortSignal.timeout(5_000));
  return events.filter((each) => each.session === session || each.session_id === session);
}

test("a session's life, commands, words and state", async () => {
  await wsh.session("one", "--tag", "ci");
  await wsh.run("exec", "one", "--", "printf '\\a\\033]9;look\\033\\\\'; false");
  await wsh.enter("one", "read secret");
  await until("the state", async () =>
    (await journal("one", "state_changed")).find(({ state }) => state === "waiting_for_input"),
  );
  await wsh.enter("one", "");
  await until("the end of the command", async () => {
    return (await journal("one", "command_finished")).length === 2;
  });
  await wsh.ok("rename", "one", "two");
  await wsh.kill("two");
  const events = await recorded();
  // Under load the shell is seen working on its prompt.
  const names = events.map(({ event }) => event).filter((event) => event !== "state_changed");
  expect(names.slice(0, 2)).toEqual(["session_created", "command_started"]);
  expect(names.slice(-3)).toEqual(["session_renamed", "session_exited", "session_destroyed"]);
  expect(names).toContainValues(["bell", "notification"]);
  const ended = events.find(({ event }) => event === "command_finished");
  expect(ended).toMatchObject({ session: "one", session_id: "@s1", tags: ["ci"], pane: "@1", window: "@w1" });
  expect(ended).toMatchObject({ exit_code: 1, signal: null, duration_ms: expect.any(Number), cwd: wsh.dir });
  expect(ended?.command).toContain("look");
  // After any cursor, exactly the following events.
  const third = events[2]?.cursor ?? "";
  expect(parsed(await wsh.ok("events", "--since", third, "--no-follow"))).toEqual(events.slice(3));
});

test("a pane that came from another session has that session's window, tags, name and hooks in its events", async () => {
  await wsh.session("from");
  await wsh.session("to", "--tag", "moved");
  const pane = (await wsh.ok("split", "from")).trim();
  await wsh.ok("pane", "move", pane, "--to", "to");
  await wsh.exec(pane, "echo a");
  const before = await recorded("to", "--tag", "moved", "--type", "command_finished");
  expect(before).toMatchObject([{ pane, tags: ["moved"], session: "to", window: expect.stringMatching(/^@w/) }]);
  await wsh.kill("from");
  await wsh.ok("rename", "to", "onto");
  await wsh.ok("tag", "onto", "--add", "more");
  await wsh.exec(pane, "echo b");
  const since = before[0]?.cursor ?? "";
  const after = await wsh.ok("events", "onto", "--since", since, "--no-follow", "--type", "command_finished");
  expect(parsed(after)).toMatchObject([{ pane, tags: ["more", "moved"], session: "onto" }]);
  await wsh.ok("private", "onto", "on");
  await wsh.exec(pane, "echo secret");
  const [, , last] = await recorded("onto", "to", "--type", "command_finished");
  expect(last).toMatchObject({ pane, private: true, session: "onto" });
  expect(last).not.toHaveProperty("command");
  await wsh.kill("onto");
});

test("events of a pane whose session has crashed have that session's last name and tags", async () => {
  await wsh.session("carries");
  const { id } = await wsh.session("has", "--tag", "one");
  const pane = (await wsh.ok("split", "carries")).trim();
  await wsh.ok("pane", "move", pane, "--to", "has");
  await wsh.ok("rename", "has", "had");
  await wsh.ok("tag", "had", "--add", "two");
  // It goes on without its session's process, which another one records.
  await wsh.ok("send", pane, "for i in $(seq 400); do printf '\\033]9;n%s\\007' $i; sleep 0.1; done", "--enter");
  await until("the first", async () => (await journal(id, "notification")).length > 0);
  await wsh.killHost(-1);
  const orphans = async () => (await journal(id, "notification")).filter(({ window }) => window === undefined);
  const [orphan] = await until("one without its session", async () =>
    (await orphans()).length > 0 ? orphans() : null,
  );
  expect(orphan).toMatchObject({ pane, session: "had", session_id: id, tags: ["one", "two"] });
  await wsh.kill("carries");
});

test("a session that never was is refused, one that has ended is not", async () => {
  await wsh.server();
  for (const args of [["nosess"], ["nosess", "--since", "start", "--no-follow"], ["@s9999"]]) {
    const { code, stderr } = await wsh.run("events", ...args);
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining("no session '") });
    expect(stderr).toContain("Without a name, the events of all sessions are read");
  }
  expect(await wsh.run("events", "no-such-machine/dev")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("no machine 'no-such-machine'"),
  });
  expect((await wsh.fetch("/events?session=nosess&wait_ms=60000")).status).toBe(404);
  await wsh.session("over");
  await wsh.ok("rename", "over", "was");
  await wsh.kill("was");
  for (const name of ["over", "was"]) expect(await recorded(name)).not.toEqual([]);
  expect((await wsh.fetch("/events?session=over&since=start")).status).toBe(200);
});

test("a session that is renamed while its events are followed is followed on", async () => {
  await wsh.session("before");
  const since = (await recorded("before")).at(-1)?.cursor ?? "";
  const wanted = ["before", "--since", since, "--type", "command_finished", "--count", "2"];
  const following = wsh.spawn(["events", ...wanted]);
  await wsh.exec("before", "true");
  const reader = following.stdout.getReader();
  const first = await reader.read();
  await wsh.ok("rename", "before", "after");
  await wsh.exec("after", "true");
  const second = await reader.read();
  const printed = [first, second].map(({ value }) => new TextDecoder().decode(value)).join("");
  expect(parsed(printed).map(({ session }) => session)).toEqual(["before", "after"]);
  expect(await following.exited).toBe(0);
  await wsh.kill("after");
});

test("ports, long silence, and programs that only wait", async () => {
  await wsh.session("serves");
  const code = "import socket,time;s=socket.socket();s.bind(('127.0.0.1',0));s.listen();time.sleep(60)";
  await wsh.enter("serves", `python3 -c "${code}"`);
  const found = await until("a port and quiet", async () => {
    const events = await journal("serves", "port_opened", "quiet");
    return ["port_opened", "quiet"].every((type) => events.some(({ event }) => event === type)) ? events : null;
  });
  expect(found.find(({ event }) => event === "port_opened")).toMatchObject({
    port: expect.any(Number),
    program: "python3",
  });
  await wsh.ok("send", "serves", "--keys", "Ctrl+C");
  await until("the port to close", async () => (await journal("serves", "port_closed")).length === 1);
  await wsh.kill("serves");
});

test("a private session's commands are not written to disk", async () => {
  await wsh.session("mine", "--private");
  await wsh.exec("mine", "echo tell-nobody");
  await wsh.kill("mine");
  const events = await recorded("mine");
  expect(events.map(({ event }) => event)).toContain("command_finished");
  expect(JSON.stringify(events)).not.toContain("tell-nobody");
});

test("a repeatedly killed server loses and duplicates no event", async () => {
  const { pane_id } = await wsh.session("busy");
  const { cursor } = await readEvents(
    eventsDir(wsh.instance),
    { since: "now", wait_ms: 0, limit: 1, type: [], session: [], tag: [] },
    AbortSignal.timeout(5_000),
  );
  const asked = ["busy", "--since", cursor, "--type", "session_tags_changed", "--count", `${EVENTS}`];
  const printed = new Response(wsh.spawn(["events", ...asked]).stdout).text();
  let since = cursor;
  const overHttp: Printed[] = [];
  const read = async (): Promise<void> => {
    // The server may have been killed since.
    const answer = await wsh
      .fetch(`/events?since=${since}&session=busy&type=session_tags_changed&wait_ms=200`)
      .then((response) => (response.ok ? response.json() : null))
      .catch(() => null);
    if (answer === null) return Bun.sleep(50);
    const page = answer as { events: Printed[]; cursor: string };
    since = page.cursor;
    overHttp.push(...page.events);
  };
  const reading = (async () => {
    while (overHttp.length < EVENTS) await read();
  })();
  const { connection } = await Connection.open(sessionSocket(wsh.instance, Number(pane_id.slice(1))), "cli");
  const by = { caller: { kind: "cli", id: "test", connected: true }, access: "admin" } as const;
  let server = await wsh.server();
  for (let at = 0; at < CHANGES; at++) {
    await connection.request(
      "session.update",
      { add_tags: [`t${at}`], remove_tags: at === 0 ? [] : [`t${at - 1}`] },
      by,
    );
    if (at % A_ROUND === A_ROUND - 1) await Bun.sleep(ROUND_MS);
    if (at % A_KILL !== A_KILL / 2) continue;
    await server.kill("SIGKILL");
    server = await wsh.server();
  }
  // One event for the addition, one for the removal.
  await connection.request("session.update", { add_tags: [], remove_tags: [`t${CHANGES - 1}`] }, by);
  connection.close();
  await reading;
  const told = (events: readonly Printed[], what: "added" | "removed"): unknown[] =>
    events.flatMap((event) => (event[what] as string[] | undefined) ?? []);
  const wanted = Array.from({ length: CHANGES }, (_, at) => `t${at}`);
  for (const events of [parsed(await printed), overHttp, parsed(await wsh.ok("events", ...asked, "--no-follow"))]) {
    expect(events).toHaveLength(EVENTS);
    for (const what of ["added", "removed"] as const) expect(told(events, what)).toEqual(wanted);
  }
  await server.kill("SIGTERM");
}, 180_000);

test("a crashed session is recorded as gone, once", async () => {
  const { id } = await wsh.session("lost");
  await wsh.ok("tag", "lost", "--add", "ci");
  for (const pid of wsh.hosts()) process.kill(pid, "SIGKILL");
  const ends = await until("its end", async () => {
    await wsh.ok("list");
    const found = (await recorded(id)).filter(({ event }) => event === "session_destroyed");
    return found.length > 0 ? found : null;
  });
  expect(ends).toMatchObject([{ reason: "session_crashed", session: "lost", tags: ["ci"] }]);
  await wsh.ok("list");
  expect((await recorded(id)).filter(({ event }) => event === "session_destroyed")).toHaveLength(1);
  // A process that dies at its very end has reported it itself.
  const { id: second } = await wsh.session("lost");
  const own = { event: "session_destroyed", at: 1, session: "lost", session_id: second, tags: [], reason: "killed" };
  new EventJournal(eventsDir(wsh.instance), () => {}).append(own);
  await wsh.killHost(-1);
  await until("its end", () => wsh.hosts().length === 0);
  await wsh.ok("list");
  expect((await recorded(second)).filter(({ event }) => event === "session_destroyed")).toHaveLength(1);
});
