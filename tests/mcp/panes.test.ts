/**
 * Windows and panes for an agent: it makes panes beside a person's work, addresses them, and the
 * person's focus does not move.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Client } from "@modelcontextprotocol/client";
import { firstCursor } from "../../src/protocol/pane-numbers.ts";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";

/** Calls that must succeed, of one client. */
function callsOf(client: Client) {
  const use = (name: string, args: Record<string, unknown> = {}) => call(client, name, args);
  const must = async (name: string, args: Record<string, unknown> = {}) => {
    const { isError, value } = await use(name, args);
    if (isError) throw new Error(`${name} ${JSON.stringify(args)}: ${JSON.stringify(value)}`);
    return value;
  };
  return { use, must };
}

const mcp = new McpInstance();
let client: Client;
beforeAll(async () => {
  client = await mcp.client();
});
afterAll(() => mcp[Symbol.asyncDispose]());

/** The agent of all tests, without sessions; those that a test makes end with it. */
async function agent() {
  const calls = callsOf(client);
  const end = async (): Promise<void> => {
    for (const { name } of await calls.must("wsh_list_sessions")) {
      await calls.must("wsh_manage_session", { session: name, action: "kill" });
    }
  };
  return { mcp, ...calls, [Symbol.asyncDispose]: end };
}

test("fugue's table: sessions with windows and panes, a pane made, typed into, read and closed", async () => {
  await using all = await agent();
  const { must } = all;
  const { id, name } = await must("wsh_create_session", { name: "dev" });
  const [alone] = await must("wsh_list_sessions");
  expect(alone).toMatchObject({ id, name });
  expect(alone.windows).toBeUndefined();
  const { pane_id } = await must("wsh_list_sessions", { session: "dev" });

  const made = await must("wsh_create_pane", { session: "dev", direction: "down", size: "25%", title: "agent" });
  expect(made).toEqual({
    pane: expect.stringMatching(/^@\d+$/),
    window: expect.stringMatching(/^@w\d+$/),
    rows: 6,
    cols: 80,
    output_cursor: firstCursor(made.pane),
  });
  await must("wsh_create_pane", { session: "dev", window: "new", command: "cat" });
  const [listed] = await must("wsh_list_sessions");
  expect(listed.windows).toMatchObject([
    {
      id: made.window,
      index: 0,
      active: true,
      panes: [
        { id: pane_id, index: 0, active: true, row: 0, col: 0, rows: 17, cols: 80 },
        { id: made.pane, index: 1, title: "agent", row: 18, col: 0, rows: 6, cols: 80 },
      ],
    },
    { index: 1, active: false, panes: [{ command: "cat" }] },
  ]);
  expect(listed.windows[0].panes[1].active).toBeUndefined();
  expect(await must("wsh_list_sessions", { session: "dev" })).toMatchObject({ windows: listed.windows.map(idOf) });

  await must("wsh_wait", { session: made.pane, any_of: ["prompt"] });
  const sent = await must("wsh_send_input", { session: made.pane, input: "echo $((6*7)) in the pane", submit: true });
  await must("wsh_wait", {
    session: made.pane,
    any_of: [{ type: "text", text: "42 in the pane" }],
    since: sent.output_cursor,
  });
  const read = await must("wsh_get_output", { session: made.pane, since: sent.output_cursor });
  expect(read.text).toContain("42 in the pane");
  expect((await must("wsh_get_output", { session: pane_id })).text).not.toContain("in the pane");

  expect(await must("wsh_close_pane", { pane: made.pane })).toEqual({
    success: true,
    closed: made.pane,
    ended: [],
    panes_left: 2,
  });
  expect(await must("wsh_close_pane", { pane: "dev:1.0" })).toMatchObject({ panes_left: 1 });
  expect(await must("wsh_close_pane", { pane: "dev" })).toMatchObject({ panes_left: 0 });
  expect(await must("wsh_list_sessions")).toEqual([]);
});

function place({ id, row, col, rows, cols }: Readonly<Record<string, unknown>>) {
  return { id, row, col, rows, cols };
}

function idOf({ id }: { readonly id: string }) {
  return { id };
}

