/**
 * Interface-specific names in an error's hint: a hint contains `{run}`, and the transport that shows it inserts the
 * name for its callers. Between wsh processes hints are sent without replacement. Pure.
 */

/** HTTP and WebSocket; the command line; MCP. */
export type Interface = "http" | "cli" | "mcp";

const words: Readonly<Record<string, Readonly<Record<Interface, string>>>> = {
  run: { http: "`run`", cli: "`wsh run`", mcp: "wsh_run_command" },
  input: { http: "`input`", cli: "`wsh send`", mcp: "wsh_send_input" },
  wait: { http: "`wait`", cli: "`wsh wait`", mcp: "wsh_wait" },
  screen: { http: "`screen`", cli: "`wsh screen`", mcp: "wsh_get_screen" },
  status: { http: "`status`", cli: "`wsh status`", mcp: "wsh_get_status" },
  resize: { http: "PATCH its size", cli: "`wsh resize`", mcp: "wsh_manage_session resize" },
  clear_line: { http: "clear_line", cli: "--clear-line", mcp: "clear_line" },
  typed: { http: "typed (sh or fish)", cli: "--typed (sh or fish)", mcp: "typed (sh or fish)" },
  integrate: { http: "integrate", cli: "--integrate", mcp: "integrate" },
  force: { http: "force: true", cli: "--force", mcp: "force: true" },
  sessions: { http: "GET /sessions", cli: "`wsh list`", mcp: "wsh_list_sessions" },
  machines: { http: "GET /servers", cli: "`wsh servers list`", mcp: "wsh_list_servers" },
  limits: { http: "GET /server/info", cli: "`wsh info`", mcp: "wsh_get_status without session" },
  panes: { http: "GET …/panes lists", cli: "`wsh pane list` shows", mcp: "wsh_list_sessions with session shows" },
  windows: { http: "GET …/windows lists", cli: "`wsh window list` shows", mcp: "wsh_list_sessions with session shows" },
  layout: { http: "GET …/layout shows", cli: "`wsh layout get` shows", mcp: "wsh_layout get shows" },
  buffers: {
    http: "GET …/buffers lists",
    cli: "`wsh buffer list` shows",
    mcp: "wsh_manage_session buffer shows",
  },
  commands: {
    http: "GET …/commands lists the recorded commands",
    cli: "`wsh commands` lists the recorded commands",
    mcp: "wsh_exec and wsh_run_command return command ids; wsh_get_status names the last one",
  },
  overlays: {
    http: "GET …/overlays shows",
    cli: "A list of the overlays shows",
    mcp: "wsh_overlay with list: true shows",
  },
  panels: { http: "GET …/panels shows", cli: "A list of the panels shows", mcp: "wsh_panel with list: true shows" },
  checkpoints: {
    http: "GET /checkpoints lists",
    cli: "`wsh checkpoint list` shows",
    mcp: "wsh_checkpoint list shows",
  },
  restore: { http: "POST /checkpoints/restore", cli: "`wsh restore`", mcp: "wsh_checkpoint restore" },
  again: {
    http: "Send it again with the same Wsh-Request",
    cli: "Repeat the command with WSH_REQUEST set to that id",
    mcp: "Call the tool again with the same arguments",
  },
  if_exists: { http: "if_exists: attach", cli: "--if-exists attach", mcp: "if_exists: attach" },
  as: { http: "as", cli: "--as", mcp: "as" },
  replace: { http: "replace: true", cli: "--replace", mcp: "replace: true" },
  asks: {
    http: "GET …/ask lists",
    cli: "`wsh ask --list` shows",
    mcp: "the person's terminal shows",
  },
  methods: {
    http: "/docs lists the methods",
    cli: "--help lists the commands",
    mcp: "tools/list names the tools",
  },
  fields: {
    http: "/docs describes every field",
    cli: "--help describes every option",
    mcp: "the tool's schema describes every parameter",
  },
};

/** A hint with an interface's names. */
export function inWordsOf(transport: Interface, hint: string): string {
  return hint.replace(/\{(\w+)\}/g, (whole, name: string) => words[name]?.[transport] ?? whole);
}
