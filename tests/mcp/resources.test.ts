/** Resources: reading, completion and subscriptions, in both protocol versions. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Client } from "@modelcontextprotocol/client";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { until } from "../support/until.ts";

const mcp = new McpInstance();
let client: Client;

beforeAll(async () => {
  client = await mcp.client();
  await call(client, "wsh_create_session", { name: "dev" });
  await call(client, "wsh_wait", { session: "dev", any_of: ["prompt"] });
});
afterAll(() => mcp[Symbol.asyncDispose]());

async function read(uri: string) {
  const { contents } = await client.readResource({ uri });
  const [first] = contents as { uri: string; mimeType?: string; text?: string }[];
  expect(contents).toHaveLength(1);
  expect(first).toMatchObject({ uri, mimeType: "application/json" });
  return JSON.parse(first?.text ?? "");
}

test("the list names the sessions, and two resources of each", async () => {
  const { resources } = await client.listResources();
  expect(resources.map(({ uri, name, title }) => ({ uri, name, title }))).toEqual([
    { uri: "wsh://sessions", name: "Active Sessions", title: "Active Sessions" },
    { uri: "wsh://sessions/dev/screen", name: "Screen: dev", title: "Screen: dev" },
    { uri: "wsh://sessions/dev/scrollback", name: "Scrollback: dev", title: "Scrollback: dev" },
  ]);
  const { resourceTemplates } = await client.listResourceTemplates();
  expect(resourceTemplates.map(({ name, uriTemplate, mimeType }) => ({ name, uriTemplate, mimeType }))).toEqual([
    { name: "Session Screen", uriTemplate: "wsh://sessions/{name}/screen", mimeType: "application/json" },
    { name: "Session Scrollback", uriTemplate: "wsh://sessions/{name}/scrollback", mimeType: "application/json" },
  ]);
});

test("wsh://sessions equals wsh_list_sessions", async () => {
  const ages = { idle_ms: 0, last_activity_ms: 0 };
  const [listed] = (await call(client, "wsh_list_sessions")).value;
  const [resource] = await read("wsh://sessions");
  expect({ ...resource, ...ages }).toEqual({ ...listed, ...ages });
});

test("a screen is styled, scrollback the newest hundred lines", async () => {
  await call(client, "wsh_exec", { session: "dev", command: "seq 1 300" });
  const screen = await read("wsh://sessions/dev/screen");
  expect(screen.rows).toBe(24);
  expect(screen.lines[0]).toEqual([expect.objectContaining({ text: expect.any(String) })]);
  const scrollback = await read("wsh://sessions/dev/scrollback");
  expect(scrollback.lines).toHaveLength(100);
  expect(JSON.stringify(scrollback.lines)).toContain('"300"');
});

test("an unknown resource is -32602 with its URI", async () => {
  for (const uri of ["wsh://sessions/nobody/screen", "wsh://sessions/dev/colour", "wsh://else"]) {
    const failed = await client.readResource({ uri }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: -32602, data: { uri } });
  }
});

test("names complete", async () => {
  await call(client, "wsh_create_session", { name: "deploy" });
  const complete = async (value: string) => {
    const ref = { type: "ref/resource" as const, uri: "wsh://sessions/{name}/screen" };
    return (await client.complete({ ref, argument: { name: "name", value } })).completion.values;
  };
  expect((await complete("de")).sort()).toEqual(["deploy", "dev"]);
  expect(await complete("dep")).toEqual(["deploy"]);
  expect(await complete("x")).toEqual([]);
  await call(client, "wsh_manage_session", { session: "deploy", action: "kill" });
});

describe("changes", () => {
  test("of the list are notified when sessions start, end and are renamed", async () => {
    let told = 0;
    client.setNotificationHandler("notifications/resources/list_changed", () => {
      told++;
    });
    const since = async (act: () => Promise<unknown>) => {
      const before = told;
      await act();
      await until("list_changed", () => told > before);
    };
    await since(() => call(client, "wsh_create_session", { name: "fleeting" }));
    await since(() => call(client, "wsh_manage_session", { session: "fleeting", action: "rename", new_name: "gone" }));
    await since(() => call(client, "wsh_manage_session", { session: "gone", action: "kill" }));
  });

  test("of a screen are sent to its subscribers, a few times a second, until they unsubscribe", async () => {
    const uri = "wsh://sessions/dev/screen";
    const times: number[] = [];
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
      if (params.uri === uri) times.push(performance.now());
    });
    await client.subscribeResource({ uri });
    const began = performance.now();
    await call(client, "wsh_exec", { session: "dev", command: "for i in $(seq 1 30); do echo $i; sleep 0.05; done" });
    await until("an update", () => times.length >= 2);
    const seconds = (performance.now() - began) / 1_000;
    expect(times.length).toBeLessThanOrEqual(2 + 4 * seconds);

    await client.unsubscribeResource({ uri });
    const before = times.length;
    await call(client, "wsh_exec", { session: "dev", command: "echo more" });
    await client.ping();
    expect(times.length).toBe(before);
  });

  for (const where of ["stdio", "HTTP"] as const) {
    test(`are sent to listeners, in the version without sessions, over ${where}`, async () => {
      const modern = where === "stdio" ? await mcp.client({ mode: "auto" }) : await mcp.httpClient(null, "auto");
      const uri = "wsh://sessions/dev/scrollback";
      const heard: string[] = [];
      modern.setNotificationHandler("notifications/resources/list_changed", () => void heard.push("list"));
      modern.setNotificationHandler("notifications/resources/updated", ({ params }) => void heard.push(params.uri));
      const subscription = await modern.listen({ resourcesListChanged: true, resourceSubscriptions: [uri] });
      await call(client, "wsh_exec", { session: "dev", command: "echo heard" });
      await until("an update", () => heard.includes(uri));
      await call(client, "wsh_create_session", { name: `listened-${where}` });
      await until("list_changed", () => heard.includes("list"));
      await subscription.close();
      await modern.close();
    });
  }
});