describe("targets", () => {
  test("each base tool reaches the pane that each form of a target selects", async () => {
    await using all = await agent();
    const { must } = all;
    const { id } = await must("wsh_create_session", { name: "dev" });
    const left = (await must("wsh_list_sessions", { session: "dev" })).pane_id;
    const { pane: right, window: first } = await must("wsh_create_pane", { session: "dev", focus: true });
    const { pane: other, window } = await must("wsh_create_pane", { session: "dev", window: "new" });
    await must("wsh_manage_window", { session: "dev", action: "rename", window: "1", name: "logs" });
    for (const pane of [left, right, other]) {
      await must("wsh_exec", { session: pane, command: `MARK=is${pane.slice(1)}` });
    }
    const forms: [target: string, pane: string, leavesOpen: boolean][] = [
      ["dev", left, true],
      [id, left, true],
      ["dev:", right, true],
      ["dev:0", right, true],
      [first, right, true],
      ["dev:0.0", left, false],
      ["dev:0.1", right, false],
      [right, right, false],
      ["dev:logs", other, true],
      ["dev:1", other, true],
      ["dev:logs.0", other, false],
      [window, other, true],
    ];
    for (const [session, pane, leavesOpen] of forms) {
      const mark = `is${pane.slice(1)}`;
      const said = leavesOpen ? pane : undefined;
      const ran = await must("wsh_exec", { session, command: "echo $MARK" });
      expect([session, ran.output.trim(), ran.pane]).toEqual([session, mark, said]);
      const typed = await must("wsh_run_command", { session, input: "echo run $MARK", submit: true });
      expect([session, typed.output.split("\n")[0], typed.pane]).toEqual([session, `run ${mark}`, said]);
      const screen = await must("wsh_get_screen", { session });
      expect(screen.screen).toContain(`run ${mark}`);
      const { text, pane: read } = await must("wsh_get_output", { session, command_id: ran.command_id });
      expect([text.trim(), read]).toEqual([mark, said]);
      const sent = await must("wsh_send_input", { session, input: `echo sent $MARK`, submit: true });
      const any_of = [{ type: "text", text: `sent ${mark}` }];
      const waited = await must("wsh_wait", { session, any_of, since: sent.output_cursor });
      expect([session, waited.decided_by, waited.pane]).toEqual([session, "text", said]);
      expect(await must("wsh_wait", { sessions: [session], any_of: ["prompt"] })).toMatchObject({
        session: "dev",
        pane,
      });
      const { lines } = await must("wsh_get_scrollback", { session, grep: `sent ${mark}` });
      expect(lines.length).toBeGreaterThan(0);
      const quiet = await must("wsh_await_quiesce", { session, timeout_ms: 50 });
      expect(quiet.pane).toBe(said);
      const status = await must("wsh_get_status", { session });
      expect([status.last_command.command.startsWith("echo"), status.pane]).toEqual([true, said]);
      for (const each of [screen, sent]) expect(each.pane).toBe(said);
    }
    for (const [session, pane, leavesOpen] of forms) {
      const cleared = await must("wsh_manage_session", { session, action: "clear" });
      expect([session, cleared.pane]).toEqual([session, leavesOpen ? pane : undefined]);
    }
  });

  test("an invalid target is refused, and a cursor of one pane is invalid in another", async () => {
    await using all = await agent();
    const { use, must } = all;
    await must("wsh_create_session", { name: "dev" });
    const { pane } = await must("wsh_create_pane", { session: "dev" });
    for (const session of ["dev:0.9", "dev:7", "dev:none", "@999", "@w999", "@s999", "@x", "other"]) {
      const { isError, value } = await use("wsh_get_screen", { session });
      expect([session, isError]).toEqual([session, true]);
      expect(["pane_not_found", "session_not_found"]).toContain(value.code);
    }
    const ran = await must("wsh_exec", { session: pane, command: "seq 1 5000" });
    for (const name of ["wsh_get_output", "wsh_run_command"]) {
      const more = name === "wsh_run_command" ? { input: "echo", submit: true } : {};
      const { value } = await use(name, { session: "dev", since: ran.output_cursor, ...more });
      expect([name, value.code]).toEqual([name, "invalid_cursor"]);
    }
    expect((await use("wsh_wait", { session: "dev", any_of: ["bell"], since: ran.output_cursor })).value.code).toBe(
      "invalid_cursor",
    );
    expect((await use("wsh_get_output", { session: "dev", command_id: ran.command_id })).value.code).toBe(
      "invalid_cursor",
    );
  });

  test("panes of one session are waited for at once, each with its own cursor", async () => {
    await using all = await agent();
    const { must } = all;
    await must("wsh_create_session", { name: "dev" });
    const { pane: one } = await must("wsh_create_pane", { session: "dev" });
    const { pane: two } = await must("wsh_create_pane", { session: one });
    const cursors: Record<string, number> = {};
    for (const pane of [one, two]) {
      cursors[pane] = (await must("wsh_exec", { session: pane, command: "true" })).output_cursor;
    }
    const over = await must("wsh_wait", { sessions: [one, two], any_of: ["bell"], since: cursors, max_wait_ms: 50 });
    expect(Object.keys(over.output_cursors).sort()).toEqual([one, two].sort());
    await must("wsh_send_input", { session: two, input: "echo rea''dy", submit: true });
    const any_of = [{ type: "text", text: "ready" }];
    expect(await must("wsh_wait", { sessions: [one, two], any_of, since: over.output_cursors })).toMatchObject({
      session: "dev",
      pane: two,
      decided_by: "text",
    });
  });
});

