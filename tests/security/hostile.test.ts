/** Malformed input: the answer to each kind, and the server and its sessions continue unharmed. */
import { afterEach, beforeAll, describe, expect, test } from "bun:test";
import net from "node:net";
import {
  encodeJsonMessage,
  encodeMessage,
  MAX_MESSAGE_BYTES,
  messageTypes,
  PROTOCOL_VERSION,
} from "../../src/protocol/messages.ts";
import { TOKEN } from "../support/server.ts";
import { sharedGateway } from "../support/shared.ts";
import { SlowSocket } from "../support/slow-websocket.ts";
import { within } from "../support/timing-retries.ts";
import { PATIENCE_MS } from "../support/until.ts";

let serverId = "";
let sessionSocket = "";
const gateway = sharedGateway();
beforeAll(async () => {
  const { pane_id } = await gateway.create({ name: "s" });
  sessionSocket = `${gateway.instance.sessionsDir}/${pane_id.slice(1)}.sock`;
  serverId = (await (await gateway.unix("/server/info")).json()).server_id;
});

/** The same server answers, and so does the session. */
afterEach(async () => {
  expect((await (await gateway.tcp("/server/info")).json()).server_id).toBe(serverId);
  expect((await gateway.tcp("/sessions/s/screen")).status).toBe(200);
});

/**
 * Sends bytes; resolves with the answer when the other side closes, when `isEnough` accepts it, or after a timeout:
 * where an answer need not come, an open connection is not a delay.
 */
function exchange(
  to: net.NetConnectOpts,
  bytes: Uint8Array | string,
  isEnough: (text: string) => boolean = () => false,
  waitMs = PATIENCE_MS,
): Promise<{ text: string; closed: boolean }> {
  const { promise, resolve } = Promise.withResolvers<{ text: string; closed: boolean }>();
  const socket = net.connect(to);
  let text = "";
  const done = (closed: boolean) => () => {
    clearTimeout(over);
    socket.destroy();
    resolve({ text, closed });
  };
  const over = setTimeout(done(false), waitMs);
  socket.on("data", (part) => {
    text += part.toString("latin1");
    if (isEnough(text)) done(false)();
  });
  socket.on("close", done(true));
  socket.on("error", () => {});
  socket.write(bytes);
  return promise;
}

function tcp(): net.NetConnectOpts {
  const { hostname, port } = new URL(gateway.origin);
  return { host: hostname, port: Number(port) };
}

const deep = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;

