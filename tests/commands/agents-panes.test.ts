/** AI agents in several panes of one session: each is listed, and each change of its state is reported once. */
import { expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Http } from "../support/http.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

interface Told {
  readonly event?: string;
  readonly params?: {
    readonly name: string;
    readonly pane_id: string;
    readonly agent: { readonly state: string } | null;
  };
}

/** Prints the notification sequence that each input line names, as agents do. */
const FAKE = `#!/bin/bash
while read -r -p '> ' what; do printf '\\e]%s\\e\\\\' "$what"; [ "$what" = bye ] && exit; done
`;

test("each pane's agent is in the list, in wsh agents and in agent_state events; the most urgent one is the session's", async () => {
  await using wsh = new Wsh();
  await wsh.server();
  const http = new Http({ unix: wsh.instance.httpSocket });
  const told: Told[] = [];
  const socket = new WebSocket(`ws+unix://${wsh.instance.httpSocket}:/ws/json`);
  socket.onmessage = ({ data }) => void told.push(JSON.parse(String(data)) as Told);
  await new Promise((resolve) => {
    socket.onopen = resolve;
  });
  for (const name of ["claude", "codex"]) {
    writeFileSync(join(wsh.dir, name), FAKE);
    chmodSync(join(wsh.dir, name), 0o755);
  }
  try {
    const { pane_id: first } = await wsh.session("s", "--", join(wsh.dir, "claude"));
    const made = await http.post("/sessions/s/panes", { direction: "right", command: join(wsh.dir, "codex") });
    const { pane: second } = made.body as { pane: string };
    const info = async () =>
      (await http.get("/sessions/s")).body as {
        agent?: { name: string };
        windows: { panes: { id: string; agent?: { name: string; state: string } }[] }[];
      };
    const agents = async () => (await info()).windows.flatMap(({ panes }) => panes.map(({ agent }) => agent?.name));
    await until("both agents", async () => (await agents()).join() === "claude,codex");

    await wsh.ok("send", second, "9;may I?", "--keys", "Enter");
    const asks = () =>
      told.filter(({ event, params }) => event === "agent_state" && params?.agent?.state === "needs_input");
    await until("the event", () => asks().some(({ params }) => params?.pane_id === second));
    expect(asks().find(({ params }) => params?.pane_id === second)).toMatchObject({
      params: { name: "s", agent: { name: "codex", source: "notification", message: "may I?" } },
    });
    expect((await info()).agent).toMatchObject({ name: "codex", message: "may I?" });
    const rows = JSON.parse(await wsh.ok("agents", "--json")) as object[];
    expect(rows[0]).toMatchObject({ session: "s", target: "s:0.1", pane_id: second, name: "codex" });
    expect(rows).toHaveLength(2);
    expect(rows[1]).toMatchObject({ target: "s:0.0", pane_id: first, name: "claude" });
    expect(await wsh.ok("agents")).toContain("s:0.1");
    expect(await wsh.ok("wait", second, "agent=needs_input")).toBe("agent\n");

    await wsh.ok("send", second, "bye", "--keys", "Enter");
    await until("that it is gone", async () => (await agents()).join() === "claude");
    await until("the event of it", () =>
      told.some(({ event, params }) => event === "agent_state" && params?.pane_id === second && params.agent === null),
    );
  } finally {
    socket.close();
  }
});
