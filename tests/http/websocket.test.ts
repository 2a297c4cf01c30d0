/** A program on a WebSocket: calls every method, receives every event, and survives being slow. */
import { describe, expect, test } from "bun:test";
import { operations } from "../../src/operations/table.ts";
import type { SessionInfo } from "../../src/protocol/session.ts";
import { lifecycleEvents } from "../../src/server/sessions/lifecycle-events.ts";
import { ServerSocket } from "../../src/server/websocket/server-socket.ts";
import type { WebSocketPeer } from "../../src/server/websocket/websockets.ts";
import { Gateway } from "../support/server.ts";
import { sharedGateway } from "../support/shared.ts";
import { SlowSocket } from "../support/slow-websocket.ts";
import { Person } from "../support/terminals/attached-peer.ts";
import { until } from "../support/until.ts";
import type { Message, TestSocket } from "../support/websocket.ts";

const gateway = sharedGateway({ config: "kill_grace_ms = 300\n" });

/** Longest time of a flood of some megabytes on a busy machine, in ms. */
const FLOOD_PATIENCE_MS = 60_000;

let made = 0;
/** A session with a shell that has shown its prompt, and a WebSocket to it. */
async function session(fields: Record<string, unknown> = {}): Promise<{ name: string; id: string; ws: TestSocket }> {
  const { name, id } = await gateway.create({ name: `s${made++}`, ...fields });
  if (fields.command === undefined) await gateway.shows(name, "$");
  return { name, id, ws: await gateway.ws(`/sessions/${name}/ws/json`) };
}

let usedShell: Promise<{ name: string }> | null = null;
/** The same with a shell whose commands are known. */
async function usedBash(): Promise<{ name: string; ws: TestSocket }> {
  usedShell ??= (async () => {
    const { name } = await session({ shell: "bash", env: {} });
    await gateway.unix(`/sessions/${name}/wait`, { json: { any_of: ["prompt"] } });
    return { name };
  })();
  const { name } = await usedShell;
  return { name, ws: await gateway.ws(`/sessions/${name}/ws/json`) };
}

let used: Promise<{ name: string; id: string }> | null = null;
/** A further WebSocket to a session that tests share which ask nothing of its earlier output and leave it at its prompt. */
async function usedSession(): Promise<{ name: string; ws: TestSocket }> {
  used ??= session();
  const { name } = await used;
  return { name, ws: await gateway.ws(`/sessions/${name}/ws/json`) };
}

const is = (event: string) => (message: Message) => message.event === event;