describe("bodies", () => {
  const cases: readonly (readonly [
    what: string,
    path: string,
    body: string | Uint8Array,
    status: number,
    code: string | null,
  ])[] = [
    ["nothing", "/sessions/s/run", "", 408, "idle_timeout"],
    ["not JSON", "/sessions", "{", 400, "invalid_request"],
    ["JSON and more", "/sessions", "{} {}", 400, "invalid_request"],
    ["an array", "/sessions", "[]", 422, "invalid_request"],
    ["null", "/sessions", "null", 422, "invalid_request"],
    ["a string", "/sessions", '"x"', 422, "invalid_request"],
    ["a number", "/sessions", "1e999", 422, "invalid_request"],
    ["bytes other than UTF-8", "/sessions", new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]), 400, "invalid_request"],
    ["a lone surrogate", "/sessions", '{"name":"\\ud800"}', 400, "invalid_session_name"],
    ["100 000 brackets", "/sessions", deep(100_000), 400, "invalid_request"],
    ["brackets in a field", "/sessions", `{"env":${deep(50_000)}}`, 400, "invalid_request"],
    ["500 KB of open brackets", "/sessions", "[".repeat(500_000), 400, "invalid_request"],
    ["a prototype", "/sessions", '{"__proto__":{"name":"x"},"constructor":1,"rows":"x"}', 422, "invalid_request"],
    ["a path as name", "/sessions", '{"name":"../../etc/passwd"}', 400, "invalid_session_name"],
    ["a dot", "/sessions", '{"name":".."}', 400, "invalid_session_name"],
    ["a NUL in a name", "/sessions", '{"name":"a\\u0000b"}', 400, "invalid_session_name"],
    ["65 characters", "/sessions", `{"name":"${"n".repeat(65)}"}`, 400, "invalid_session_name"],
    ["a NUL in a command", "/sessions", '{"command":"a\\u0000b"}', 400, "invalid_request"],
    ["a NUL in the cwd", "/sessions", '{"cwd":"/tmp\\u0000/x"}', 400, "cwd_not_found"],
    ["a NUL in the environment", "/sessions", '{"env":{"A":"x\\u0000y"}}', 400, "invalid_request"],
    ["= in the name of a variable", "/sessions", '{"env":{"A=B":"x"}}', 400, "invalid_request"],
    ["a negative height", "/sessions", '{"rows":-1}', 422, "invalid_request"],
    ["half a row", "/sessions", '{"rows":1.5}', 422, "invalid_request"],
    ["more rows than there are numbers", "/sessions", '{"rows":1e300}', 422, "invalid_request"],
    ["a number with 1000 digits", "/sessions", `{"rows":${"9".repeat(1000)}}`, 422, "invalid_request"],
    ["0 by 0", "/sessions/s/resize", '{"rows":0,"cols":0}', 422, "invalid_request"],
    ["one column", "/sessions/s/resize", '{"rows":1,"cols":1}', 422, "invalid_request"],
    ["65535 by 65535", "/sessions/s/resize", '{"rows":65535,"cols":65535}', 200, null],
    ["24 by 80 again", "/sessions/s/resize", '{"rows":24,"cols":80}', 200, null],
    [
      "a pattern that explodes",
      "/sessions/s/wait",
      '{"any_of":[{"type":"regex","pattern":"(a+)+$"}],"max_wait_ms":0}',
      200,
      null,
    ],
    [
      "a pattern that is none",
      "/sessions/s/wait",
      '{"any_of":[{"type":"regex","pattern":"("}],"max_wait_ms":0}',
      400,
      "invalid_request",
    ],
    [
      "a huge repetition",
      "/sessions/s/wait",
      '{"any_of":[{"type":"regex","pattern":"(x{1000}){1000}"}]}',
      400,
      "invalid_request",
    ],
    [
      "a cursor of tomorrow",
      "/sessions/s/wait",
      '{"any_of":["bell"],"since":999999999,"max_wait_ms":0}',
      400,
      "invalid_cursor",
    ],
    ["a key that is none", "/sessions/s/keys", '{"keys":["Ctrl+Nothing"]}', 400, "unknown_key"],
    ["base64 that is none", "/sessions/s/keys", '{"data":"*","encoding":"base64"}', 400, "invalid_request"],
    [
      "5000 spans",
      "/sessions/s/overlay",
      JSON.stringify({ x: 0, y: 0, width: 1, height: 1, spans: Array(5000).fill({ text: "" }) }),
      429,
      "resource_limit_reached",
    ],
    [
      "a span of 70 KB",
      "/sessions/s/overlay",
      JSON.stringify({ x: 0, y: 0, width: 1, height: 1, spans: [{ text: "x".repeat(70_000) }] }),
      429,
      "resource_limit_reached",
    ],
    [
      "escape sequences in a span",
      "/sessions/s/overlay",
      JSON.stringify({ x: 0, y: 0, width: 9, height: 1, spans: [{ text: "\x1b]52;c;eA==\x07" }] }),
      201,
      null,
    ],
  ];

  test.each(cases)("%s to %s", async (_, path, body, status, code) => {
    const wait = path.endsWith("/run") ? "?max_wait_ms=1&timeout_ms=300000" : "";
    const headers = { "Content-Type": "application/json" };
    const response = await gateway.tcp(path + wait, {
      method: "POST",
      body: typeof body === "string" ? body : new Uint8Array(body),
      headers,
    });
    const answer = response.status === 204 ? null : await response.json();
    expect({ status: response.status, code: answer?.error?.code ?? null }).toEqual({ status, code });
  });

  test("over 1 MiB is 413, with or without a length, at every route", async () => {
    const big = "x".repeat(1024 * 1024 + 1);
    for (const path of ["/sessions", "/sessions/s/input", "/mcp", "/sessions/s/exec"]) {
      const headers = { "Content-Type": "application/json" };
      const told = await gateway.tcp(path, { method: "POST", body: big, headers });
      expect(told.status, path).toBe(413);
      const stream = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(big));
          controller.close();
        },
      });
      const untold = await gateway.tcp(path, { method: "POST", body: stream, headers });
      expect(untold.status, `${path} chunked`).toBe(413);
      expect((await untold.json()).error.code).toBe("payload_too_large");
    }
  });

  test("of 200,000 levels is refused on every interface, also with an id", async () => {
    const headers = { "Content-Type": "application/json", "Wsh-Request": "deep", Accept: "application/json" };
    const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"x":${deep(200_000)}}}}`;
    for (const [path, body] of [
      ["/exec", `{"command":"true","env":${deep(200_000)}}`],
      ["/sessions/s/exec", `{"command":${deep(200_000)}}`],
      ["/link/call", `{"op":"exec.fresh","input":${deep(200_000)},"caller":{"kind":"cli","id":"x"}}`],
      ["/mcp", call],
    ] as const) {
      const response = await gateway.tcp(path, { method: "POST", body, headers });
      expect([path, response.status]).toEqual([path, 400]);
      expect(await response.text()).not.toContain("internal");
    }
    expect(await gateway.log()).not.toContain("internal error");
  });

  test("that breaks off, or has invalid chunks, writes nothing into the log", async () => {
    const { host, port } = new URL(gateway.origin);
    const before = (await gateway.log()).length;
    for (const path of ["/auth/challenge", "/auth/session", "/auth/device", "/sessions"]) {
      const head = [
        `POST ${path} HTTP/1.1`,
        `Host: ${host}`,
        `Origin: ${gateway.origin}`,
        `Authorization: Bearer ${TOKEN}`,
      ];
      const chunked = [...head, "Transfer-Encoding: chunked", "", "ZZ", "abc", ""].join("\r\n");
      await exchange({ port: Number(port), host: "127.0.0.1" }, chunked);
      const short = [...head, "Content-Length: 100", "", "{"].join("\r\n");
      await exchange({ port: Number(port), host: "127.0.0.1" }, short, undefined, 50);
    }
    expect((await gateway.log()).slice(before)).toBe("");
  });

  test("1 MiB exactly is typed, or refused when the program does not read", async () => {
    await gateway.create({ name: "deaf", command: "stty raw -echo; exec cat >/dev/null" });
    const response = await gateway.tcp("/sessions/deaf/input", { method: "POST", body: "x".repeat(1024 * 1024) });
    expect(response.status).toBe(204);
  });
});

describe("paths and queries", () => {
  test.each([
    ["/sessions/%00", 404],
    ["/sessions/%2e%2e%2f%2e%2e", 404],
    ["/sessions/..%2fserver%2finfo", 404],
    ["/sessions/%ff", 404],
    ["/sessions/%zz", 404],
    ["/sessions/@", 404],
    ["/sessions/@99999999999999999999", 404],
    [`/sessions/${"n".repeat(8_000)}`, 404],
    ["/sessions/s:9.9.9/screen", 404],
    ["/sessions/s/screen?format=html", 400],
    ["/sessions/s/scrollback?offset=1e9&limit=x", 400],
    ["/sessions/s/scrollback?offset=-999999999", 200],
    ["/sessions/s/scrollback?limit=999999999", 200],
    ["/sessions/s/idle", 400],
    ["/sessions/s/idle?timeout_ms=-1", 400],
    ["/sessions/s/idle?timeout_ms=0&last_generation=99999999999999999999", 200],
    ["/sessions/s/commands/0", 400],
    ["/sessions/s/commands/nope/output", 400],
    ["/sessions/s/output?since=abc", 400],
    ["/sessions?tag=%00,%ff&all=maybe", 400],
    ["/sessions/s/ws/json", 426],
    ["/no/such/path", 404],
  ] as const)("%s is %i", async (path, status) => {
    const response = await gateway.tcp(path);
    expect(response.status).toBe(status);
    if (status === 400) expect((await response.json()).error.code).toMatch(/^invalid_/);
  });
});

describe("HTTP itself", () => {
  const auth = `Authorization: Bearer ${TOKEN}\r\n`;
  const http = (line: string, headers: string, body = ""): string =>
    `${line}\r\nHost: 127.0.0.1\r\n${auth}${headers}\r\n${body}`;

  test.each([
    ["no HTTP at all", "\x00\x01\x02\x03\r\n\r\n", /^(HTTP\/1\.1 4\d\d|$)/],
    ["no version", "GET /\r\n\r\n", /^(HTTP\/1\.1 [45]\d\d|$)/],
    ["an unknown method", http("BREW /sessions HTTP/1.1", ""), /^(HTTP\/1\.1 40[45]|$)/],
    ["TRACE", http("TRACE /sessions HTTP/1.1", ""), /^(HTTP\/1\.1 40[045]|$)/],
    [
      "two lengths",
      http("POST /sessions HTTP/1.1", "Content-Length: 2\r\nContent-Length: 7\r\n", "{}"),
      /^(HTTP\/1\.1 4\d\d|$)/,
    ],
    [
      "length and chunks",
      http("POST /sessions HTTP/1.1", "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
      /^(HTTP\/1\.1 4\d\d|$)/,
    ],
    ["a length that is none", http("POST /sessions HTTP/1.1", "Content-Length: -1\r\n"), /^(HTTP\/1\.1 4\d\d|$)/],
    [
      "a chunk that is none",
      http("POST /sessions HTTP/1.1", "Transfer-Encoding: chunked\r\n", "zz\r\n"),
      /^(HTTP\/1\.1 4\d\d|$)/,
    ],
    [
      "a megabyte of headers",
      http("GET /sessions HTTP/1.1", `X: ${"x".repeat(1_000_000)}\r\n`),
      /^(HTTP\/1\.1 4\d\d|$)/,
    ],
    ["10 000 headers", http("GET /sessions HTTP/1.1", "X: y\r\n".repeat(10_000)), /^(HTTP\/1\.1 4\d\d|$)/],
    ["a path of 100 KB", http(`GET /${"x".repeat(100_000)} HTTP/1.1`, ""), /^(HTTP\/1\.1 4\d\d|$)/],
    ["a line feed in a header", http("GET /sessions HTTP/1.1", "X: a\nInjected: b\r\n"), /^HTTP\/1\.1 (200|4\d\d)/],
  ] as const)("%s", async (_, bytes, wanted) => {
    // Some are waited for, which is permitted.
    const waitMs = wanted.test("") ? 1_500 : PATIENCE_MS;
    const { text } = await exchange(tcp(), bytes, (came) => came.includes("\r\n\r\n"), waitMs);
    expect(text).toMatch(wanted);
  });

  test("a request that never ends delays nobody", async () => {
    const open = Array.from({ length: 50 }, () => {
      const socket = net.connect(tcp());
      socket.on("error", () => {});
      socket.write("POST /sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ");
      return socket;
    });
    expect((await within(2_000, () => gateway.tcp("/sessions"))).status).toBe(200);
    for (const socket of open) socket.destroy();
  });
});

describe("WebSockets", () => {
  const upgrade = (headers: string, path = "/ws/json"): string =>
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${TOKEN}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${headers}\r\n`;

  test.each([
    ["no key", "Sec-WebSocket-Version: 13\r\n"],
    ["a short key", "Sec-WebSocket-Key: abc\r\nSec-WebSocket-Version: 13\r\n"],
  ])("a handshake with %s", async (_, headers) => {
    const { text } = await exchange(tcp(), upgrade(headers), (came) => came.includes("\r\n\r\n"));
    expect(text).toMatch(/^HTTP\/1\.1 (4\d\d|101)/);
  });

  const open = () => SlowSocket.open(gateway.origin, "/ws/json", { Authorization: `Bearer ${TOKEN}` });

  test.each([
    ["a reserved opcode", 0x3, Buffer.from("x")],
    ["an unmasked frame", null, Buffer.from([0x81, 0x01, 0x78])],
    ["a control frame that is too long", 0x9, Buffer.alloc(200)],
    ["text other than UTF-8", 0x1, Buffer.from([0xff, 0xfe, 0xfd])],
    ["a frame that announces 2^63 bytes", null, Buffer.from([0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4])],
    ["a frame over a megabyte", null, Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0x20, 0, 0, 1, 2, 3, 4])],
    ["a continuation of nothing", 0x0, Buffer.from("x")],
  ] as const)("%s ends the connection", async (_, opcode, bytes) => {
    const socket = await open();
    if (opcode === null) socket.write(bytes);
    else socket.sendFrame(opcode, bytes);
    await socket.wait(() => socket.ended || socket.closeCode !== null);
    socket.close();
  });

  test("meaningless messages are answered, in any number", async () => {
    const ws = await gateway.ws("/ws/json");
    const nonsense = [
      "",
      " ",
      "null",
      "1",
      '"x"',
      "[]",
      "{}",
      '{"method":null}',
      '{"method":{}}',
      "{",
      deep(10_000),
      "\u0000",
    ];
    for (const text of nonsense) ws.send(text);
    ws.send({ id: "last", method: "list_sessions" });
    await ws.next("the last answer", (message) => message.id === "last");
    expect(ws.messages.filter((message) => message.error?.code === "invalid_request")).toHaveLength(nonsense.length);
  });

  test("ids of every kind are returned unchanged, deep parameters do no harm", async () => {
    const ws = await gateway.ws("/ws/json");
    for (const id of [0, -1, 1.5, "", "x".repeat(1000), true, [1], { a: 1 }]) {
      const before = ws.messages.length;
      ws.send({ id, method: "server_info" });
      expect((await ws.next("the answer", (message) => message.method === "server_info", before)).id).toEqual(id);
    }
    const before = ws.messages.length;
    ws.socket.send(`{"id":1,"method":"create_session","params":{"env":${deep(20_000)}}}`);
    expect((await ws.next("the answer", () => true, before)).error.code).toBe("invalid_request");
  });

  test("a thousand requests at once are answered, those past the limit at once", async () => {
    const ws = await gateway.ws("/ws/json");
    for (let id = 0; id < 1000; id++) ws.send({ id, method: "server_info" });
    await ws.wait("all answers", () => ws.messages.filter((message) => message.id !== undefined).length === 1000);
    const codes = new Set(ws.messages.map((message) => message.error?.code).filter((code) => code !== undefined));
    for (const code of codes) expect(code).toBe("resource_limit_reached");
  });

  test("waits past the limit are refused", async () => {
    const ws = await gateway.ws("/ws/json");
    for (let id = 0; id < 300; id++) {
      ws.send({ id, method: "wait", session: "s", params: { any_of: ["exited"], max_wait_ms: 300_000 } });
      if (id % 50 === 49) await ws.call("server_info");
    }
    await ws.next("a refusal", (message) => message.error?.code === "resource_limit_reached");
  });
});

