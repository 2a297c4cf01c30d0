/** AI agents: a fake one reports its state by hooks and output, and every interface shows it. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Http } from "../support/http.ts";
import { shared } from "../support/shared.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";
import { program } from "../support/wsh-program.ts";

setDefaultTimeout(40_000);

const wsh = shared(new Wsh());
const http = new Http({ unix: wsh.instance.httpSocket });

const hookCommand = (agent: string, event: string): string =>
  `[ -n "$WSH_PANE" ] && ${program.join(" ")} hook ${agent} ${event} >/dev/null 2>&1; exit 0`;

/** A program of that name: each input line says what it does. */
function fakeAgent(name: string): string {
  const file = join(wsh.dir, name);
  writeFileSync(
    file,
    `#!/bin/bash
while read -r -p '> ' what event payload; do
  case $what in
    hook) printf '%s' "$payload" | EVENT="$event" sh -c '${hookCommand("claude", '"$EVENT"')}';;
    nested) bash -c "bash ${join(wsh.dir, "codex")}; true";;
    osc) printf '\\e]%s\\e\\\\' "$event $payload";;
    bye) exit 0;;
  esac
done
`,
  );
  chmodSync(file, 0o755);
  return file;
}

interface Agent {
  readonly name: string;
  readonly state: string;
  readonly source: string;
  readonly message?: string;
}

async function agentOf(session: string): Promise<Agent | undefined> {
  const { body } = await http.get(`/sessions/${session}`);
  return (body as { agent?: Agent }).agent;
}

const type = (session: string, line: string): Promise<unknown> => wsh.ok("send", session, line, "--keys", "Enter");

test("an agent's hooks set its state in the list, in waits and in wsh agents, until the agent ends", async () => {
  const claude = fakeAgent("claude");
  writeFileSync(join(wsh.dir, "codex"), `sh -c '${hookCommand("codex", "Stop")}' </dev/null\n`);
  await wsh.ok("new", "one", "--", "bash", "--norc");
  await wsh.ok("new", "two", "--", claude);
  await type("one", claude);
  await until("the agent is seen to do it", async () => (await agentOf("one"))?.name === "claude");
  await until("the agent is seen to do it", async () => (await agentOf("two"))?.name === "claude");

  await type("one", "hook UserPromptSubmit {}");
  await until("the agent is seen to do it", async () => (await agentOf("one"))?.source === "hook");
  const waiting = wsh.ok("wait", "one", "agent=needs_input", "--timeout", "30", "--json");
  await type("one", 'hook Notification {"notification_type":"permission_prompt","message":"may I?"}');
  const result = JSON.parse(await waiting);
  expect(result).toMatchObject({
    decided_by: "agent",
    agent: { name: "claude", state: "needs_input", message: "may I?" },
  });
  // Already in this state: at once.
  expect(await wsh.ok("wait", "one", "--agent", "needs_input")).toBe("agent\n");

  // An agent that it runs itself changes nothing.
  await type("one", "nested");
  await type("one", "hook SubagentStop {}");
  await until("the agent is seen to do it", async () => (await wsh.screen("one")).includes("hook SubagentStop"));
  expect(await agentOf("one")).toMatchObject({ name: "claude", state: "needs_input" });

  await type("two", "hook Stop {}");
  await until("the agent is seen to do it", async () => (await agentOf("two"))?.state === "done");
  const listed = JSON.parse(await wsh.ok("agents", "--json"));
  expect(listed).toMatchObject([
    { session: "one", name: "claude", state: "needs_input", message: "may I?" },
    { session: "two", name: "claude", state: "done", source: "hook" },
  ]);
  const table = await wsh.ok("agents");
  expect(table.split("\n")[1]).toMatch(/^needs input \(hook\) +\d+\w +claude +one +.*may I\?$/);
  expect(await wsh.ok("list")).toContain("claude: needs input");

  await type("one", "bye");
  await until("the agent is seen to do it", async () => (await agentOf("one")) === undefined);
  expect(await wsh.ok("list", "--json")).not.toContain("may I?");
});

test("a notification in its output reports that it needs a person; plain text does not", async () => {
  const claude = fakeAgent("claude");
  await wsh.ok("new", "osc", "--", claude);
  await until("the agent is seen to do it", async () => (await agentOf("osc"))?.name === "claude");
  await type("osc", "hook SessionStart {}");
  await until("the agent is seen to do it", async () => (await agentOf("osc"))?.state === "idle");
  await type("osc", "say Do you want to proceed? blocked, waiting for permission");
  await until("the agent is seen to do it", async () => (await wsh.screen("osc")).includes("blocked"));
  expect(await agentOf("osc")).toMatchObject({ state: "idle" });
  await type("osc", "osc 9;look here");
  await until("the agent is seen to do it", async () => (await agentOf("osc"))?.state === "needs_input");
  expect(await agentOf("osc")).toMatchObject({ source: "notification", message: "look here" });
});

test("a hook outside any pane does nothing, and a process from elsewhere cannot report for a pane", async () => {
  expect(await wsh.ok("hook", "claude", "Stop")).toBe("");
  const { body } = await http.post("/sessions/osc/agent", {
    agent: "claude",
    event: "Stop",
    state: "done",
    pid: process.pid,
  });
  expect(body).toEqual({ accepted: false, reason: "not_in_pane" });
});