describe("methods of a session", () => {
  /** Parameters and a part of the result; `$id` stands for the answer of `create_overlay` and `create_panel`. */
  const calls: readonly (readonly [method: string, params: Record<string, unknown>, result: unknown])[] = [
    ["get_session", {}, { running: true, rows: 24 }],
    ["get_screen", { format: "plain" }, { rows: 24, cols: 80, lines: expect.any(Array), epoch: expect.any(Number) }],
    ["get_scrollback", { format: "plain", limit: 5 }, { offset: 0, lines: expect.any(Array) }],
    ["send_input", { data: "echo one\r" }, {}],
    ["send_input", { data: "ZWNobyB0d28N", encoding: "base64" }, {}],
    ["await_idle", { timeout_ms: 100, format: "plain" }, { screen: { rows: 24 }, generation: expect.any(Number) }],
    ["await_quiesce", { timeout_ms: 0 }, { scrollback_lines: 24 }],
    ["run", { input: "echo run", submit: true, timeout_ms: 200 }, { output: expect.stringContaining("run") }],
    ["wait", { any_of: [{ type: "idle", ms: 50 }], max_wait_ms: 5000 }, { decided_by: expect.any(String) }],
    ["get_output", { lines: 5 }, { text: expect.any(String), output_cursor: expect.any(Number) }],
    ["get_status", {}, { alive: true }],
    ["list_commands", {}, []],
    ["ask", { question: "Go on?", kind: "confirm" }, { decided_by: "nobody_attached" }],
    ["list_asks", {}, []],
    ["get_environment", {}, { variables: {} }],
    ["resize", { rows: 30, cols: 100 }, { rows: 30, cols: 100 }],
    ["resize", { rows: 24, cols: 80 }, { rows: 24, cols: 80 }],
    ["create_overlay", { x: 1, y: 1, width: 9, height: 1, spans: [{ id: "a", text: "hi" }] }, { id: "$id" }],
    ["list_overlays", {}, [{ id: "$id", x: 1 }]],
    ["get_overlay", { id: "$id" }, { id: "$id", z: 0 }],
    ["update_overlay", { id: "$id", spans: [{ id: "a", text: "ho" }] }, {}],
    ["patch_overlay", { id: "$id", x: 4 }, {}],
    ["update_overlay_spans", { id: "$id", spans: [{ id: "a", text: "he" }] }, {}],
    ["overlay_region_write", { id: "$id", writes: [{ row: 0, col: 2, text: "x" }] }, {}],
    ["batch_update", { id: "$id", type: "overlay", spans: [{ id: "a", text: "hu" }] }, {}],
    ["delete_overlay", { id: "$id" }, {}],
    ["clear_overlays", {}, {}],
    ["create_panel", { position: "top", height: 2, focusable: true }, { id: "$id" }],
    ["list_panels", {}, [{ id: "$id", visible: true }]],
    ["get_panel", { id: "$id" }, { height: 2 }],
    ["update_panel", { id: "$id", position: "bottom", height: 1, z: 1, spans: [] }, {}],
    ["patch_panel", { id: "$id", height: 2 }, {}],
    ["update_panel_spans", { id: "$id", spans: [] }, {}],
    ["panel_region_write", { id: "$id", writes: [] }, {}],
    ["get_input_mode", {}, { mode: "passthrough" }],
    ["capture_input", {}, { mode: "capture" }],
    ["focus", { id: "$id" }, {}],
    ["get_focus", {}, { focused: "$id" }],
    ["unfocus", {}, {}],
    ["get_captured_keys", {}, { keys: [] }],
    ["release_input", {}, {}],
    ["delete_panel", { id: "$id" }, {}],
    ["clear_panels", {}, {}],
    ["get_screen_mode", {}, { mode: "normal" }],
    ["enter_alt_screen", {}, { mode: "alt" }],
    ["exit_alt_screen", {}, { mode: "normal" }],
    ["update_session", { add_tags: ["ws"] }, { tags: ["ws"] }],
    ["signal", { signal: "WINCH" }, { signal: "SIGWINCH" }],
    ["clear", {}, { output_cursor: expect.any(Number) }],
    ["reset", {}, { mended: [], output_cursor: expect.any(Number) }],
    ["set_buffer", { buffer: "mine", text: "copied" }, { name: "mine" }],
    ["set_buffer", { buffer: "mine", text: " more", append: true }, { bytes: 11 }],
    ["list_buffers", {}, expect.arrayContaining([expect.objectContaining({ name: "mine" })])],
    ["get_buffer", { buffer: "mine" }, { text: "copied more" }],
    ["rename_buffer", { buffer: "mine", new_name: "yours" }, { name: "yours" }],
    ["paste_buffer", { buffer: "yours", delete: true }, { bytes: 11 }],
    ["paste_image", { data: Buffer.from("GIF89a").toString("base64"), format: "gif" }, { bytes: 6 }],
    ["set_buffer", { text: "#" }, { name: expect.stringMatching(/^buffer\d+$/) }],
    ["delete_buffer", {}, { bytes: 1 }],
    ["list_clients", {}, []],
    ["detach_session", {}, {}],
    ["restart", {}, { running: true }],
    ["kill_session", {}, {}],
  ];

  test("each has its documented effect", async () => {
    const { ws } = await session();
    let made = "";
    const fill = (value: unknown): unknown => JSON.parse(JSON.stringify(value).replaceAll("$id", made));
    for (const [method, params, wanted] of calls) {
      const answer = await ws.call(method, fill(params) as object);
      expect(answer.error, method).toBeUndefined();
      if (method.startsWith("create_")) {
        made = answer.result.id;
        continue;
      }
      const isPlain = JSON.stringify(wanted).includes("$id");
      expect(answer.result, method).toMatchObject((isPlain ? fill(wanted) : wanted) as object);
    }
  });

  test("the table's methods are all above or in the tests of commands", () => {
    // A question is answered and cancelled in the tests of questions: here nobody is attached, so none is open.
    const elsewhere = ["exec", "get_command", "get_command_output", "cancel_ask", "answer_ask"];
    const tested = new Set([...calls.map(([method]) => method), ...elsewhere]);
    const all = operations.filter(({ scope }) => scope === "session").flatMap(({ ws }) => ws);
    expect(all.filter((method) => !tested.has(method))).toEqual([]);
  });

  test("commands of an integrated shell: exec, its record, its output", async () => {
    const { ws, name } = await session({ shell: "bash", env: {} });
    await gateway.unix(`/sessions/${name}/wait`, { json: { any_of: ["prompt"] } });
    const { result } = await ws.call("exec", { command: "echo out; (exit 3)" });
    expect(result).toMatchObject({ state: "finished", exit_code: 3, output: "out" });
    const id = result.command_id;
    expect((await ws.call("get_command", { id })).result).toMatchObject({
      exit_code: 3,
      command: "echo out; (exit 3)",
    });
    expect((await ws.call("get_command_output", { id })).result.text).toBe("out");
    expect((await ws.call("list_commands")).result).toHaveLength(1);
  });

  test("errors are reported, and the connection stays open", async () => {
    const { ws } = await usedSession();
    for (const [sent, wanted] of [
      ["{", { error: { code: "invalid_request" } }],
      ["[]", { error: { code: "invalid_request" } }],
      ['{"id":7}', { error: { code: "invalid_request" } }],
      ['{"id":1,"method":5}', { error: { code: "invalid_request" } }],
      ['{"id":"x","method":"no_such"}', { id: "x", method: "no_such", error: { code: "unknown_method" } }],
      ['{"method":"list_sessions"}', { method: "list_sessions", error: { code: "unknown_method" } }],
      ['{"id":2,"method":"resize","params":{"rows":"x"}}', { id: 2, error: { code: "invalid_request" } }],
      [
        '{"id":3,"method":"send_input","params":{"data":"%","encoding":"base64"}}',
        { error: { code: "invalid_request" } },
      ],
      ['{"id":4,"method":"get_screen","params":{"format":"html"}}', { error: { code: "invalid_format" } }],
      ['{"id":5,"method":"get_overlay","params":{"id":"none"}}', { error: { code: "overlay_not_found" } }],
      ['{"id":6,"method":"focus","params":{"id":"none"}}', { error: { code: "invalid_request" } }],
      ['{"id":8,"method":"exit_alt_screen"}', { error: { code: "not_in_alt_screen" } }],
      ['{"id":9,"method":"subscribe","params":{"events":["lines","nope"]}}', { error: { code: "invalid_request" } }],
      ['{"id":10,"method":"subscribe"}', { error: { code: "invalid_request" } }],
    ] as const) {
      const before = ws.messages.length;
      ws.send(sent);
      const answer = await ws.next(sent, () => true, before);
      expect(answer, sent).toMatchObject(wanted);
      if (!sent.includes("method")) expect(Object.keys(answer)).toEqual(["error"]);
    }
    ws.socket.send(new Uint8Array([1, 2, 3]));
    expect((await ws.call("get_input_mode")).result.mode).toBe("passthrough");
    ws.send({ id: null, method: "get_focus" });
    expect(await ws.next("an answer without id", (m) => m.method === "get_focus")).not.toHaveProperty("id");
  });

  test("a second await_idle replaces the first; others continue", async () => {
    const { ws } = await usedSession();
    ws.send({ id: "a", method: "await_idle", params: { timeout_ms: 60_000, max_wait_ms: 60_000 } });
    expect((await ws.call("get_screen_mode")).result).toEqual({ mode: "normal" });
    ws.send({ id: "b", method: "await_idle", params: { timeout_ms: 60_000, max_wait_ms: 100 } });
    expect(await ws.next("the first", (m) => m.id === "a")).toMatchObject({ error: { code: "idle_superseded" } });
    expect(await ws.next("the second", (m) => m.id === "b")).toMatchObject({ error: { code: "idle_timeout" } });
  });
});