describe("the sockets of session processes", () => {
  const hello = encodeJsonMessage(messageTypes.hello, { wsh: PROTOCOL_VERSION, version: "0", role: "cli" });
  const request = (fields: object): Uint8Array =>
    encodeJsonMessage(messageTypes.request, {
      id: 1,
      op: "session.get",
      input: {},
      caller: { kind: "cli", id: "x", connected: true },
      access: "admin",
      ...fields,
    });
  const join = (...parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));
  const header = (type: number, length: number): Uint8Array => {
    const bytes = Buffer.alloc(5);
    bytes[0] = type;
    bytes.writeUInt32BE(length, 1);
    return new Uint8Array(bytes);
  };

  test.each([
    ["text", Buffer.from("GET / HTTP/1.1\r\n\r\n")],
    ["a type that does not exist", header(0xee, 0)],
    ["a frame over the limit", header(messageTypes.hello, MAX_MESSAGE_BYTES + 1)],
    ["a length of 2^32-1", header(messageTypes.hello, 0xffff_ffff)],
    ["a hello other than JSON", encodeMessage(messageTypes.hello, Buffer.from("{"))],
    ["a hello without a version", encodeJsonMessage(messageTypes.hello, {})],
    ["a request before the hello", request({})],
    ["a request other than JSON", join(hello, encodeMessage(messageTypes.request, Buffer.from("nope")))],
    ["a request without an id", join(hello, request({ id: "x" }))],
    ["a request of no known access", join(hello, request({ access: "root" }))],
    ["a cancel other than JSON", join(hello, encodeMessage(messageTypes.cancel, Buffer.from("x")))],
    ["a frame that only a host sends", join(hello, encodeMessage(messageTypes.output, Buffer.from("x")))],
  ])("%s ends the connection and nothing else", async (_, bytes) => {
    const { closed } = await exchange({ path: sessionSocket }, new Uint8Array(bytes));
    expect(closed).toBe(true);
  });

  test.each([
    ["an operation that does not exist", { op: "no.such" }, "unknown_method"],
    ["an operation of the server", { op: "server.stop" }, "unknown_method"],
    ["a name of every object", { op: "constructor" }, "unknown_method"],
    ["too little access", { op: "session.kill", access: "observe" }, "access_denied"],
    ["input of another form", { op: "session.resize", input: { rows: [] } }, "invalid_request"],
    ["a subscription to nonsense", { op: "peer.subscribe", input: { events: ["x"], call: 0 } }, "invalid_request"],
    ["an attach without a size", { op: "peer.attach", input: {} }, ""],
  ])("%s is answered with an error", async (_, fields, code) => {
    const { text } = await exchange({ path: sessionSocket }, join(hello, request(fields)), (came) =>
      came.includes('"error"'),
    );
    expect(text).toContain('"error"');
    expect(text).toContain(code);
  });

  test("a frame that stops halfway is waited for and costs little", async () => {
    const sockets = Array.from({ length: 20 }, () => {
      const socket = net.connect({ path: sessionSocket });
      socket.on("error", () => {});
      socket.write(join(hello, header(messageTypes.request, MAX_MESSAGE_BYTES), new Uint8Array(1000)));
      return socket;
    });
    expect((await gateway.tcp("/sessions/s/screen")).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });

  test("bytes one by one have the same effect as all at once", async () => {
    const bytes = join(hello, request({}));
    const socket = net.connect({ path: sessionSocket });
    let text = "";
    const answered = Promise.withResolvers<void>();
    socket.on("data", (part) => {
      text += part.toString("latin1");
      if (text.includes('"result"')) answered.resolve();
    });
    for (const byte of bytes) socket.write(new Uint8Array([byte]));
    await answered.promise;
    socket.destroy();
  });
});

