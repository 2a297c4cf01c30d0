/**
 * Every operation, through every interface, with improbable input: names of Object's own, enormous numbers, text
 * that is not a URI, unbounded nesting. It is understood or refused with a code; nothing breaks inside.
 */
import { beforeAll, describe, expect, test } from "bun:test";
import { tools } from "../../src/mcp/tools/tools.ts";
import { type OperationName, operations } from "../../src/operations/table.ts";
import type { SessionInfo } from "../../src/protocol/session.ts";
import { sharedGateway } from "../support/shared.ts";
import { until } from "../support/until.ts";
import type { TestSocket } from "../support/websocket.ts";

const gateway = sharedGateway({ config: "kill_grace_ms = 200\n" });
beforeAll(async () => {
  for (const name of names) await gateway.create({ name, command: "cat" });
});

/** Names of properties that every object has; each is a session's name here, too. */
const names = ["__proto__", "constructor", "toString", "hasOwnProperty"];

/** JSON texts, in place of a value. */
const allValues = [
  ...names.map((name) => JSON.stringify(name)),
  "1e999",
  "-1e999",
  "1e308",
  "-0",
  "1.5",
  "18446744073709551616",
  '"\\u0000"',
  '"\\ud800"',
  '"%zz"',
  '"../../x"',
  '""',
  "null",
  "true",
  "[]",
  "[1e999]",
  "[[[[]]]]",
  "{}",
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"__proto__":1e999}',
  `${"[".repeat(2_000)}${"]".repeat(2_000)}`,
];

/** Keeps waits short. */
const AT_ONCE = '"max_wait_ms":0,"wait_ms":0,"timeout_ms":0';

/** Fields in which a large number is a long wait. */
const waits: ReadonlySet<string> = new Set(["max_wait_ms", "wait_ms", "timeout_ms"]);
const isLong = (value: string): boolean => Number(value) > 1_000 && Number.isFinite(Number(value));

function fieldsOf(schema: unknown): string[] {
  const { entries, options, pipe, wrapped } = schema as Readonly<Record<string, unknown>>;
  if (typeof entries === "object" && entries !== null) return Object.keys(entries);
  const parts = [...(Array.isArray(options) ? options : []), ...(Array.isArray(pipe) ? pipe.slice(0, 1) : []), wrapped];
  return parts.flatMap((part) => (typeof part === "object" && part !== null && part !== schema ? fieldsOf(part) : []));
}

/** Operations that start a process each time get only the most significant values. */
const costly: ReadonlySet<string> = new Set([
  ...["sessions.create", "exec.fresh", "wsh_create_session", "wsh_exec"],
  ...["window.create", "pane.split", "pane.respawn", "wsh_create_pane"],
  ...["history.search", "history.delete", "wsh_history"],
]);
const fewValues = ['"__proto__"', "1e999", '"\\ud800"', '{"constructor":{"prototype":{"polluted":true}}}', "[[[[]]]]"];

/** Texts of queries, in place of a value. */
const queryValues = ["__proto__", "constructor", "1e999", "%zz", "%ED%A0%80", "%00", "", "-1", "NaN"];

const full = process.env.WSH_TEST_FULL === "1";
/** In a brief run a field gets every thirteenth value, the next field those after; expensive ones one in every second field. */
const BRIEF_STEP = 13;
const COSTLY_STEP = 2 * fewValues.length;
/** Over WebSocket and MCP, which read the same inputs, a field gets one value. */
const DOOR_STEP = allValues.length;
/** And every third value of a query. */
const QUERY_STEP = 3;

/** In a brief run two of them stand for all, as fields and as sessions. */
const someNames = full ? names : names.slice(0, 2);

/** JSON texts of inputs: each field in turn with each value. */
function inputsOf(fields: readonly string[], more = "", of = "", plainStep = BRIEF_STEP): string[] {
  const command = costly.has(of) && fields.includes("command") ? '"command":"true"' : "";
  const others = [AT_ONCE, more, command].filter((text) => text !== "").join(",");
  const values = costly.has(of) ? fewValues : allValues;
  const briefStep = costly.has(of) ? COSTLY_STEP : plainStep;
  const step = full ? 1 : briefStep;
  const all = [...fields, ...someNames];
  return all.flatMap((field, nth) =>
    values
      .filter((value, at) => (at + nth) % step === 0 && !(waits.has(field) && isLong(value)))
      .map((value) => `{${others},${JSON.stringify(field)}:${value}}`),
  );
}