describe("events of a session", () => {
  test("answer, sync, present state, then changes in order", async () => {
    const { ws, name } = await session();
    const events = ["lines", "cursor", "mode", "diffs", "activity"];
    const answer = await ws.call("subscribe", { events, format: "plain", idle_timeout_ms: 100, interval_ms: 20 });
    expect(answer.result).toEqual({ events });
    await ws.next("idle", is("idle"));
    const names = ws.messages.map((message) => message.event ?? message.method ?? "connected");
    expect(names.slice(0, 3)).toEqual(["connected", "subscribe", "sync"]);
    expect(["running", "idle"]).toContain(names[3]);
    const sync = ws.messages[2];
    expect(sync).toMatchObject({ seq: 0, scrollback_lines: 24, screen: { lines: expect.arrayContaining(["$"]) } });

    const before = ws.messages.length;
    await gateway.type(name, "echo $((40+2))\r");
    const diff = await ws.next("a diff with 42", (m) => is("diff")(m) && m.screen.lines.includes("42"), before);
    expect(diff.changed_lines).toContain(diff.screen.lines.indexOf("42"));
    const line = await ws.next("the line", (m) => is("line")(m) && m.line === "42", before);
    expect(line).toMatchObject({ index: 1, total_lines: 24 });
    expect(await ws.next("the cursor", (m) => is("cursor")(m) && m.row === 2, before)).toMatchObject({ visible: true });
    expect(await ws.next("running", is("running"), before)).toMatchObject({ seq: 0 });
    expect(await ws.next("idle again", is("idle"), before)).toMatchObject({ seq: 0 });
    const counted = ws.messages.filter((message) => message.seq > 0).map((message) => message.seq);
    expect(counted).toEqual(counted.map((_, index) => index + 1));
  });

  test("styled lines unless told otherwise; without activity an idle comes with a sync", async () => {
    const { ws, name } = await usedSession();
    await ws.call("subscribe", { events: ["lines"], quiesce_ms: 50, interval_ms: 0 });
    await ws.next("idle", is("idle"));
    await ws.next("the sync beside it", (m) => is("sync")(m), ws.messages.findIndex(is("idle")));
    await gateway.type(name, "printf '\\033[31mred\\033[m\\n'\r");
    const red = await ws.next("a red line", (m) => is("line")(m) && m.line[0]?.text === "red");
    expect(red.line[0].fg).toEqual({ indexed: 1 });
    expect(ws.messages.some(is("cursor"))).toBe(false);
  });

  test("alternate screen, resets and their reasons", async () => {
    const { ws, name } = await session();
    await ws.call("subscribe", { events: ["mode"] });
    const reasons = (): string[] => ws.messages.filter(is("reset")).map((message) => message.reason);
    await gateway.type(name, "printf '\\033[?1049h'; read -r go; printf '\\033[?1049l'\r");
    expect(await ws.next("entering", (m) => is("mode")(m) && m.alternate_active === true)).toBeDefined();
    await gateway.type(name, "\r");
    expect(await ws.next("leaving", (m) => is("mode")(m) && m.alternate_active === false)).toBeDefined();
    await ws.call("resize", { rows: 20, cols: 70 });
    for (const [typed, reason] of [
      ["printf '\\033[2J'", "clear_screen"],
      ["printf '\\033[3J'", "clear_scrollback"],
      ["printf '\\033c'", "hard_reset"],
    ]) {
      await gateway.type(name, `${typed}\r`);
      await ws.wait(`reset ${reason}`, () => reasons().includes(reason ?? ""));
    }
    for (const reason of ["alternate_screen_enter", "alternate_screen_exit", "resize"])
      expect(reasons()).toContain(reason);
  });

  test("a person's keys, in both modes, but nothing of a password", async () => {
    const { ws, name } = await session();
    await ws.call("subscribe", { events: ["input"] });
    using person = await Person.attach(gateway.instance, name);
    person.type("x");
    const key = await ws.next("the key", is("input"));
    expect(key).toEqual({ event: "input", mode: "passthrough", raw: [120], parsed: { key: "x", modifiers: [] } });

    const { result } = await ws.call("create_overlay", { x: 0, y: 0, width: 5, height: 1, spans: [], focusable: true });
    await ws.call("capture_input");
    await ws.next("the mode", (m) => is("mode")(m) && m.mode === "capture");
    await ws.call("focus", { id: result.id });
    person.type("\x1b[A");
    const up = await ws.next("the arrow", (m) => is("input")(m) && m.parsed?.key === "ArrowUp");
    expect(up).toMatchObject({ mode: "capture", raw: [27, 91, 65], target: result.id });
    await ws.call("release_input");
    await ws.next("the mode", (m) => is("mode")(m) && m.mode === "passthrough");

    person.type("\x15stty -echo; read -r secret; stty echo; echo got-$secret\r");
    await until("the password prompt", async () => {
      const status = await (await gateway.unix(`/sessions/${name}/status`)).json();
      return status.state === "password";
    });
    await ws.next("the end of the line", (m) => is("input")(m) && m.parsed?.key === "Enter");
    const before = ws.messages.length;
    person.type("hunter2\r");
    await gateway.shows(name, "got-hunter2");
    person.type("z");
    await ws.next("the next key", (m) => is("input")(m) && m.parsed?.key === "z");
    const heard = ws.messages.slice(before).map((message) => message.parsed?.key);
    expect(heard).toEqual(["z"]);
  });

  test("a capture ends with its owner's connection", async () => {
    const { ws, name } = await usedSession();
    const owner = await gateway.ws(`/sessions/${name}/ws/json`);
    await owner.call("capture_input");
    expect((await ws.call("capture_input")).error.code).toBe("input_captured");
    owner.close();
    await until("the keyboard to be free", async () => (await ws.call("get_input_mode")).result.mode === "passthrough");
  });

  test("what is drawn", async () => {
    const { ws } = await usedSession();
    await ws.call("subscribe", { events: ["overlay"] });
    await ws.call("create_overlay", { x: 1, y: 1, width: 5, height: 1, spans: [{ text: "note" }] });
    const drawn = await ws.next("the overlay", (m) => is("overlay")(m) && m.overlays.length === 1);
    expect(drawn).toMatchObject({ overlays: [{ x: 1, spans: [{ text: "note" }] }], panels: [] });
    await ws.call("clear_overlays");
    await ws.next("its end", (m) => is("overlay")(m) && m.overlays.length === 0);
  });

  test("commands that start and finish, and output as text", async () => {
    const { ws } = await usedBash();
    await ws.call("subscribe", { events: ["commands", "chars"] });
    await ws.call("exec", { command: "echo grün; false" });
    const started = await ws.next("the start", is("command_started"));
    const finished = await ws.next("the end", is("command_finished"));
    expect(started.command).toMatchObject({ state: "running", command: "echo grün; false" });
    expect(finished.command).toMatchObject({ id: started.command.id, state: "finished", exit_code: 1 });
    await ws.wait("the text", () =>
      ws.messages
        .filter(is("chars"))
        .map((m) => m.text)
        .join("")
        .includes("grün\r\n"),
    );
  });

  test("a new subscription loses no event of the one that it replaces", async () => {
    const { ws, name } = await usedBash();
    let isOver = false;
    const subscribing = (async () => {
      while (!isOver) await ws.call("subscribe", { events: ["commands"] });
    })();
    for (let at = 0; at < 8; at++) await gateway.unix(`/sessions/${name}/exec`, { json: { command: "true" } });
    isOver = true;
    await subscribing;
    await ws.wait("all ends", () => ws.messages.filter(is("command_finished")).length === 8);
    expect(ws.messages.filter(is("command_started"))).toHaveLength(8);
  });

  test("a new subscription replaces the old one, an empty one ends it", async () => {
    const { ws, name } = await session();
    await ws.call("subscribe", { events: ["lines"], format: "plain" });
    await ws.call("subscribe", { events: ["cursor"], format: "plain" });
    const before = ws.messages.length;
    await gateway.type(name, "echo a\r");
    await ws.next("a cursor", (m) => is("cursor")(m) && m.row === 2, before);
    expect(ws.messages.slice(before).some(is("line"))).toBe(false);
    expect((await ws.call("subscribe", { events: [] })).result).toEqual({ events: [] });
    const after = ws.messages.length;
    await gateway.type(name, "echo b\r");
    await gateway.shows(name, /^b$/m);
    await ws.call("get_focus");
    expect(ws.messages.slice(after).filter((m) => m.event !== undefined)).toEqual([]);
  });

  test("interval_ms joins changes", async () => {
    const { ws, name } = await usedSession();
    await ws.call("subscribe", { events: ["diffs"], format: "plain", interval_ms: 300_000 });
    await gateway.type(name, "for i in 1 2 3 4 5 6; do echo n$i; sleep 0.02; done; echo end\r");
    await gateway.shows(name, /^end$/m);
    expect(ws.messages.filter(is("diff")).length).toBeLessThanOrEqual(1);
  });
});