describe("the socket for bridges", () => {
  test.each([
    ["no JSON", "nope\n"],
    ["another version", '{"wsh_mcp":99,"version":"x"}\n'],
    ["two megabytes without a line", "x".repeat(2 * 1024 * 1024)],
    ["nothing but line feeds", "\n\n\n"],
  ])("%s", async (_, text) => {
    const { closed } = await exchange({ path: gateway.instance.mcpSocket }, text);
    expect(closed).toBe(true);
  });
});

describe("output that tries to type", () => {
  test.each([
    ["a title, and a request for it", "\\033]0;evil\\r\\007\\033[21t", ""],
    ["an icon's name, and a request for it", "\\033]1;evil\\007\\033[20t", ""],
    ["a setting that does not exist", "\\033P$qevil\\033\\\\", "\x1bP0$r\x1b\\"],
    ["a capability", "\\033P+q6576696c\\033\\\\", null],
    ["the clipboard, written and read", "\\033]52;c;ZXZpbA==\\007\\033]52;c;?\\007", ""],
    ["the answerback message", "\\005", ""],
    ["a palette colour, set and read", "\\033]4;1;evil\\007\\033]4;1;?\\007", null],
    ["a hyperlink", "\\033]8;;evil\\007x\\033]8;;\\007", ""],
    ["a directory", "\\033]7;file://evil/evil\\007", ""],
    ["a status", "\\033[5n", "\x1b[0n"],
  ] as const)("%s: the program gets no text of its own back as input", async (_, sequence, wanted) => {
    const file = `${gateway.dir}/reply`;
    // A query follows that is always answered: anything before the cursor report is the reply.
    const ask = `stty raw -echo; printf '${sequence}\\033[6n'; IFS= read -r -t 20 -d R reply`;
    await gateway.tcp("/exec", { json: { command: `${ask}; printf %s "$reply" >${file}` } });
    const answers = await Bun.file(file).text();
    expect(answers).toMatch(/\x1b\[\d+;\d+$/);
    const reply = answers.slice(0, answers.lastIndexOf("\x1b["));
    expect(reply).not.toMatch(/evil|6576696c|ZXZpbA/);
    expect(reply).not.toMatch(/[\r\n]/);
    if (wanted !== null) expect(reply).toBe(wanted);
  });
});
