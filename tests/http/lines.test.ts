/** A pane's text by line id, over HTTP and the typed client: pages both ways, styles as in frames, a search over all. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect, type OperationOutput, type WshClient } from "wsh/client";
import { Http } from "../support/http.ts";
import { Gateway, TOKEN } from "../support/server.ts";
import { until } from "../support/until.ts";

type Page = OperationOutput<"lines.get">;
type Found = OperationOutput<"lines.search">;

let gateway: Gateway;
let http: Http;
let client: WshClient;
beforeAll(async () => {
  gateway = await Gateway.start();
  http = new Http({ unix: null, base: gateway.origin, headers: { authorization: `Bearer ${TOKEN}` } });
  client = await connect({ url: gateway.origin, token: TOKEN });
});
afterAll(async () => {
  client.close();
  await gateway[Symbol.asyncDispose]();
});

const lines = (name: string, query: string): Promise<Page> =>
  http.expect(200, http.get(`/sessions/${name}/lines?${query}`));
const search = (name: string, query: string): Promise<Found> =>
  http.expect(200, http.get(`/sessions/${name}/lines/search?${query}`));
const textOf = (runs: Page["rows"][number]["runs"]): string =>
  runs.map((run) => (typeof run === "string" ? run : typeof run[0] === "string" ? run[0] : run[0].join(""))).join("");

test("every row is read once, and a hit far above is found, shown and still there after more output", async () => {
  // More than the emulator keeps: most of it is packed.
  const command =
    "seq -f 'line %05.0f of many, some of which say needle' 5000; echo ready; read -r _; seq 300; echo more; cat";
  await http.create({ name: "many", command, rows: 10, cols: 30 });
  // With the end of its line, which is sometimes read later.
  await http.shows("many", ({ lines, cursor }) => lines[cursor.row - 1] === "ready");

  const rows: Page["rows"] = [];
  let page = await lines("many", "limit=1000");
  expect(page).toMatchObject({ cols: 30, alternate_active: false, first_line: 0, next: null });
  rows.unshift(...page.rows);
  while (page.more_above) {
    const [top] = page.rows;
    page = await lines("many", `limit=1000&before_line=${top?.line}&before_col=${top?.col}`);
    rows.unshift(...page.rows);
  }
  expect(rows.length).toBe(10_002);
  expect(rows.slice(0, 4).map(({ line, col, wrapped, runs }) => [line, col, wrapped ?? false, textOf(runs)])).toEqual([
    [0, 0, true, "line 00001 of many, some of wh"],
    [0, 30, false, "ich say needle"],
    [1, 0, true, "line 00002 of many, some of wh"],
    [1, 30, false, "ich say needle"],
  ]);

  const found = await search("many", "query=needle&limit=10");
  expect(found).toMatchObject({ total: 5_000, first: 4_990 });
  expect(found.matches.at(-1)).toEqual({ line: 4_999, col: 38, length: 6 });
  const [far] = (await search("many", "query=00017%20OF&case_sensitive=false")).matches;
  expect(far).toEqual({ line: 16, col: 5, length: 8 });
  await http.type("many", "\n");
  await http.shows("many", "more");
  expect((await lines("many", "from_line=16&limit=1")).rows.map(({ runs }) => textOf(runs))).toEqual([
    "line 00017 of many, some of wh",
  ]);
  expect(await search("many", "query=00017")).toMatchObject({ total: 1, matches: [{ line: 16, col: 5, length: 5 }] });
  await http.kill("many");
});

test("rows have the styles of frames, whether they are on the screen or above it", async () => {
  const looks =
    "\\033[1;3;38;5;208mone\\033[m \\033[4:3;58;2;1;2;3mcurly\\033[m \\033]8;;https://example.org/\\033\\\\link\\033]8;;\\033\\\\ 日本 e\\xcc\\x81!";
  await http.create({ name: "looks", command: `printf '${looks}\\n'; read -r _; seq 3000; cat`, rows: 5, cols: 60 });
  await http.shows("looks", "one");
  const read = async () => {
    const { styles, rows } = await client.call("lines.get", { from_line: 0, limit: 1 }, "looks");
    return { styles, runs: rows[0]?.runs };
  };
  const shown = await read();
  expect(shown).toEqual({
    styles: [
      { fg: { indexed: 208 }, flags: 5 },
      { flags: 8, ul: "curly", ulColor: { rgb: { r: 1, g: 2, b: 3 } } },
      { link: "https://example.org/" },
    ],
    runs: [["one", 1], " ", ["curly", 2], " ", ["link", 3], " ", ["日本", 0, 2], " ", [["e\u0301"], 0], "!"],
  });
  await http.type("looks", "\n");
  await http.shows("looks", "3000");
  expect(await read()).toEqual(shown);
  await http.kill("looks");
});

test("a search has patterns and limits, and reports errors; a pane is a separate target", async () => {
  await http.create({ name: "find", command: "echo 'a.c abc'; exec cat", rows: 5, cols: 60 });
  await http.shows("find", "abc");
  expect((await search("find", "query=a.c")).matches).toEqual([{ line: 0, col: 0, length: 3 }]);
  expect((await search("find", "query=a.c&regex=true")).total).toBe(2);
  expect((await search("find", "query=%5Ea.c%24&regex=true")).total).toBe(0);
  for (const [path, words] of [
    ["search?query=", "query"],
    ["search?query=(&regex=true", "pattern"],
    ["search?query=a&limit=0", "limit"],
    ["search?query=a&from_line=1&before_line=2", "cannot be used with"],
    ["search", "query"],
  ] as const) {
    const { status, body } = await http.get(`/sessions/find/lines/${path}`);
    expect([status, body]).toMatchObject([400, { error: { code: "invalid_request" } }]);
    expect(JSON.stringify(body)).toContain(words);
  }
  expect((await http.get("/sessions/find/lines?limit=2001")).status).toBe(400);
  expect((await http.get("/sessions/find/lines?from_line=-1")).status).toBe(400);
  const { pane: id } = await client.call("pane.split", { command: "echo other; exec cat" }, "find");
  await until("its text", async () => (await client.call("lines.search", { query: "other" }, id)).total === 1);
  expect((await client.call("lines.search", { query: "abc" }, id)).total).toBe(0);
  await http.kill("find");
});

test("the typed client uses only APIs of a browser", async () => {
  const built = await Bun.build({ entrypoints: [Bun.resolveSync("wsh/client", import.meta.dir)], target: "browser" });
  expect(built.success).toBe(true);
  const text = (await built.outputs[0]?.text()) ?? "";
  // Modules and globals of Node and Bun.
  expect([...text.matchAll(/\bfrom ?["'](?:node|bun):|\brequire\(|\bBun\.\w+|\bprocess\.(?:env|argv)/g)]).toEqual([]);
});