describe("the server's own WebSocket", () => {
  test("lists, makes, renames, tags and ends sessions, and every subscriber is notified", async () => {
    const [ws, other] = [await gateway.ws("/ws/json"), await gateway.ws("/ws/json")];
    const { result } = await ws.call("create_session", { name: "made", shell: "/bin/sh", tags: ["b", "a"] });
    expect(result).toMatchObject({
      name: "made",
      tags: ["a", "b"],
      id: expect.stringMatching(/^@s\d+$/),
      pane_id: expect.stringMatching(/^@\d+$/),
      running: true,
    });
    expect(await other.next("created", is("session_created"))).toMatchObject({
      params: { name: "made", session: { name: "made", tags: ["a", "b"] } },
    });
    const listed = (await ws.call("list_sessions", { tag: ["a"] })).result;
    expect(listed).toMatchObject([{ name: "made", last_activity_ms: expect.any(Number) }]);
    // The reference's client takes a target with a server for another machine's.
    expect(listed[0]).not.toHaveProperty("server");
    expect((await ws.call("list_sessions", { tag: 5 })).result.length).toBeGreaterThanOrEqual(1);

    expect((await ws.call("rename_session", { name: "made", new_name: "named" })).result.name).toBe("named");
    expect(await other.next("renamed", is("session_renamed"))).toMatchObject({
      params: { old_name: "made", new_name: "named" },
    });
    const tagged = await ws.call("update_tags", { session: "named", add: ["c"], remove: ["a", "absent"] });
    expect(tagged.result.tags).toEqual(["b", "c"]);
    const changes = async (key: string) =>
      other.next(key, (m) => is("session_tags_changed")(m) && m.params[key].length);
    expect((await changes("added")).params).toMatchObject({ name: "named", added: ["c"], removed: [] });
    expect((await changes("removed")).params).toMatchObject({ added: [], removed: ["a"], tags: ["b", "c"] });
    const updated = await ws.call("update_session", { add_tags: ["d"] }, { session: "named" });
    expect(updated.result.tags).toEqual(["b", "c", "d"]);

    expect((await ws.call("detach_session", { name: "named" })).result).toMatchObject({});
    expect((await ws.call("kill_session", { name: "named" })).error).toBeUndefined();
    expect(await other.next("destroyed", is("session_destroyed"))).toMatchObject({
      params: { name: "named", reason: "killed", signal: expect.any(String), exit_code: null },
    });
    expect((await ws.call("set_server_mode", { persistent: "yes" })).result).toEqual({ persistent: true });
    expect((await ws.call("set_server_mode", { persistent: true })).result).toEqual({ persistent: true });
    expect((await ws.call("server_info")).result).toMatchObject({ version: expect.any(String) });
  });

  test("errors have the codes of their causes", async () => {
    const ws = await gateway.ws("/ws/json");
    const { name } = await usedSession();
    for (const [method, params, extra, code] of [
      ["get_screen", {}, {}, "session_required"],
      ["no_such", {}, {}, "session_required"],
      ["no_such", {}, { session: name }, "unknown_method"],
      ["get_screen", {}, { session: "nobody" }, "session_not_found"],
      ["subscribe", { events: ["lines"] }, { session: "nobody" }, "session_not_found"],
      ["subscribe", { events: ["lines"] }, {}, "session_required"],
      ["kill_session", { name: "nobody" }, {}, "session_not_found"],
      ["rename_session", { name: "nobody", new_name: "x" }, {}, "session_not_found"],
      ["rename_session", { name, new_name: "no/slash" }, {}, "invalid_session_name"],
      ["update_tags", { session: "nobody", add: ["x"] }, {}, "session_not_found"],
      ["update_tags", { session: name, add: ["no tag"] }, {}, "invalid_tag"],
      ["create_session", { name }, {}, "session_name_conflict"],
      ["create_session", { name: "" }, {}, "invalid_session_name"],
      ["create_session", { tags: ["no tag"] }, {}, "invalid_tag"],
    ] as const) {
      const answer = await ws.call(method, params, extra);
      expect(answer.error?.code, `${method} ${JSON.stringify(params)}`).toBe(code);
    }
  });

  test("several sessions at once; a subscription follows a rename", async () => {
    const ws = await gateway.ws("/ws/json");
    const [a, b] = [await session(), await session()];
    for (const { name } of [a, b]) {
      await ws.call("subscribe", { events: ["lines", "input"], format: "plain" }, { session: name });
    }
    const sync = await ws.next("the sync of a", (m) => is("sync")(m) && m.session === a.name);
    expect(sync).toMatchObject({
      seq: 0,
      screen: { rows: 24 },
      params: { seq: 0, screen: { rows: 24 }, scrollback_lines: 24 },
    });
    await gateway.type(a.name, "echo from-a\r");
    await gateway.type(b.name, "echo from-b\r");
    for (const { name } of [a, b]) {
      await ws.next(`the line of ${name}`, (m) => is("line")(m) && m.session === name && /^from-/.test(m.line));
    }
    expect(ws.messages.some((m) => is("line")(m) && m.session === a.name && m.line === "from-b")).toBe(false);
    const renamed = `${a.name}-renamed`;
    await ws.call("rename_session", { name: a.name, new_name: renamed });
    await gateway.type(renamed, "echo after\r");
    await ws.next("the new name", (m) => is("line")(m) && m.session === renamed && m.line === "after");
    using person = await Person.attach(gateway.instance, b.name);
    person.type("q");
    expect(await ws.next("a key", is("input"))).toMatchObject({ session: b.name, parsed: { key: "q" } });
    const idle = await ws.call("await_idle", { timeout_ms: 50 }, { session: b.name });
    expect(idle.result).toMatchObject({ generation: expect.any(Number) });
    await ws.call("subscribe", { events: [] }, { session: b.name });
    const before = ws.messages.length;
    await gateway.type(b.name, "\x15echo silent\r");
    await gateway.shows(b.name, /^silent$/m);
    expect(ws.messages.slice(before).filter((m) => m.session === b.name)).toEqual([]);
  });

  test("waits over several sessions", async () => {
    const ws = await gateway.ws("/ws/json");
    const { name } = await session({ tags: ["any"] });
    expect((await ws.call("await_any_idle", { timeout_ms: 50, tag: ["any"] })).result.session).toBe(name);
    // From here on, whichever of the two requests reaches the session first.
    const { output_cursor } = (await ws.call("get_status", {}, { session: name })).result;
    const waiting = ws.call("wait_any", {
      any_of: [{ type: "text", text: "needle" }],
      sessions: [name],
      since: { [name]: output_cursor },
      max_wait_ms: 20_000,
    });
    await gateway.type(name, "echo nee''dle\r");
    expect((await waiting).result).toMatchObject({ session: name });
    const { result } = await ws.call("exec_fresh", { command: "echo fresh; exit 4" });
    expect(result).toMatchObject({ exit_code: 4, output: "fresh" });
  });
});

