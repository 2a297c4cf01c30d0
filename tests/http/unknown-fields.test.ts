/** A misspelt field is ignored and named in the answer. */
import { beforeAll, expect, test } from "bun:test";
import { queryInput } from "../../src/operations/query-string.ts";
import { findOperation, inputSchema } from "../../src/operations/table.ts";
import { unknownFields, unknownFieldWarnings } from "../../src/operations/unknown-fields.ts";
import { Http } from "../support/http.ts";
import { sharedGateway } from "../support/shared.ts";

const gateway = sharedGateway();
const http = new Http({ unix: gateway.instance.httpSocket });
beforeAll(async () => {
  await gateway.create({ name: "s" });
});

const header = "Wsh-Warning";

test("over HTTP in a header, in bodies and queries, and the request is carried out", async () => {
  const made = await http.post("/sessions/s/panel", {
    position: "top",
    height: 1,
    colour: "red",
    spans: [{ text: "x", blod: true }],
  });
  expect(made.status).toBe(201);
  expect(made.headers.get(header)).toBe("unknown field 'colour' was ignored; unknown field 'spans.0.blod' was ignored");
  const listed = await http.get("/sessions?tagg=a");
  expect(listed.status).toBe(200);
  expect(listed.headers.get(header)).toBe("unknown field 'tagg' was ignored");
  expect((await http.get("/sessions/s/screen?format=plain")).headers.has(header)).toBe(false);
});

test("on the routes of panes, windows and layouts, also within a tree", async () => {
  await gateway.create({ name: "p" });
  const split = await http.post("/sessions/p/panes", { comand: "cat", command: "cat" });
  expect(split.headers.get(header)).toBe("unknown field 'comand' was ignored");
  const { pane } = split.body as { pane: string };
  for (const [method, path, given, name] of [
    ["POST", "/sessions/p:0.0/pane/swap", { with: pane, wiht: 1 }, "wiht"],
    ["POST", "/sessions/p:0.1/pane/resize", { direction: "left", byy: 2 }, "byy"],
    ["PATCH", "/sessions/p:0.1/pane", { titel: "x" }, "titel"],
    ["POST", "/sessions/p/windows", { nmae: "x", command: "cat" }, "nmae"],
    ["POST", "/sessions/p/layout/preset", { preset: "tiled", presett: "x" }, "presett"],
    [
      "PUT",
      "/sessions/p/layout",
      { close_others: true, tree: { row: [{ pane }, { command: "cat", cwdd: "/" }], wait: 1 } },
      "tree.row.1.cwdd",
    ],
  ] as const) {
    const { headers, status } = await http.json(method, path, given);
    expect([path, status < 300, headers.get(header)?.startsWith(`unknown field '${name}' was ignored`)]).toEqual([
      path,
      true,
      true,
    ]);
  }
});

test("a name that cannot be a header value is shown escaped", async () => {
  const { headers, status } = await http.post("/sessions/s/panel", {
    ...{ position: "top", height: 1 },
    "a\r\nSet-Cookie: x": 1,
    ["é".repeat(100)]: 2,
  });
  expect(status).toBe(201);
  expect(headers.has("set-cookie")).toBe(false);
  expect(headers.get(header)).toBe(
    `unknown field 'a??Set-Cookie: x' was ignored; unknown field '${"?".repeat(40)}...' was ignored`,
  );
});

test("over a WebSocket beside the result, for calls, waits and subscriptions", async () => {
  const ws = await gateway.ws("/sessions/s/ws/json");
  expect(await ws.call("get_screen", { format: "plain", fromat: "x" })).toMatchObject({
    result: { cols: 80 },
    warnings: ["unknown field 'fromat' was ignored"],
  });
  expect(await ws.call("wait", { any_of: ["prompt"], max_wait: 1 })).toMatchObject({
    result: { decided_by: "prompt" },
    warnings: ["unknown field 'max_wait' was ignored"],
  });
  expect(await ws.call("subscribe", { events: ["lines"], intervall_ms: 5 })).toMatchObject({
    warnings: ["unknown field 'intervall_ms' was ignored"],
  });
  expect(await ws.call("get_screen", { format: "plain" })).not.toHaveProperty("warnings");
});

test("names of object properties have no special meaning, and long lists are cut", () => {
  const schema = inputSchema("overlay.list");
  const hostile = JSON.parse('{"__proto__": 1, "constructor": 2, "toString": 3}');
  expect(unknownFields(schema, hostile)).toEqual(["__proto__", "constructor", "toString"]);
  const many = unknownFieldWarnings(Array.from({ length: 20 }, (_, index) => `f${index}`));
  expect(many).toHaveLength(9);
  expect(many.at(-1)).toBe("and 12 more");
});

test("names of Object's own fields are unknown fields", () => {
  const input = findOperation("screen.get")?.input;
  if (input === undefined) throw new Error("no such operation");
  const own = ["constructor", "toString", "__proto__"];
  const given = Object.fromEntries(own.map((name) => [name, "1"]));
  expect(queryInput(input, { format: "plain", ...given })).toEqual({ format: "plain" });
  expect(unknownFields(input, given)).toEqual(own);
});
