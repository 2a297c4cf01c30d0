/** The tools that draw and take keys, seen on an attached person's terminal. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Client } from "@modelcontextprotocol/client";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { hasTmux, PersonTerminal } from "../support/terminals/tmux-terminal.ts";
import { until } from "../support/until.ts";

const mcp = new McpInstance();
let client: Client;
let person: PersonTerminal;

beforeAll(async () => {
  client = await mcp.client();
  await tool("wsh_create_session", { name: "dev" });
  if (!hasTmux) return;
  person = await PersonTerminal.open(mcp);
  await person.type("wsh attach dev");
  await until("the person to be attached", async () => {
    return (await tool("wsh_list_sessions", { session: "dev" })).attached === 1;
  });
  await person.type("echo under the overlay; seq 1 5");
  await person.sees(/^5$/m);
});
afterAll(async () => {
  await person?.[Symbol.asyncDispose]();
  await mcp[Symbol.asyncDispose]();
});

async function tool(name: string, args: Record<string, unknown>) {
  const answer = await call(client, name, args);
  if (answer.isError) throw new Error(`${name} ${JSON.stringify(args)}: ${answer.texts[0]}`);
  return answer.value;
}

async function code(name: string, args: Record<string, unknown>): Promise<string> {
  const answer = await call(client, name, args);
  expect(answer.isError).toBe(true);
  return answer.value.code;
}

test.skipIf(!hasTmux)("an overlay appears, changes, and restores the cells under it", async () => {
  const box = { session: "dev", x: 0, y: 1, width: 30, height: 2, background: "#202060" };
  const made = await tool("wsh_overlay", { ...box, spans: [{ text: "building 1/3", fg: "green", bold: true }] });
  expect(made).toMatchObject({ success: true, status: "created" });
  await person.sees("building 1/3");
  const { id } = made;
  expect(await tool("wsh_overlay", { session: "dev", id, x: 40, spans: [{ text: "building 2/3" }] })).toMatchObject({
    status: "updated",
    id,
  });
  const moved = await person.sees("building 2/3");
  expect(moved).toMatch(/^.{40}building 2\/3/m);
  const { overlays } = await tool("wsh_overlay", { session: "dev", list: true });
  expect(overlays).toMatchObject([
    { id, x: 40, y: 1, width: 30, height: 2, background: { bg: { r: 32, g: 32, b: 96 } } },
  ]);
  expect(await tool("wsh_remove_overlay", { session: "dev", id })).toMatchObject({ status: "removed", id });
  const after = await person.sees(/^under the overlay$/m);
  expect(after).not.toContain("building");
});

test.skipIf(!hasTmux)("a panel takes rows from the program and returns them", async () => {
  const made = await tool("wsh_panel", {
    session: "dev",
    position: "bottom",
    height: 2,
    spans: [{ text: "tests: 3/12" }],
  });
  expect(made).toMatchObject({ status: "created", visible: true, rows: 22, cols: 80 });
  const seen = await person.sees("tests: 3/12");
  expect(seen.split("\n")[22]).toStartWith("tests: 3/12");
  const changed = await tool("wsh_panel", { session: "dev", id: made.id, height: 1, spans: [{ text: "tests: 4/12" }] });
  expect(changed).toMatchObject({ status: "updated", visible: true, rows: 23 });
  await person.sees("tests: 4/12");
  expect((await tool("wsh_panel", { session: "dev", list: true })).panels).toHaveLength(1);
  expect(await tool("wsh_remove_panel", { session: "dev" })).toMatchObject({ status: "cleared" });
  expect((await tool("wsh_get_screen", { session: "dev", format: "plain" })).rows).toBe(24);
});

test.skipIf(!hasTmux)("a dialog: keys reach the agent and not the shell, until it releases them", async () => {
  const { id } = await tool("wsh_overlay", {
    session: "dev",
    x: 10,
    y: 5,
    width: 40,
    height: 3,
    focusable: true,
    background: "blue",
    spans: [{ text: "Delete 3 files? [y]es [n]o" }],
  });
  await person.sees("Delete 3 files?");
  const captured = await tool("wsh_input_mode", { session: "dev", mode: "capture", focus: id });
  expect(captured).toMatchObject({ mode: "capture", focused_element: id });
  await person.keys("y", "Up");
  const pressed: string[] = [];
  let { seq } = captured;
  while (pressed.length < 2) {
    // Without since a read continues where the last one ended; renewing the capture loses nothing.
    await tool("wsh_input_mode", { session: "dev", mode: "capture" });
    const read = await tool("wsh_input_mode", { session: "dev", read: true, wait_ms: 10_000 });
    seq = read.seq;
    pressed.push(...read.keys.map((key: { parsed: { key: string } }) => key.parsed.key));
  }
  expect(pressed).toEqual(["y", "ArrowUp"]);
  expect(seq).toBe(captured.seq + 2);
  const again = await tool("wsh_input_mode", { session: "dev", read: true, since: captured.seq });
  expect(again.keys).toHaveLength(2);
  expect(await tool("wsh_input_mode", { session: "dev", mode: "release" })).toMatchObject({
    mode: "passthrough",
    focused_element: null,
  });
  await tool("wsh_remove_overlay", { session: "dev" });
  await person.type("echo shell again");
  const seen = await person.sees(/^shell again$/m);
  expect(seen).not.toContain("yecho");
});

test.skipIf(!hasTmux)("the alternate set of drawings vanishes with its mode", async () => {
  expect(await tool("wsh_screen_mode", { session: "dev" })).toMatchObject({ mode: "normal" });
  expect(await tool("wsh_screen_mode", { session: "dev", action: "enter_alt" })).toMatchObject({ mode: "alt" });
  await tool("wsh_overlay", { session: "dev", x: 0, y: 0, width: 9, height: 1, spans: [{ text: "a menu" }] });
  await person.sees("a menu");
  expect(await tool("wsh_screen_mode", { session: "dev", action: "exit_alt" })).toMatchObject({ mode: "normal" });
  expect((await tool("wsh_overlay", { session: "dev", list: true })).overlays).toEqual([]);
  await until("the menu to go", async () => !(await person.screen()).includes("a menu"));
});

test("an overlay changes completely or not at all, in its content, position and focus", async () => {
  const { id } = await tool("wsh_overlay", { session: "dev", x: 1, y: 1, width: 9, height: 1, spans: [{ text: "a" }] });
  const long = [{ text: "x".repeat(70_000) }];
  expect(await code("wsh_overlay", { session: "dev", id, x: 5, spans: long })).toBe("invalid_overlay");
  const listed = async () => (await tool("wsh_overlay", { session: "dev", list: true })).overlays;
  expect(await listed()).toMatchObject([{ id, x: 1, spans: [{ text: "a" }] }]);
  await tool("wsh_overlay", { session: "dev", id, x: 5, spans: [{ text: "b" }], focusable: true });
  expect(await listed()).toMatchObject([{ id, x: 5, y: 1, spans: [{ text: "b" }], focusable: true }]);
  expect(await tool("wsh_input_mode", { session: "dev", focus: id })).toMatchObject({ focused_element: id });
  await tool("wsh_overlay", { session: "dev", id, focusable: false });
  expect(await tool("wsh_input_mode", { session: "dev" })).toMatchObject({ focused_element: null });
  await tool("wsh_remove_overlay", { session: "dev", id });
});

test("errors are reported", async () => {
  const box = { session: "dev", x: 0, y: 0, width: 5, height: 1 };
  expect(await code("wsh_overlay", { session: "dev", x: 1 })).toBe("invalid_request");
  expect(await code("wsh_overlay", { ...box, spans: [{ text: "x", fg: "beige" }] })).toBe("invalid_request");
  expect(await code("wsh_overlay", { session: "dev", id: "none", x: 1 })).toBe("overlay_not_found");
  expect(await code("wsh_remove_overlay", { session: "dev", id: "none" })).toBe("overlay_not_found");
  expect(await code("wsh_panel", { session: "dev", height: 1 })).toBe("invalid_request");
  expect(await code("wsh_panel", { session: "dev", position: "left", height: 1 })).toBe("invalid_request");
  expect(await code("wsh_panel", { session: "dev", id: "none", height: 1 })).toBe("panel_not_found");
  expect(await code("wsh_remove_panel", { session: "dev", id: "none" })).toBe("panel_not_found");
  expect(await code("wsh_input_mode", { session: "dev", focus: "none" })).toBe("invalid_request");
  expect(await code("wsh_input_mode", { session: "dev", focus: "a", unfocus: true })).toBe("invalid_request");
  expect(await code("wsh_input_mode", { session: "dev", mode: "steal" })).toBe("invalid_request");
  const { id } = await tool("wsh_overlay", box);
  expect(await code("wsh_input_mode", { session: "dev", mode: "capture", focus: id })).toBe("not_focusable");
  await tool("wsh_input_mode", { session: "dev", mode: "release" });
  expect(await code("wsh_screen_mode", { session: "dev", action: "exit_alt" })).toBe("not_in_alt_screen");
  expect(await code("wsh_screen_mode", { session: "dev", action: "fly" })).toBe("invalid_request");
  for (const name of ["wsh_overlay", "wsh_panel", "wsh_remove_overlay", "wsh_remove_panel", "wsh_screen_mode"]) {
    expect(await code(name, { ...box, session: "nobody", position: "top" })).toBe("session_not_found");
  }
});