describe("the raw WebSocket", () => {
  test("bytes out, keys in, a snapshot on request", async () => {
    const { name } = await session();
    await gateway.type(name, "echo before\r");
    await gateway.shows(name, /^before$/m);
    const [plain, snapped] = [
      await gateway.ws(`/sessions/${name}/ws/raw`),
      await gateway.ws(`/sessions/${name}/ws/raw?snapshot=1`),
    ];
    await snapped.wait("the snapshot", () => snapped.text.includes("before"));
    plain.socket.send("printf 'gr\\303\\274n\\n'\r");
    for (const ws of [plain, snapped]) await ws.wait("the output", () => ws.text.includes("grün\r\n"));
    plain.socket.send(new TextEncoder().encode("echo $((6*7))\r"));
    await plain.wait("42", () => plain.text.includes("42\r\n"));
    expect(plain.text).not.toContain("before");
    expect(plain.messages).toEqual([]);
  });

  test("input does not count as activity", async () => {
    const { name } = await session({ command: "sleep 60" });
    const ws = await gateway.ws(`/sessions/${name}/ws/raw`);
    const idle = async () => (await (await gateway.unix(`/sessions/${name}`)).json()).last_activity_ms;
    await until("some silence", async () => (await idle()) > 200);
    await gateway.unix(`/sessions/${name}/input/capture`, { method: "POST" });
    ws.socket.send("");
    const json = await gateway.ws(`/sessions/${name}/ws/json`);
    await json.call("get_focus");
    expect(await idle()).toBeGreaterThan(200);
  });
});

