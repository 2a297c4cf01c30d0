import { expect, test } from "bun:test";
import { readOnlyTools } from "../../../src/mcp/bridge/open-requests.ts";
import { instructionsFor } from "../../../src/mcp/instructions.ts";
import { listedAnnotations, listedOutput } from "../../../src/mcp/tools/tool.ts";
import { servedTools, tools } from "../../../src/mcp/tools/tools.ts";

/** Tokens are estimated at four characters each, for which no tokenizer is needed. */
const CHARACTERS_PER_TOKEN = 4;

/** Bytes of the list that a model pays for. */
function listedBytes(served: typeof tools): number {
  const listed = served.map((tool) => {
    const { name, title, description, annotations, inputJson } = tool;
    return {
      name,
      title,
      description,
      annotations: listedAnnotations(annotations),
      inputSchema: inputJson,
      outputSchema: listedOutput(tool),
    };
  });
  return Buffer.byteLength(JSON.stringify({ tools: listed }));
}

test("the fourteen base tools have their names, parameters and defaults", () => {
  const shape = Object.fromEntries(
    tools.map((tool) => {
      const properties = tool.inputJson.properties as Record<string, { default?: unknown }>;
      const required = new Set((tool.inputJson.required ?? []) as string[]);
      const names = Object.entries(properties).map(([name, { default: value }]) => {
        if (required.has(name)) return name;
        return value === undefined ? `${name}?` : `${name}=${JSON.stringify(value)}`;
      });
      return [tool.name, names.sort().join(" ")];
    }),
  );
  expect(shape).toMatchObject({
    wsh_create_session: 'cols=80 command? cwd? env? if_exists="error" name? rows=24 shell? tags? worktree?',
    wsh_list_sessions: "all? session? tag?",
    wsh_manage_session: "action buffer? cols? force? new_name? rows? session signal? tags? text?",
    wsh_send_input: 'encoding="utf8" input? keys? paste? session submit?',
    wsh_get_screen: 'format="plain" rows? session',
    wsh_get_scrollback: 'format="plain" grep? limit=100 offset=0 session',
    wsh_await_quiesce: "fresh? last_generation? max_wait_ms=30000 session timeout_ms=2000",
    wsh_run_command:
      'create? cwd? env? format="plain" include? input="" keys? max_wait_ms=30000 output_limit=2048 rows? session since? steps? submit? timeout_ms=2000 until?',
    wsh_overlay: "background? focusable? height? id? list? session spans? ttl_ms? width? x? y? z?",
    wsh_remove_overlay: "id? session",
    wsh_panel: "background? height? id? list? position? session spans?",
    wsh_remove_panel: "id? session",
    wsh_input_mode: "focus? lease_ms=120000 mode? read? session since? unfocus? wait_ms=0",
    wsh_screen_mode: "action? session",
    wsh_exec:
      'background? beside? clear_line? command? context? create? cwd? env? grep? head? integrate? keep? max_wait_ms=30000 mode="sequence" on_timeout="leave" output? output_limit? port? session? show? stdin? steps? stop_on_error=true tail? typed? until?',
    wsh_wait: "any_of command_id? max_wait_ms=30000 session? sessions? since? tag?",
    wsh_get_output:
      'command_id? context? format="plain" grep? head? lines? max_bytes=32768 range? raw? session since? tail?',
    wsh_get_status: "session?",
    wsh_create_pane: "command? cwd? direction? env? focus? session size? title? view? window?",
    wsh_close_pane: "pane",
    wsh_manage_window: "action index? name? session to? window?",
    wsh_layout: "action by? close_others? cols? direction? on? preset? rows? session size? title? to? tree?",
    wsh_checkpoint: "action as? label? session? to?",
    wsh_history: "cwd? failed? limit=20 output? query? session? since?",
  });
});

test("every tool has a description, and so has every parameter where the list first has it", () => {
  const known = new Set(["action", "direction", "question", "choices"]);
  for (const tool of tools) {
    expect(tool.title.length).toBeGreaterThan(3);
    expect(tool.description.length).toBeGreaterThan(20);
    expect(Object.keys(tool.annotations).sort()).toEqual([
      "destructiveHint",
      "idempotentHint",
      "openWorldHint",
      "readOnlyHint",
    ]);
    const properties = Object.entries(tool.inputJson.properties as Record<string, { description?: string }>);
    for (const [name, property] of properties) if (property.description) known.add(name);
    expect(properties.filter(([name]) => !known.has(name)).map(([name]) => `${tool.name} ${name}`)).toEqual([]);
    expect(tool.inputJson.type).toBe("object");
  }
});

test("the tools fit their budget", () => {
  const all = listedBytes(tools);
  const core = listedBytes(servedTools("core", "admin"));
  // With known machines, the four tools for them are added.
  const machines = listedBytes(servedTools("all", "admin", true));
  expect(machines - all).toBeLessThanOrEqual(1_600);
  expect(servedTools("core", "admin", true)).toEqual(servedTools("core", "admin"));
  console.log(`tools/list: all ${all}, core ${core} bytes`);
  expect(all).toBeLessThanOrEqual(24_000);
  expect(core).toBeLessThanOrEqual(14_500);
});

test("core is the twelve tools of the common work", () => {
  expect(
    servedTools("core", "admin")
      .map((tool) => tool.name)
      .sort(),
  ).toEqual([
    "wsh_create_pane",
    "wsh_create_session",
    "wsh_exec",
    "wsh_get_output",
    "wsh_get_screen",
    "wsh_get_status",
    "wsh_list_sessions",
    "wsh_manage_session",
    "wsh_run_command",
    "wsh_script",
    "wsh_send_input",
    "wsh_wait",
  ]);
});

test("a read-only caller gets only read-only tools, and the bridge knows which those are", () => {
  const looking = servedTools("all", "observe");
  expect(looking.every((tool) => tool.annotations.readOnlyHint)).toBe(true);
  expect(new Set(looking.map((tool) => tool.name))).toEqual(new Set(readOnlyTools));
});

test("the instructions name only available tools, in a few hundred tokens", () => {
  const all = instructionsFor(new Set(tools.map((tool) => tool.name)));
  for (const name of [
    "wsh_run_command",
    "wsh_create_session",
    "wsh_list_sessions",
    "wsh_manage_session",
    "wsh_overlay",
    "wsh_panel",
    "wsh_input_mode",
  ]) {
    expect(all).toContain(name);
  }
  expect(all.length / CHARACTERS_PER_TOKEN).toBeLessThan(500);
  const core = servedTools("core", "admin").map((tool) => tool.name);
  const said = [...instructionsFor(new Set(core)).matchAll(/wsh_[a-z_]+/g)].map((match) => match[0]);
  expect(said.filter((name) => !core.includes(name))).toEqual([]);
});

test("hosts that convert schemas to OpenAI's strict form accept every tool", () => {
  // As its agents SDK does: a map with typed values is refused.
  const maps = (schema: unknown): unknown[] => {
    if (typeof schema !== "object" || schema === null) return [];
    const own = "additionalProperties" in schema && schema.additionalProperties ? [schema] : [];
    return [...own, ...Object.values(schema).flatMap(maps)];
  };
  for (const tool of tools) expect(maps(tool.inputJson), tool.name).toEqual([]);
});
