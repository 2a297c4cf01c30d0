/**
 * Every setting of wsh, once: its key in config.toml, its values, default, unit, environment variable and a sentence
 * for `wsh config` and the documentation. settings.ts reads them from their four sources. A limit that a client can
 * reach names its error. Values that must never be in a shared file (tokens, turning authentication off) are not
 * settings.
 */

import { agentAlerts } from "../protocol/agent.ts";
import { alertModes } from "../protocol/attention.ts";
import { WshError } from "../protocol/errors.ts";
import { MAX_WINDOW_INDEX } from "../protocol/names.ts";
import { boolean, choice, integer, list, type Setting, text, variables } from "./kinds.ts";
import { statusSegments } from "./status-segments.ts";

/** Largest duration in ms that a timer can hold: 2^31 - 1. */
const longestMs = 2_147_483_647;
/** Upper end of settings that count things: far more than a machine can run, and exact as a number everywhere. */
const most = 1_000_000;
const mib = 1024 * 1024;
/** Upper ends of settings that limit data on disk: a century, in days, and 64 GiB. With these, nothing is deleted. */
const maxRetentionDays = 36_500;
const maxStoredBytes = 65_536 * mib;
const path = /^[^\0]*$/;

const settings = {
  // The session
  pty: choice(["bun", "bun-pty"], "bun", "Adapter that runs programs on a pseudo-terminal.", { env: "WSH_PTY" }),
  default_shell: text(
    "",
    /^(\/[^\0]*)?$/,
    "the absolute path of a shell",
    "Shell of new panes, and their SHELL; empty: $SHELL, else the account's.",
  ),
  default_command: text(
    "",
    /^[^\0]*$/,
    "a shell command",
    "Runs instead of the shell in sessions and panes that people open without a command; empty: none.",
  ),
  term: text(
    "xterm-256color",
    /^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/,
    "a terminal type such as xterm-256color or tmux-256color",
    "TERM of new panes: a terminal type that is known where their programs run.",
  ),
  env: variables("Variables of new panes, over those of the caller."),
  base_index: integer(0, 0, MAX_WINDOW_INDEX, "Index of a session's first window."),
  pane_base_index: integer(0, 0, most, "Index of a window's first pane."),
  renumber_windows: boolean(false, "Close gaps in the indexes of windows when one is closed or moves away."),
  login_shell: boolean(true, "Start a session's shell as a login shell."),
  shell_integration: boolean(true, "Make shells report where commands begin and end.", {
    env: "WSH_SHELL_INTEGRATION",
  }),
  tmux: choice(
    ["agents", "on", "off"],
    "agents",
    "Which new sessions answer the programs in them as tmux does (TMUX, and a `tmux` at the end of PATH): those that AI agents create over MCP, all or none.",
    { env: "WSH_TMUX" },
  ),
  exec_history: choice(
    ["people", "all", "none"],
    "people",
    "Lines of exec and run that the history of bash, zsh or fish itself keeps: those of people (not of AI agents), all, or none. `wsh history` keeps them in any case.",
  ),
  reset_modes: boolean(true, "Switch off terminal modes that a command left on when it ends."),
  scrollback_lines: integer(10_000, 0, most, "Logical lines kept above the screen of a session, however wide it is.", {
    unit: "lines",
  }),
  scrollback_bytes: integer(32 * mib, 0, 4096 * mib, "History kept above the screen of a session, by size.", {
    unit: "bytes",
  }),
  grace_seconds: integer(60, 0, 86_400, "Time for which a session stays readable after its program has exited.", {
    unit: "seconds",
  }),
  exec_grace_seconds: integer(600, 0, 86_400, "The same for commands in the background or whose wait timed out.", {
    unit: "seconds",
  }),
  kill_grace_ms: integer(3_000, 0, 60_000, "Time between SIGHUP and SIGKILL when a session is killed.", { unit: "ms" }),
  agents: list(
    /^[a-z0-9][a-z0-9._-]{0,31}=.{1,200}$/,
    'entries NAME=PATTERN, such as "mine=my-agent" or "mine=python */my_agent.py*"',
    "More AI agents, recognised by program name or, with a blank or slash, by command line; * matches anything.",
  ),
  agents_may: choice(
    ["own", "everything"],
    "own",
    "What AI agents may change: only what they created, or everything. For anything else they ask the person at a terminal; if nobody is attached, they are refused.",
  ),

  confirm_close: boolean(
    true,
    "Ask before a key, a menu or the palette ends running programs (also in the background) or a session's last pane.",
  ),
  keep_after_exit: boolean(false, "Keep a pane, if it is not the only one, after its program has exited."),

  // The person's terminal
  size_policy: choice(["latest", "smallest"], "latest", "Attached terminal that determines a session's size."),
  prefix_key: text(
    "Ctrl+\\",
    // The attach client, which knows keys, checks whether it is one.
    /^\S{1,32}$/,
    "a key such as Ctrl+\\ or C-a, or none",
    "Prefix key of wsh's own keys; pressed twice it detaches, and it takes the keyboard back. wsh --prefix KEY sets it too.",
    { env: "WSH_PREFIX" },
  ),
  prefix_preset: choice(
    ["wsh", "tmux"],
    "wsh",
    "Keys to begin with: wsh's, or those of tmux: the prefix C-b, pressed twice to type it, and tmux's own table.",
  ),
  repeat_time: integer(500, 0, 60_000, "Time after a repeatable key in which it needs no prefix.", { unit: "ms" }),
  status: choice(
    ["auto", "on", "off"],
    "auto",
    "Status line with the session's windows and their state; auto: with several windows or panes.",
    { env: "WSH_STATUS" },
  ),
  border_titles: choice(
    ["auto", "on", "off"],
    "auto",
    "Show title, state, exit code and writer in the border above a pane; auto: unless status is off. Panes at the top have no border and no title.",
  ),
  status_position: choice(["bottom", "top"], "bottom", "Position of the status line."),
  status_segments: statusSegments(
    "Parts of the status line, in order: names, or tables with styles, texts and commands (docs/keys.md). Parts after gap are right-aligned; with two, those between are in the middle. Empty: all but host and time.",
  ),
  status_command: text("", /^[^\0]*$/, "a shell command", "Its first line of output is shown by the part command."),
  status_seconds: integer(15, 1, 86_400, "Interval between two runs of status_command.", { unit: "seconds" }),
  long_command_seconds: integer(
    10,
    1,
    86_400,
    "Minimum duration of a command whose end is marked in a hidden window.",
    { unit: "seconds" },
  ),
  alert: choice(
    alertModes,
    "bell",
    "How attached terminals signal the events of alert_for: a bell, or a notification (OSC 9, 777 or 99). Once, until the person has visited the pane, and not while they see it and typed within 30 s.",
  ),
  alert_for: list(
    /^(bell|activity|finished)$/,
    "names from bell, activity, finished",
    "Events to signal: bells of programs in other windows, output after silence, ends of commands that ran for long_command_seconds. Empty: bell.",
  ),
  notify_text: choice(
    ["full", "none"],
    "full",
    "What the notices of [[notify]] tables say: names, commands and questions with their answers; or only their kind.",
    { ifWrong: "none" },
  ),
  update_environment: list(
    /^[A-Za-z_][A-Za-z0-9_]{0,127}$/,
    "names of variables",
    "Variables that an attached terminal brings into the session, for new panes and for shells at their next prompt. Empty: DISPLAY, WAYLAND_DISPLAY, XAUTHORITY, SSH_AUTH_SOCK, SSH_AGENT_PID, SSH_CONNECTION, KRB5CCNAME.",
  ),
  key_help_ms: integer(
    400,
    0,
    3_600_000,
    "Time after the prefix key, without another key, until the map of keys is shown.",
    { unit: "ms" },
  ),
  escape_ms: integer(
    10,
    0,
    5_000,
    "Time after which Escape is a key rather than the beginning of a terminal's sequence.",
    { unit: "ms" },
  ),
  word_separators: text(
    "",
    /^[^\0\n]{0,256}$/,
    "characters",
    "Characters between the words that a double click takes and that w, b and e of copy mode go to; empty: a double click takes paths and addresses as a whole.",
  ),
  mode_keys: choice(["vi", "emacs"], "vi", "Keys of copy mode, where those of vi and emacs differ."),
  mouse: choice(
    ["auto", "on", "off"],
    "auto",
    "Whether the mouse selects panes, resizes them, scrolls and copies; auto: with several panes, a status line, a dialog or copy mode. With Shift, the terminal handles it.",
  ),
  clipboard: choice(["write", "off"], "write", "Whether programs may write the terminal's clipboard (OSC 52)."),
  clipboard_command: choice(
    ["auto", "off"],
    "auto",
    "Whether copies of programs are passed to pbcopy on the attached terminal's machine, where Apple's Terminal ignores them.",
  ),
  title: choice(["on", "off"], "on", "Whether programs may set the terminal's title."),
  agent_alert: choice(
    agentAlerts,
    "off",
    "How attached terminals, and `wsh agents`, signal that an AI agent starts to wait for a person or is done: a bell, or a notification (OSC 9). Once for each change, and not while the person sees its pane and typed within 30 s.",
  ),
  colours: choice(
    ["auto", "truecolor", "256", "16", "none"],
    "auto",
    "Colours of the terminal; auto asks it and its environment. Below truecolor, output is converted.",
  ),
  underlines: choice(
    ["auto", "styled", "plain"],
    "auto",
    "Whether curly, dotted and coloured underlines are sent, or plain ones; auto: if the terminal supports them.",
  ),

  // The server
  bind: text("127.0.0.1:8080", /^(none|\S+:\d{1,5})$/, "ADDRESS:PORT or none", "TCP address of `wsh server`."),
  hostname: text("", /^[A-Za-z0-9._-]{0,253}$/, "a host name", "The server's own name; empty: the system's.", {
    env: "WSH_HOSTNAME",
  }),
  fleet: text(
    "",
    path,
    "a path",
    "Credentials with which `wsh server` joins a fleet; empty: those of `wsh fleet join`.",
    {
      env: "WSH_FLEET",
    },
  ),
  base_prefix: text("", /^(\/.*[^/])?$/, "a path that begins and does not end with /", "Path before every route.", {
    env: "WSH_BASE_PREFIX",
  }),
  public_url: text(
    "",
    /^(https?:\/\/[^\s/?#@]+\/?)?$/,
    "an address such as https://box.example.ts.net",
    "Address of this server behind a proxy, for links of wsh share and buttons of notices.",
    { env: "WSH_PUBLIC_URL" },
  ),
  tls_cert: text("", path, "a path", "PEM certificate chain for TCP.", { env: "WSH_TLS_CERT" }),
  tls_key: text("", path, "a path", "PEM key of tls_cert.", { env: "WSH_TLS_KEY" }),
  cors_origins: list(/^https?:\/\/[^/*\s]+$/, "origins such as https://example.org", "Origins that browsers may use."),
  rate_limit: integer(0, 0, most, "Requests per peer address; 0: none on loopback, 100 elsewhere.", {
    unit: "requests/s",
  }),
  accept: choice(
    ["none", "named", "placed"],
    "named",
    "Sessions that other machines may start here: none, those that name this machine, or also those placed on any machine.",
    { env: "WSH_ACCEPT", ifWrong: "none" },
  ),
  machine_tags: list(
    /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,64}$/,
    "tags of A-Z a-z 0-9 . _ -",
    "Tags of this machine for the placement of sessions; tags of a fleet's invitation are added.",
  ),
  ssh_command: text(
    "ssh",
    /^[^\s-]\S*( \S+)*$/,
    "a program and its options, separated by single spaces",
    "Command used as ssh for links to other machines, such as `ssh -F FILE`.",
    { env: "WSH_SSH_COMMAND" },
  ),
  ws_ping_ms: integer(30_000, 100, longestMs, "Time between pings on a WebSocket.", { unit: "ms" }),
  ws_pong_ms: integer(10_000, 100, longestMs, "Time for the answer to a ping; after it, the WebSocket is closed.", {
    unit: "ms",
  }),
  mcp_max_wait_ms: integer(30_000, 0, 300_000, "Default wait of a tool.", {
    unit: "ms",
    env: "WSH_MCP_MAX_WAIT_MS",
  }),
  mcp_progress_ms: integer(1_000, 10, 300_000, "Time between progress notifications.", {
    unit: "ms",
    env: "WSH_MCP_PROGRESS_MS",
  }),
  mcp_idle_seconds: integer(
    1_800,
    1,
    604_800,
    "Time after which an MCP session over HTTP without requests is dropped.",
    {
      unit: "seconds",
    },
  ),

  // Limits; beyond them: max_sessions_reached for sessions, resource_limit_reached for the rest
  max_sessions: integer(
    256,
    1,
    most,
    "Running sessions of an instance; as many ended ones stay readable, then the oldest is removed.",
  ),
  max_agent_sessions: integer(128, 1, most, "Running sessions that one AI agent has created."),
  max_panes: integer(64, 1, most, "Panes of a session that has several."),
  max_all_panes: integer(512, 1, most, "Panes of all such sessions of an instance together."),
  max_clients: integer(64, 1, most, "Streaming clients of a session."),
  max_websockets: integer(256, 1, most, "WebSockets at the server's own level."),
  max_mcp_sessions: integer(256, 1, most, "MCP sessions over HTTP."),
  max_tickets: integer(1_024, 1, most, "Unused WebSocket tickets."),
  max_subscriptions: integer(256, 1, most, "Subscriptions of a connection."),
  max_waiters: integer(256, 1, most, "Pending waits of a session."),
  max_overlays: integer(256, 0, most, "Overlays of a session."),
  max_panels: integer(256, 0, most, "Panels of a session."),
  max_spans: integer(4_096, 1, most, "Spans or region writes of an overlay or panel."),
  max_span_bytes: integer(65_536, 1, mib, "Text of a span or region write.", { unit: "bytes" }),
  max_commands: integer(1_000, 1, most, "Command records kept by a session; the oldest are dropped first."),
  max_command_bytes: integer(8 * mib, 1_024, 1024 * mib, "Total output kept by a session's command records.", {
    unit: "bytes",
  }),
  spool_command_bytes: integer(
    64 * mib,
    0,
    4096 * mib,
    "Output of one command of exec or run kept in an unlinked file, beyond that in memory; 0: none.",
    { unit: "bytes" },
  ),
  spool_session_bytes: integer(128 * mib, 0, 65_536 * mib, "The same for all commands of a session; 0: none.", {
    unit: "bytes",
  }),
  max_input_bytes: integer(4 * mib, 1_024, 64 * mib, "Input of a session that its program has not read yet.", {
    unit: "bytes",
  }),
  max_client_queue_bytes: integer(
    4 * mib,
    65_536,
    1024 * mib,
    "Answers queued for a WebSocket that does not read; beyond it, the connection is closed.",
    {
      unit: "bytes",
    },
  ),

  // Data on disk
  history: choice(
    ["off", "commands", "output"],
    "commands",
    "What `wsh history` keeps: nothing, the commands, or also their output.",
  ),
  history_days: integer(90, 1, maxRetentionDays, "Time for which the history keeps a command.", {
    unit: "days",
    ifWrong: maxRetentionDays,
  }),
  history_bytes: integer(
    256 * mib,
    mib,
    maxStoredBytes,
    "Largest size of the history; the oldest commands are deleted first.",
    {
      unit: "bytes",
      ifWrong: maxStoredBytes,
    },
  ),

  receipt_trees: boolean(
    false,
    "Record the git tree of a command's directory before and after it, for its receipt; exec waits for both.",
  ),

  checkpoint: choice(
    ["off", "layout", "screen", "recent", "history"],
    "recent",
    "What checkpoints contain: nothing; names, programs and layout; also the screen; also the newest 1,000 lines above it; or all lines.",
    { env: "WSH_CHECKPOINT" },
  ),
  checkpoint_days: integer(30, 1, maxRetentionDays, "Time for which the checkpoint of a crashed session is kept.", {
    unit: "days",
    ifWrong: maxRetentionDays,
  }),
  checkpoint_bytes: integer(
    256 * mib,
    mib,
    maxStoredBytes,
    "Largest size of the checkpoints of crashed sessions; the oldest are deleted first. Labelled checkpoints have the same limit; at the limit, saving is refused.",
    { unit: "bytes", ifWrong: maxStoredBytes },
  ),
  restore: choice(
    ["ask", "auto", "never"],
    "ask",
    "Whether `wsh` and `wsh attach` restore crashed sessions: after a question, automatically, or not; with auto, a server started as a service does too.",
  ),
  restore_programs: list(
    /^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}(=[^\0\n]{1,200})?$/,
    'entries NAME or NAME=LINE, such as "btop" or "mytool=mytool --resume"',
    "More programs to restart when a session is restored, with their own command line or with LINE.",
  ),

  // Records
  log_level: choice(["error", "warn", "info", "debug"], "info", "Lowest level of log lines; client commands: warn.", {
    env: "WSH_LOG",
  }),
  log_format: choice(["text", "json"], "text", "Form of a log line."),
  log_file: text("", path, "a path", "File of the server's log; empty: stderr."),
  audit: boolean(
    false,
    "Record every call, with digests of the input by the key NAME.audit.key; applies to processes started from now on.",
  ),
  audit_file: text("", path, "a path", "File of the audit log; empty: in the state directory."),
};

export type SettingName = keyof typeof settings;
export type Settings = {
  readonly [K in SettingName]: (typeof settings)[K] extends Setting<infer T> ? T : never;
};

export function isSettingName(text: string): text is SettingName {
  return Object.hasOwn(settings, text);
}

/** All keys, in the order of the table. */
export const settingNames: readonly SettingName[] = Object.keys(settings).filter(isSettingName);

/** A setting's entry in the table. */
export function settingOf(name: SettingName): Setting {
  return settings[name];
}

/** These values, and the defaults of all others. @param given as checked, by isValid of each */
export function valuesOf(given: Partial<Record<SettingName, unknown>>): Settings {
  const values = { ...Object.fromEntries(settingNames.map((name) => [name, settings[name].default])), ...given };
  if (!areSettings(values)) throw new WshError("internal_error", "a setting has no valid value");
  return values;
}

/** The settings named max_…, as `server.info` shows them. */
export function limitsOf(values: Settings): Record<string, number> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      name.startsWith("max_") && typeof value === "number" ? [[name, value]] : [],
    ),
  );
}

function areSettings(values: Partial<Record<SettingName, unknown>>): values is Settings {
  return settingNames.every((name) => settings[name].isValid(values[name]));
}