describe("ends", () => {
  for (const [how, end, reason] of [
    ["is killed", (name: string) => gateway.unix(`/sessions/${name}`, { method: "DELETE" }), "session killed"],
    ["ends by itself", (name: string) => gateway.type(name, "exit\r"), "session ended"],
  ] as const) {
    test(`a session that ${how} closes its own WebSockets with the reason, not the server's`, async () => {
      const { ws, name } = await session();
      const [raw, server] = [await gateway.ws(`/sessions/${name}/ws/raw`), await gateway.ws("/ws/json")];
      await ws.call("subscribe", { events: ["lines"], format: "plain" });
      await server.call("subscribe", { events: ["lines"] }, { session: name });
      await end(name);
      expect(await ws.closed).toEqual({ code: 1000, reason });
      expect(await raw.closed).toEqual({ code: 1000, reason });
      expect((await server.call("list_sessions")).result).toBeArray();
    });
  }

  test("a subscriber receives the program's end before the connection's", async () => {
    const { ws, name } = await session({ command: "stty -echo; read -r go; printf last; exit 7" });
    await ws.call("subscribe", { events: ["lines"], format: "plain", interval_ms: 60_000 });
    await gateway.type(name, "\r");
    await ws.closed;
    const events = ws.messages.filter((m) => m.event !== undefined);
    expect(events.at(-1)).toMatchObject({ event: "exited", exit_code: 7, signal: null });
    expect(events.some((m) => is("line")(m) && m.line === "last")).toBe(true);
  });

  test("a crash of the session process is not one of the normal ends", async () => {
    const { ws, name, id } = await session();
    const server = await gateway.ws("/ws/json");
    const host = gateway.processes().filter(({ command }) => command.endsWith(" session-process"));
    const pid = (await (await gateway.unix(`/sessions/${name}`)).json()).pid as number;
    const parent = Number(/^PPid:\s+(\d+)/m.exec(await Bun.file(`/proc/${pid}/status`).text())?.[1]);
    expect(host.map((one) => one.pid)).toContain(parent);
    process.kill(parent, "SIGKILL");
    expect(await ws.closed).toMatchObject({ code: 1011 });
    expect(await server.next("the end", (m) => is("session_destroyed")(m) && m.params.session.id === id)).toMatchObject(
      {
        params: { reason: "session_crashed", exit_code: null },
      },
    );
  });
});