describe("the person's focus", () => {
  test("moves only with calls that request it", async () => {
    await using all = await agent();
    const { mcp, must } = all;
    await must("wsh_create_session", { name: "dev", rows: 24, cols: 80 });
    const own = (await must("wsh_list_sessions", { session: "dev" })).pane_id;
    await using person = await EmulatorTerminal.attach(mcp, "dev");
    const focus = async (): Promise<string[]> => {
      const { windows } = await must("wsh_layout", { session: "dev", action: "get" });
      const active = windows.find((window: { active: boolean }) => window.active);
      return [active.id, active.panes.find((pane: { active?: boolean }) => pane.active === true).id];
    };
    const { pane } = await must("wsh_create_pane", { session: "dev" });
    const [window] = await focus();
    const stays = async (what: string): Promise<void> =>
      expect([what, ...(await focus())]).toEqual([what, window, own]);
    await stays("split");
    const { pane: far } = await must("wsh_create_pane", { session: "dev", window: "new", command: "cat" });
    await stays("new window");
    const { windows } = await must("wsh_manage_window", { session: "dev", action: "create", name: "more", index: 7 });
    expect(windows).toMatchObject([{ index: 0 }, { index: 1 }, { index: 7, name: "more" }]);
    await stays("create");
    for (const change of [
      { action: "preset", preset: "even-vertical" },
      { action: "resize", session: pane, rows: "40%" },
      { action: "resize", session: pane, direction: "up", by: 2 },
      { action: "equalise" },
      { action: "title", session: pane, title: "build" },
      { action: "synchronize", on: false },
      { action: "set", tree: { column: [{ pane: own }, { pane, weight: 2 }, { command: "cat" }] } },
      { action: "move", session: far, to: pane, direction: "right" },
      { action: "move", session: far },
    ]) {
      await must("wsh_layout", { session: own, ...change });
      await stays(JSON.stringify(change));
    }
    await must("wsh_exec", { session: pane, command: "echo made" });
    await must("wsh_manage_window", { session: "dev", action: "close", window: "more" });
    await must("wsh_close_pane", { pane: far });
    await stays("close");
    person.type("echo still $WSH_PANE\r");
    await person.sees(new RegExp(`still ${own}`));

    expect(await must("wsh_layout", { session: "dev", action: "focus", to: pane })).toMatchObject({ pane });
    expect(await focus()).toEqual([window, pane]);
    await must("wsh_layout", { session: pane, action: "focus", to: "up" });
    expect(await focus()).toEqual([window, own]);
    const { pane: asked } = await must("wsh_create_pane", { session: "dev", focus: true });
    expect(await focus()).toEqual([window, asked]);
  });
});