/** Operations that end the server, or every session with it. */
const final: ReadonlySet<OperationName> = new Set<OperationName>(["server.stop", "session.kill"]);
const tested = operations.filter(({ name }) => !final.has(name));

const isWhole = ({ name, running, windows }: SessionInfo): boolean => {
  const [pane, ...others] = windows.flatMap(({ panes }) => panes);
  // One whose program has ended may be kept.
  return names.includes(name) && running && others.length === 0 && pane !== undefined && pane.state !== "exited";
};

/** The server answers and has logged no fault; the sessions are made anew where they ended or changed, and others end. */
async function isWell(): Promise<void> {
  const infos: readonly SessionInfo[] = await (await gateway.unix("/sessions")).json();
  for (const { id } of infos.filter((info) => !isWhole(info)))
    await gateway.unix(`/sessions/${id}`, { method: "DELETE" });
  for (const name of names)
    if (!infos.some((info) => info.name === name && isWhole(info))) await gateway.create({ name, command: "cat" });
  expect((await gateway.unix("/health")).status).toBe(200);
  expect(await gateway.log()).not.toMatch(/TypeError|RangeError|URIError/);
}

/** The same after an operation: all sessions are looked at only when one that it was given has changed, or others began. */
async function isWellAfter(operation: string): Promise<void> {
  if (!full && !costly.has(operation)) {
    const given = await Promise.all(someNames.map((name) => gateway.unix(`/sessions/${name}`)));
    const infos = await Promise.all(given.map(async (said) => (said.ok ? ((await said.json()) as SessionInfo) : null)));
    if (infos.every((info) => info !== null && isWhole(info))) {
      expect(await gateway.log()).not.toMatch(/TypeError|RangeError|URIError/);
      return;
    }
  }
  await isWell();
}

const faults = (text: string): boolean => /internal_error|-32603|TypeError|RangeError|URIError/.test(text);

describe("over HTTP", () => {
  for (const operation of tested) {
    test(operation.name, async () => {
      for (const { method, path, from } of operation.http) {
        const takesBody = from === undefined ? method !== "GET" && method !== "DELETE" : from === "json";
        for (const name of someNames) {
          // A brief run uses one session for all ids.
          for (const id of full || name === "constructor" ? ["1", ...names, "%zz", "%ED%A0%80"] : ["1"]) {
            const target = path.replace(":name", name).replace(":id", id).replace(":hostname", id);
            const said = await gateway.unix(target, takesBody ? { method, ...json(`{${AT_ONCE}}`) } : { method });
            expect(said.status, `${method} ${target}`).not.toBe(500);
            if (!path.includes(":id") && !path.includes(":hostname")) break;
          }
        }
        const target = path.replace(":name", "constructor").replace(":id", "1").replace(":hostname", "toString");
        if (takesBody) {
          for (const input of inputsOf(fieldsOf(operation.input), "", operation.name)) {
            const said = await gateway.unix(target, { method, ...json(input) });
            const text = await said.text();
            expect(said.status === 500 || faults(text), `${method} ${target} ${input.slice(0, 200)}: ${text}`).toBe(
              false,
            );
          }
        } else if (from !== "raw") {
          const step = costly.has(operation.name) ? queryValues.length : QUERY_STEP;
          for (const [nth, field] of [...fieldsOf(operation.input), ...someNames].entries()) {
            for (const value of queryValues.filter((_, at) => full || (at + nth) % step === 0)) {
              const query = `max_wait_ms=0&wait_ms=0&timeout_ms=0&${field}=${value}`;
              const said = await gateway.unix(`${target}?${query}`, { method });
              const text = await said.text();
              expect(said.status === 500 || faults(text), `${method} ${target}?${query}: ${text}`).toBe(false);
            }
          }
        }
      }
      await isWellAfter(operation.name);
    });
  }

  test("paths that are not URIs", async () => {
    for (const name of [
      "%",
      "%zz",
      "%00",
      "%ED%A0%80",
      "..%2f..",
      "%2e%2e",
      "@",
      "@1e9",
      "@99999999999",
      ":",
      "a:b.c",
      "a/b",
    ]) {
      for (const path of [`/sessions/${name}`, `/sessions/${name}/screen`, `/sessions/constructor/overlay/${name}`]) {
        const said = await gateway.unix(path);
        // `%2e%2e` is a step up in any URL: that is the page.
        const isPage = new URL(path, gateway.origin).pathname === "/";
        expect(isPage ? [200, 404] : [400, 404], path).toContain(said.status);
      }
    }
  });
});