describe("the server's end", () => {
  test("is reported to every client: by SIGTERM, after which the sessions stay, and by wsh stop", async () => {
    await using own = new Gateway({ config: "kill_grace_ms = 300\n" });
    for (const end of [() => own.end("SIGTERM"), () => own.ok("stop")]) {
      await own.serve();
      await own.create({ name: "s", if_exists: "attach" });
      const sockets = [
        await own.ws("/ws/json"),
        await own.ws("/sessions/s/ws/json"),
        await own.ws("/sessions/s/ws/raw"),
      ];
      await end();
      for (const ws of sockets) expect(await ws.closed).toEqual({ code: 1000, reason: "server shutting down" });
    }
  });

  test("waits for a server-level WebSocket when the server is ephemeral", async () => {
    await using own = await Gateway.start({ args: ["--ephemeral"] });
    await own.create({ name: "s", command: "sleep 60" });
    const ws = await own.ws("/ws/json");
    await ws.call("kill_session", { name: "s" });
    await ws.next("the end of the last session", is("session_destroyed"));
    expect((await ws.call("server_info")).result).toMatchObject({ sessions: 0, persistent: false });
    ws.close();
    expect(await own.ended).toBe(0);
  });

  test("loses no session: the next server has them, and their subscribers reconnect", async () => {
    await using own = await Gateway.start();
    await own.create({ name: "s" });
    const before = await own.ws("/sessions/s/ws/json");
    await own.end("SIGKILL");
    expect((await before.closed).code).toBeGreaterThanOrEqual(1001);
    await own.type("s", "x").catch(() => {});
    await own.serve();
    const after = await own.ws("/sessions/s/ws/json");
    await after.call("subscribe", { events: ["lines"], format: "plain" });
    await own.type("s", "echo still-here\r");
    await after.next("the line", (m) => is("line")(m) && m.line === "still-here");
  });
});

/** Clients that receive at once, and their sessions: a session has at most 64. */
const [SOCKETS, SOURCES] = process.env.WSH_TEST_FULL === "1" ? [200, 4] : [24, 2];

