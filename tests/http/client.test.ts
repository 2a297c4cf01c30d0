/** The typed client: calls, errors, events, tickets, the Unix socket; types come from the operation table. */
import { expect, test } from "bun:test";
import {
  connect,
  type LifecycleEvent,
  type SessionInfo,
  type SubscribedEvent,
  TerminalFailure,
  terminals,
  WshError,
} from "wsh/client";
import { TOKEN } from "../support/server.ts";
import { sharedGateway } from "../support/shared.ts";
import { until } from "../support/until.ts";

const gateway = sharedGateway();

test("makes a session, runs in it, reads it, and receives events", async () => {
  using client = await connect({ url: gateway.origin, token: TOKEN });
  const life: LifecycleEvent[] = [];
  using _life = client.onLifecycle((event) => void life.push(event));
  const session: SessionInfo = await client.call("sessions.create", { name: "typed", shell: "bash" });
  expect(session.name).toBe("typed");
  await client.call("wait", { any_of: ["prompt"] }, "typed");

  const heard: SubscribedEvent[] = [];
  await using _subscription = await client.subscribe("typed", { events: ["lines"], format: "plain" }, (event) => {
    heard.push(event);
  });
  const result = await client.call(
    "exec",
    { command: "echo typed-$((1+1)); exit_code() { return 5; }; exit_code" },
    "typed",
  );
  expect(result).toMatchObject({ state: "finished", exit_code: 5, output: "typed-2" });
  const screen = await client.call("screen.get", { format: "plain" }, session.id);
  expect(screen.lines).toContain("typed-2");
  await until("the line", () =>
    heard.some((event) => "event" in event && event.event === "line" && event.line === "typed-2"),
  );
  expect(heard[0]).toMatchObject({ event: "sync", session: "typed" });

  await client.call("session.update", { name: "renamed" }, "typed");
  const before = heard.length;
  await client.call("exec", { command: "echo after" }, "renamed");
  await until("an event after the rename", () => heard.length > before);
  await client.call("session.kill", {}, "renamed");
  await until("the end", () => life.some((event) => event.event === "session_destroyed"));
  expect(life.map(({ event }) => event)).toContain("session_renamed");
});

test("drives a terminal as scripts do: commands, questions, failures with the screen", async () => {
  using client = await connect({ url: gateway.origin, token: TOKEN });
  const { open, closeAll } = terminals(client);
  const terminal = await open({ shell: "bash" });
  expect(await terminal.exec("echo $((40 + 2)); false")).toMatchObject({ output: "42", exit_code: 1 });
  await terminal.run("read -p 'Sure? ' x; echo said $x");
  await terminal.expect(/Sure\?/);
  await terminal.type("yes\n");
  expect((await terminal.expect(/said (\w+)/))[1]).toBe("yes");
  const failure = await terminal.expect("never", { timeout: 20 }).catch((thrown: unknown) => thrown);
  expect(failure).toBeInstanceOf(TerminalFailure);
  expect(String(failure)).toMatch(/did not appear.*\nState: .*\nScreen of /);
  await closeAll();
});

test("a refusal is a WshError with its code", async () => {
  using client = await connect({ url: gateway.origin, token: TOKEN });
  const failure = await client.call("screen.get", {}, "nobody").catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(WshError);
  expect(failure).toMatchObject({ code: "session_not_found", status: 404, hint: expect.any(String) });
  expect(connect({ url: gateway.origin, token: "wrong-wrong-wrong" })).rejects.toMatchObject({ code: "auth_invalid" });
  expect(connect({ url: "http://127.0.0.1:1", token: TOKEN })).rejects.toMatchObject({ code: "server_unavailable" });
  expect(connect({ url: gateway.origin })).rejects.toMatchObject({ code: "server_unavailable" });
});

test("over the Unix socket, without a token", async () => {
  using client = await connect({ socket: gateway.instance.httpSocket });
  expect((await client.call("server.info", {})).version).toBe("0.1.0");
});

test("a wait is rejected when the connection ends; a new connection continues", async () => {
  const client = await connect({ url: gateway.origin, token: TOKEN });
  await client.call("sessions.create", { name: "stays", shell: "/bin/sh" });
  const waiting = client.call("wait", { any_of: ["exited"], max_wait_ms: 60_000 }, "stays").catch((error) => error);
  await client.call("session.get", {}, "stays");
  await gateway.end("SIGKILL");
  expect(await waiting).toMatchObject({ code: "server_unavailable" });
  await client.closed;
  await gateway.serve();
  using again = await connect({ url: gateway.origin, token: TOKEN });
  expect((await again.call("session.get", {}, "stays")).running).toBe(true);
});