const json = (body: string) => ({ body, headers: { "Content-Type": "application/json" } });

/** Sends raw JSON; answers are matched by id. */
async function ask(ws: TestSocket, text: string, id: string): Promise<string> {
  ws.socket.send(text);
  return JSON.stringify(
    await ws.wait(`the answer to ${text.slice(0, 300)}`, () => ws.messages.find((m) => m.id === id)),
  );
}

describe("over WebSocket", () => {
  test("names of Object's own properties are not methods", async () => {
    for (const path of ["/ws/json", "/sessions/constructor/ws/json"]) {
      const ws = await gateway.ws(path);
      for (const method of [...names, "", "\u0000", "subscribe "]) {
        const answer = await ws.call(method, {}, path === "/ws/json" ? { session: "constructor" } : {});
        expect(answer.error.code, method).toBe("unknown_method");
      }
    }
  });

  for (const operation of tested) {
    const [method] = operation.ws;
    if (method === undefined) continue;
    test(operation.name, async () => {
      const ws = await gateway.ws("/ws/json");
      for (const [at, input] of inputsOf(fieldsOf(operation.input), "", operation.name, DOOR_STEP).entries()) {
        const id = `${method}-${at}`;
        const said = await ask(ws, `{"id":"${id}","method":"${method}","session":"constructor","params":${input}}`, id);
        expect(faults(said), `${method} ${input.slice(0, 200)}: ${said}`).toBe(false);
      }
      ws.close();
      await isWellAfter(operation.name);
    });
  }

  test("subscribe", async () => {
    const ws = await gateway.ws("/ws/json");
    const fields = ["events", "format", "interval_ms", "idle_timeout_ms", "quiesce_ms"];
    for (const [at, input] of inputsOf(fields, '"events":["lines"]').entries()) {
      const id = `s-${at}`;
      const said = await ask(ws, `{"id":"${id}","method":"subscribe","session":"__proto__","params":${input}}`, id);
      expect(faults(said), `${input.slice(0, 200)}: ${said}`).toBe(false);
      if (fields.some((field) => input.includes(`"${field}":1e999`))) expect(said).toMatch(/invalid_(request|format)/);
    }
  });
});

