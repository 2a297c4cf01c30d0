/** What is recorded of sessions, and that readers get each event once. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { eventsDir } from "../../src/events/segments.ts";
import { readEvents } from "../../src/events/selected.ts";
import type { RecordedEvent } from "../../src/protocol/recorded-events.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

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

test("a session's life, commands, words and state", async () => {
  await wsh.session("one", "--tag", "ci");
  await wsh.run("exec", "one", "--", "printf '\\a\\033]9;look\\033\\\\'; false");
  await wsh.ok("send", "one", "--enter", "read secret");
  await until("the state", async () =>
    (await recorded("one", "--type", "state_changed")).find(({ state }) => state === "waiting_for_input"),
  );
  await wsh.ok("send", "one", "--enter", "");
  await until("the end of the command", async () => {
    return (await recorded("one", "--type", "command_finished")).length === 2;
  });
  await wsh.ok("rename", "one", "two");
  await wsh.ok("kill", "two");
  const events = await recorded();
  const names = events.map(({ event }) => event);
  expect(names.slice(0, 2)).toEqual(["session_created", "command_started"]);
  expect(names.slice(-3)).toEqual(["session_renamed", "session_exited", "session_destroyed"]);
  expect(names).toContainValues(["bell", "notification"]);
  const ended = events.find(({ event }) => event === "command_finished");
  expect(ended).toMatchObject({ session: "one", session_id: "@s1", tags: ["ci"], pane: "@1", window: "@w1" });
  expect(ended).toMatchObject({ exit_code: 1, signal: null, duration_ms: expect.any(Number), cwd: wsh.dir });
  expect(ended?.command).toContain("look");
  // Behind any cursor, what follows, and only that.
  const third = events[2]?.cursor ?? "";
  expect(parsed(await wsh.ok("events", "--since", third, "--no-follow"))).toEqual(events.slice(3));
});

test("ports, long silence, and programs that only wait", async () => {
  await wsh.session("serves");
  const code = "import socket,time;s=socket.socket();s.bind(('127.0.0.1',0));s.listen();time.sleep(60)";
  await wsh.ok("send", "serves", "--enter", `python3 -c "${code}"`);
  const found = await until("a port and quiet", async () => {
    const events = await recorded("serves", "--type", "port_opened,quiet");
    return events.length >= 2 ? events : null;
  });
  expect(found.find(({ event }) => event === "port_opened")).toMatchObject({
    port: expect.any(Number),
    program: "python3",
  });
  await wsh.ok("send", "serves", "--keys", "Ctrl+C");
  await until("the port to close", async () => (await recorded("serves", "--type", "port_closed")).length === 1);
  await wsh.ok("kill", "serves");
});

test("a private session's words are written nowhere", async () => {
  await wsh.session("mine", "--private");
  await wsh.ok("exec", "mine", "--", "echo tell-nobody");
  await wsh.ok("kill", "mine");
  const events = await recorded("mine");
  expect(events.map(({ event }) => event)).toContain("command_finished");
  expect(JSON.stringify(events)).not.toContain("tell-nobody");
});

test("a server that is killed again and again loses and doubles nothing", async () => {
  await wsh.session("busy");
  const { cursor } = await readEvents(
    eventsDir(wsh.instance),
    { since: "now", wait_ms: 0, limit: 1, type: [], session: [], tag: [] },
    AbortSignal.timeout(5_000),
  );
  const commands = 30;
  const follower = wsh.spawn([
    "events",
    "busy",
    "--since",
    cursor,
    "--type",
    "command_finished",
    "--count",
    `${commands}`,
  ]);
  let since = cursor;
  const overHttp: Printed[] = [];
  const read = async (): Promise<void> => {
    const answer = await wsh.fetch(`/events?since=${since}&session=busy&type=command_finished&wait_ms=200`);
    const page = (await answer.json()) as { events: Printed[]; cursor: string };
    since = page.cursor;
    overHttp.push(...page.events);
  };
  let server = await wsh.server();
  for (let at = 0; at < commands; at++) {
    await wsh.ok("exec", "busy", "--", `echo ${at}`);
    if (at % 10 === 5) {
      await read();
      await server.kill("SIGKILL");
      server = await wsh.server();
    }
  }
  while (overHttp.length < commands) await read();
  const printed = parsed(await new Response(follower.stdout).text());
  const wanted = Array.from({ length: commands }, (_, at) => `echo ${at}`);
  expect(printed.map(({ command }) => command)).toEqual(wanted);
  expect(overHttp.map(({ command }) => command)).toEqual(wanted);
  await server.kill("SIGTERM");
}, 60_000);

test("a session whose process is killed is recorded as gone, once", async () => {
  const { id } = await wsh.session("lost");
  for (const pid of wsh.hosts()) process.kill(pid, "SIGKILL");
  const ends = await until("its end", async () => {
    await wsh.ok("list");
    const found = (await recorded(id)).filter(({ event }) => event === "session_destroyed");
    return found.length > 0 ? found : null;
  });
  expect(ends.map(({ reason }) => reason)).toEqual(["session_crashed"]);
  await wsh.ok("list");
  expect((await recorded(id)).filter(({ event }) => event === "session_destroyed")).toHaveLength(1);
});
