/**
 * The environment of a pane's program: the caller's, without variables of the caller's own terminal or of wsh's own
 * processes, plus variables that tell the program where it is. Overrides win over everything but wsh's own variables.
 */
import { WshError } from "../protocol/errors.ts";

export interface SessionIdentity {
  readonly session: string;
  /** `@7` */
  readonly pane: string;
  readonly instance: string;
  /** Path of the instance's HTTP socket. */
  readonly socket: string;
  readonly version: string;
  /** Path of the executable `wsh`; null when run from source. */
  readonly executable: string | null;
  /** File with the variables of the terminal attached last, which shells read at their prompt. */
  readonly refreshed: string;
  /** The AI agent that owns the pane: programs there act for it. */
  readonly agent: string | null;
  /** Variables that make programs take wsh for tmux, where it answers as tmux does. */
  readonly tmux: {
    /** Path of its socket, the process that serves it, and the session's number. */
    readonly at: string;
    /** The directory in which tmux looks for its default socket. */
    readonly directory: string;
    /** Directory of a `tmux` for machines without one. */
    readonly bin: string;
  } | null;
  /** TERM. */
  readonly term: string;
  /** Settings default_shell, env; the `env` of the request. */
  readonly overrides: Readonly<Record<string, string>>;
}

/** Variables that describe the terminal or multiplexer in which the caller runs, or steer our own runtime. */
const foreign = new Set([
  "WSH_TOKEN",
  "WSH_AGENT",
  "WSH_TMUX_BIN",
  "WSH_HOOK",
  "WSH_STATUS_RUN",
  "LINES",
  "COLUMNS",
  "TERMCAP",
  "STY",
  "WINDOW",
  "WINDOWID",
  "TERM_SESSION_ID",
  "SHELL_SESSION_ID",
  "VTE_VERSION",
  "WT_SESSION",
  "WT_PROFILE_ID",
  "COLORFGBG",
  "ALACRITTY_LOG",
  "ALACRITTY_SOCKET",
  "ALACRITTY_WINDOW_ID",
  "LC_TERMINAL",
  "LC_TERMINAL_VERSION",
  "TERMINAL_EMULATOR",
  "INSIDE_EMACS",
  "BUN_BE_BUN",
  "BUN_OPTIONS",
]);

/** Prefixes of more such variables. WSH_SHELL_ passes integration data to a shell; only the plan sets it. */
const foreignPrefix =
  /^(?:TMUX(?:_|$)|ZELLIJ(?:_|$)|KITTY_|WEZTERM_|ITERM_|KONSOLE_|GHOSTTY_|VSCODE_|TERM_PROGRAM|TERM_FEATURES|BUN_INSTALL_CACHE|WSH_SHELL_|WSH_MCP_)/;

/**
 * The program's whole environment.
 * @throws WshError `invalid_request` when an environment cannot contain an override's name or value
 */
export function childEnvironment(
  caller: Readonly<Record<string, string | undefined>>,
  identity: SessionIdentity,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(caller)) {
    if (value === undefined || foreign.has(name) || foreignPrefix.test(name) || !isVariable(name, value)) continue;
    env[name] = value;
  }
  env.TERM = identity.term;
  env.COLORTERM = "truecolor";
  env.TERM_PROGRAM = "wsh";
  env.TERM_PROGRAM_VERSION = identity.version;
  for (const [name, value] of Object.entries(identity.overrides)) {
    if (!isVariable(name, value)) {
      throw new WshError("invalid_request", `${JSON.stringify(name)} cannot be set in an environment`, {
        hint: "A variable's name must not be empty or contain '='; name and value must not contain NUL bytes.",
      });
    }
    env[name] = value;
  }
  env.WSH_SESSION = identity.session;
  env.WSH_PANE = identity.pane;
  env.WSH_SERVER_NAME = identity.instance;
  env.WSH_SOCKET = identity.socket;
  env.WSH_ENVIRONMENT = identity.refreshed;
  if (identity.agent === null) delete env.WSH_AGENT;
  else env.WSH_AGENT = identity.agent;
  if (identity.tmux !== null) {
    env.TMUX = identity.tmux.at;
    env.TMUX_TMPDIR = identity.tmux.directory;
    env.TMUX_PANE = identity.pane.replace("@", "%");
    const { bin } = identity.tmux;
    const parts = env.PATH === undefined || env.PATH === "" ? [] : env.PATH.split(":");
    env.PATH = [...parts.filter((part) => part !== bin), bin].join(":");
    env.WSH_TMUX_BIN = bin;
    // Sessions created from here behave like this one.
    env.WSH_TMUX = "on";
  }
  if (identity.executable === null) delete env.WSH_BIN;
  else env.WSH_BIN = identity.executable;
  return env;
}

function isVariable(name: string, value: string): boolean {
  return name !== "" && !name.includes("=") && !name.includes("\0") && !value.includes("\0");
}