describe("over MCP", () => {
  const post = async (body: string) => {
    const said = await gateway.tcp("/mcp", { method: "POST", ...json(body) });
    return { status: said.status, text: await said.text() };
  };
  const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`;
  const modern = async (method: string, params: string, name = "") => {
    const headers = {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "Mcp-Protocol-Version": "2026-07-28",
      "Mcp-Method": method,
      ...(name === "" ? {} : { "Mcp-Name": name }),
    };
    const body = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{${meta}${params === "" ? "" : ","}${params}}}`;
    return gateway.tcp("/mcp", { method: "POST", headers, body });
  };
  let session: { readonly "Mcp-Session-Id": string };
  beforeAll(async () => {
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const made = await gateway.tcp("/mcp", { json: { jsonrpc: "2.0", id: 0, method: "initialize", params } });
    session = { "Mcp-Session-Id": made.headers.get("mcp-session-id") ?? "" };
  });
  const call = async (method: string, params: string): Promise<string> => {
    const headers = { "Content-Type": "application/json", ...session };
    const body = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;
    return (await gateway.tcp("/mcp", { method: "POST", headers, body })).text();
  };

  for (const tool of tools) {
    test(tool.name, async () => {
      const known = '"session":"constructor"';
      for (const input of inputsOf(
        [...tool.parameterNames].filter((name) => name !== "session"),
        known,
        tool.name,
        DOOR_STEP,
      )) {
        const said = await call("tools/call", `{"name":"${tool.name}","arguments":${input}}`);
        expect(faults(said), `${tool.name} ${input.slice(0, 200)}: ${said}`).toBe(false);
      }
      await isWellAfter(tool.name);
    });
  }

  test("resources", async () => {
    for (const name of ["%zz", "%", "%ED%A0%80", "%00", "nobody", "", "a%2Fb", "__proto__x"]) {
      for (const uri of [`wsh://sessions/${name}/screen`, `wsh://sessions/${name}/scrollback`, `wsh://${name}`, name]) {
        const said = await call("resources/read", JSON.stringify({ uri }));
        expect(said, uri).toContain("-32602");
        for (const method of ["resources/subscribe", "resources/unsubscribe"]) {
          expect(faults(await call(method, JSON.stringify({ uri }))), `${method} ${uri}`).toBe(false);
        }
      }
    }
    for (const name of names) {
      const said = await call("resources/read", JSON.stringify({ uri: `wsh://sessions/${name}/screen` }));
      expect(said, name).toContain('"contents"');
    }
  });

  test("listening to something that is not a URI", async () => {
    for (const uri of ["wsh://sessions/%zz/screen", "wsh://sessions/%/scrollback", "%zz", "__proto__"]) {
      const wanted = `"notifications":{"resourceSubscriptions":[${JSON.stringify(uri)}]}`;
      const said = await modern("subscriptions/listen", wanted);
      expect(said.status, uri).toBe(200);
      expect(said.headers.get("content-type"), uri).toStartWith("text/event-stream");
      await said.body?.cancel();
    }
    const form = await post(
      '{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":1e999}}',
    );
    expect(faults(form.text)).toBe(false);
  });

  test("prompts, completions and messages of another shape", async () => {
    for (const value of allValues) {
      for (const [method, params] of [
        ["prompts/get", `{"name":${value}}`],
        ["tools/call", `{"name":${value},"arguments":{}}`],
        ["resources/read", `{"uri":${value}}`],
        ["completion/complete", `{"ref":{"type":"ref/resource","uri":${value}},"argument":{"name":"name","value":""}}`],
        ["logging/setLevel", `{"level":${value}}`],
        ["__proto__", value],
      ] as const) {
        const said = await call(method, params);
        expect(faults(said), `${method} ${params.slice(0, 200)}: ${said}`).toBe(false);
      }
      const { status, text } = await post(`{"jsonrpc":"2.0","id":${value},"method":"tools/list","params":${value}}`);
      expect(status === 500 || faults(text), `${value.slice(0, 200)}: ${text}`).toBe(false);
    }
  });
});

test("waiting for several sessions keeps their cursors apart, whatever their names", async () => {
  await isWell();
  const wait = { sessions: names, any_of: [{ type: "text", text: "never" }], max_wait_ms: 0 };
  const answer = await (await gateway.unix("/wait", { json: wait })).json();
  expect(answer).toMatchObject({ session: null, decided_by: "timeout" });
  expect(Object.keys(answer.output_cursors).sort()).toEqual([...names].sort());
  await gateway.type("__proto__", "never\r");
  const byName = await gateway.unix("/wait", {
    json: JSON.parse(JSON.stringify({ ...wait, since: answer.output_cursors })),
  });
  expect((await byName.json()).error.code).toBe("invalid_request");
  const since: Record<string, number> = {};
  for (const info of await (await gateway.unix("/sessions")).json()) {
    if (names.includes(info.name)) since[info.id] = answer.output_cursors[info.name];
  }
  const again = { ...wait, since, max_wait_ms: 10_000 };
  const decided = await until("the text", async () => (await gateway.unix("/wait", { json: again })).json());
  expect(decided).toMatchObject({ session: "__proto__", decided_by: "text" });
});