describe("slow readers", () => {
  test("one of the server's own events is told how many it missed", () => {
    const sent: Message[] = [];
    let buffered = 0;
    const socket = {
      sendText: (text: string) => sent.push(JSON.parse(text)),
      getBufferedAmount: () => buffered,
    } as unknown as WebSocketPeer;
    const never = (): never => {
      throw new Error("not asked here");
    };
    const connection = new ServerSocket({
      call: never,
      sources: { find: never, pane: never },
      context: { access: "admin", caller: { kind: "ws", id: "ws:1", connected: true } },
      maxWaits: 1,
      maxSubscriptions: 1,
      remoteEvents: { watch: never, requireKnown: never },
      concealedFrom: () => null,
      callerGone: () => {},
      audit: () => {},
      closed: () => {},
    });
    const tagged = lifecycleEvents.eventOf({ name: "s" } as SessionInfo, {
      event: "session_tags_changed",
      added: ["a"],
    });
    if (tagged === null) throw new Error("no event");
    connection.open(socket);
    connection.lifecycle(tagged);
    buffered = 1024 * 1024;
    for (let i = 0; i < 5; i++) connection.lifecycle(tagged);
    buffered = 0;
    connection.drain();
    connection.lifecycle(tagged);
    expect(sent.map((message) => message.event ?? message)).toEqual([
      { connected: true },
      "session_tags_changed",
      { type: "lagged", skipped: 5 },
      "session_tags_changed",
    ]);
  });

  test(
    "one that stops for seconds under a flood gets the newest state and costs nothing",
    async () => {
      const { name } = await session();
      const json = await SlowSocket.open(gateway.origin, `/sessions/${name}/ws/json`, gateway.bearer);
      json.send({
        id: 1,
        method: "subscribe",
        params: { events: ["lines", "diffs"], format: "plain", interval_ms: 5 },
      });
      await json.wait(() => json.messages.some(is("sync")));
      const raw = await SlowSocket.open(gateway.origin, `/sessions/${name}/ws/raw`, gateway.bearer);
      const chars = await SlowSocket.open(gateway.origin, `/sessions/${name}/ws/json`, gateway.bearer);
      chars.send({ id: 1, method: "subscribe", params: { events: ["chars"], format: "plain", interval_ms: 5 } });
      await chars.wait(() => chars.messages.some(is("sync")));
      for (const socket of [json, raw, chars]) socket.pause();
      const memory = (): number =>
        Number(/VmRSS:\s+(\d+)/.exec(require("node:fs").readFileSync(`/proc/${gateway.pid}/status`, "utf8"))?.[1]);
      const before = memory();
      await gateway.type(name, "seq 1 800000; echo END\r");
      const shown = async () => /^END$/m.test(await gateway.screen(name));
      await until("the flood's end", shown, FLOOD_PATIENCE_MS);
      expect(memory() - before).toBeLessThan(64 * 1024);
      const held = json.messages.length;
      json.resume();
      raw.resume();
      const isEnd = (m: Message): boolean => is("diff")(m) && m.screen.lines.includes("END");
      await json.wait(() => json.messages.some(isEnd), FLOOD_PATIENCE_MS);
      const seqs = json.messages.filter((m) => m.seq > 0).map((m) => m.seq as number);
      expect(seqs).toEqual(seqs.map((_, index) => index + 1));
      expect(json.messages.length - held).toBeLessThan(100_000);
      // Never behind after ahead: rows only grow.
      const numbers = json.messages.flatMap((m) =>
        is("diff")(m) ? [Number(/^\d+$/.exec(m.screen.lines[0])?.[0] ?? 0)] : [],
      );
      expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
      // Text cannot be joined: missing output is counted, and the screen follows.
      const lag = (): number => chars.messages.findIndex((m) => m.type === "lagged");
      chars.resume();
      await chars.wait(() => lag() >= 0 && chars.messages.slice(lag()).some(is("sync")), FLOOD_PATIENCE_MS);
      expect(chars.messages[lag()].skipped).toBeGreaterThan(0);
      for (const socket of [json, raw, chars]) socket.close();
    },
    4 * FLOOD_PATIENCE_MS,
  );

  test(`${SOCKETS} WebSockets at once receive the same`, async () => {
    const sessions = await Promise.all(Array.from({ length: SOURCES }, () => session()));
    const sockets = await Promise.all(
      Array.from({ length: SOCKETS }, async (_, index) => {
        const { name } = sessions[index % SOURCES] ?? { name: "" };
        const ws = await gateway.ws(`/sessions/${name}/ws/json`);
        await ws.call("subscribe", { events: ["lines"], format: "plain" });
        return ws;
      }),
    );
    await Promise.all(sessions.map(({ name }) => gateway.type(name, `echo to-${name}\r`)));
    await Promise.all(
      sockets.map((ws, index) => {
        const wanted = `to-${sessions[index % SOURCES]?.name}`;
        return ws.next(wanted, (m) => is("line")(m) && m.line === wanted);
      }),
    );
    for (const ws of sockets) ws.close();
    const { name } = sessions[0] ?? { name: "" };
    await until(
      "the clients to be gone",
      async () => (await (await gateway.unix(`/sessions/${name}`)).json()).clients <= 1,
    );
  }, 60_000);
});