describe("layouts", () => {
  test("a tree is read, changed and set again; presets, zoom, swap and tmux's own form", async () => {
    await using all = await agent();
    const { use, must } = all;
    await must("wsh_create_session", { name: "dev" });
    const { pane: two } = await must("wsh_create_pane", { session: "dev" });
    const { pane: three } = await must("wsh_create_pane", { session: two, direction: "down", size: 5 });
    const got = await must("wsh_layout", { session: "dev", action: "get" });
    const [{ tree, tmux, panes }] = got.windows;
    expect(panes.map(idOf)).toMatchObject([{}, { id: two }, { id: three }]);
    expect(panes[2]).toMatchObject({ rows: 5 });
    const tall = await must("wsh_layout", { session: "dev", action: "preset", preset: "main-horizontal" });
    expect(tall.windows[0].panes.map(({ cols }: { cols: number }) => cols)).toEqual([80, 40, 39]);
    expect((await must("wsh_layout", { session: "dev", action: "set", tmux })).windows[0].tmux).toBe(tmux);
    await must("wsh_layout", { session: "dev", action: "swap", to: three });
    expect((await must("wsh_layout", { session: "dev", action: "set", tree })).windows[0].panes.map(place)).toEqual(
      panes.map(place),
    );
    expect(await use("wsh_layout", { session: two, action: "zoom" })).toMatchObject({
      value: { code: "invalid_request" },
    });
    await must("wsh_layout", { session: two, action: "focus" });
    await must("wsh_layout", { session: "dev", action: "rotate" });
    expect((await must("wsh_layout", { session: two, action: "zoom" })).windows[0]).toMatchObject({ zoomed: true });
    const { pane: behind } = await must("wsh_create_pane", { session: "dev" });
    const [{ zoomed, panes: now }] = (await must("wsh_layout", { session: "dev", action: "get" })).windows;
    expect([zoomed, now.find(({ id }: { id: string }) => id === behind)]).toMatchObject([true, { hidden: true }]);
    expect((await must("wsh_layout", { session: two, action: "zoom", on: false })).windows[0].zoomed).toBeUndefined();
    await must("wsh_close_pane", { pane: behind });
    for (const [wrong, code] of [
      [{ action: "preset" }, "invalid_request"],
      [{ action: "resize" }, "invalid_request"],
      [{ action: "resize", rows: "40" }, "invalid_request"],
      [{ action: "set" }, "invalid_layout"],
      [{ action: "set", tree: { pane: two } }, "invalid_layout"],
      [{ action: "set", tmux: "0000,80x24,0,0,0" }, "invalid_layout"],
      [{ action: "swap", to: "@999" }, "pane_not_found"],
      [{ action: "dance" }, "invalid_request"],
    ] as const) {
      const { isError, value } = await use("wsh_layout", { session: "dev", ...wrong });
      expect([wrong, isError, value.code]).toEqual([wrong, true, code]);
    }
  });

  test("a view of another session is closed by its given name, and the session continues", async () => {
    await using all = await agent();
    const { must } = all;
    await must("wsh_create_session", { name: "dev" });
    await must("wsh_create_session", { name: "logs", command: "cat" });
    const { pane } = await must("wsh_create_pane", { session: "dev", view: "logs" });
    expect(pane).toBe("dev:0.1");
    await must("wsh_run_command", { session: pane, input: "seen in both", submit: true });
    expect((await must("wsh_get_screen", { session: "logs" })).screen).toContain("seen in both");
    expect(await must("wsh_close_pane", { pane })).toMatchObject({ panes_left: 1 });
    expect(await must("wsh_list_sessions")).toMatchObject([{ name: "dev" }, { name: "logs" }]);
  });

  test("a pane stays after its program's end on request, with its end reason", async () => {
    await using all = await agent();
    const { must } = all;
    await must("wsh_create_session", { name: "dev" });
    const kept = await must("wsh_create_pane", { session: "dev", command: "echo done; exit 3", keep_after_exit: true });
    const gone = await must("wsh_create_pane", { session: "dev", command: "sleep 0.1" });
    const panes = async () => (await must("wsh_layout", { session: "dev", action: "get" })).windows[0].panes;
    await until("one to be gone and one to stay", async () => {
      const now: { id: string; state: string }[] = await panes();
      return now.every(({ id }) => id !== gone.pane) && now.find(({ id }) => id === kept.pane)?.state === "exited";
    });
    expect(await panes()).toContainEqual(expect.objectContaining({ id: kept.pane, exit_code: 3 }));
    expect((await must("wsh_get_output", { session: kept.pane })).text).toContain("done");
    await must("wsh_close_pane", { pane: kept.pane });
    expect(await panes()).toHaveLength(1);
  });
});
