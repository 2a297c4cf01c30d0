/** Every subcommand with its short usage and purpose; help, dispatch and the manual read it. */
import { loaders, type Register } from "./loaders.ts";

type CommandName = keyof typeof loaders;

export interface CatalogEntry {
  readonly name: CommandName;
  readonly alias: string | undefined;
  /** Arguments in short, for the overview. */
  readonly usage: string;
  readonly summary: string;
  /** Shown in the overview by its name alone. */
  readonly isRare: boolean;
}

interface CatalogGroup {
  readonly title: string;
  readonly entries: readonly CatalogEntry[];
}

function often(name: CommandName, usage: string, summary: string, alias?: string): CatalogEntry {
  return { name, usage, summary, alias, isRare: false };
}

function rare(name: CommandName, usage: string, summary: string): CatalogEntry {
  return { name, usage, summary, alias: undefined, isRare: true };
}

/** Groups in the overview's order: the most needed first. */
export const catalog: readonly CatalogGroup[] = [
  {
    title: "Every day",
    entries: [
      often("attach", "[NAME]", "show a session here and type into it", "a"),
      often("list", "[--all] [--json]", "show the sessions", "ls"),
      often("agents", "[--json]", "show AI agents, those that need you first"),
      often("new", "[NAME] [-- COMMAND…]", "start a session without attaching to it"),
      often("exec", "[NAME] -- COMMAND…", "run a command and exit with its code"),
      often("kill", "NAME…", "kill sessions and their programs"),
      often("setup", "[HOST]", "add wsh to an AI host's configuration"),
      often("doctor", "", "check this installation and suggest fixes"),
    ],
  },
  {
    title: "Sessions",
    entries: [
      often("detach", "NAME…", "disconnect the terminals from a session"),
      rare("clients", "[NAME] [--json]", "show the attached terminals"),
      rare("events", "[NAME…] [--type EVENT] [--since CURSOR]", "print session events as JSON lines"),
      often("keys", "[--json]", "show the key bindings"),
      rare("rename", "NAME NEW", "rename a session"),
      rare("tag", "NAME [--add T] [--remove T]", "show or change a session's tags"),
      often("split", "[TARGET] [-- COMMAND…]", "open a pane beside another one"),
      rare("window", "[ACTION] [TARGET]", "list, create, change and close windows"),
      rare("pane", "[ACTION] [TARGET]", "list, move, change and close panes"),
      rare("layout", "[ACTION] [TARGET]", "show, change and save layouts"),
      often("restore", "[NAME | --all]", "restore a crashed session"),
      rare("forget", "NAME | --all", "delete the checkpoints of a crashed session"),
      rare("checkpoint", "ACTION [NAME] [LABEL]", "save a session under a label, restore it"),
    ],
  },
  {
    title: "Programs in a session",
    entries: [
      often("run", "NAME TEXT…", "type a line and wait for its outcome"),
      often("send", "NAME [TEXT…] [--keys K…]", "type text or keys"),
      often("screen", "NAME", "print the session's screen"),
      often("output", "NAME [--since N]", "print the session's output"),
      often("wait", "NAME [CONDITION…]", "wait for a prompt, text, silence or exit"),
      often("script", "FILE [ARGS…]", "run a program that drives terminals"),
      rare("test", "[FILES…]", "run tests of terminal programs"),
      often("ask", "QUESTION", "ask the person at an attached terminal"),
      often("commands", "NAME", "list the commands that ran, with exit codes"),
      rare("buffer", "list | show | set | load | save | paste … [NAME]", "list, print, store and paste copied texts"),
      rare("private", "[NAME] on|off", "keep a session's data off the disk"),
      often("history", "[WORDS…]", "search the commands of all sessions"),
      often("status", "[NAME]", "show the state of a session or the server"),
      rare("signal", "NAME SIGNAL", "send a signal to the foreground program"),
      rare("clear", "NAME", "clear a session's screen and history"),
      rare("restart", "NAME", "restart a session's program"),
      rare("resize", "NAME COLSxROWS", "set the size of a session's terminal"),
      rare("popup", "[TARGET] [-- COMMAND…]", "run a program in a popup and return its result"),
      rare("grant", "--may RIGHTS [-- COMMAND…]", "give a sandbox limited rights, through a socket"),
      rare("env", "[NAME] [--shell]", "print the variables of the attached terminal"),
    ],
  },
  {
    title: "Server and agents",
    entries: [
      often("server", "[--bind ADDRESS]", "serve HTTP, WebSocket and MCP"),
      often("mcp", "", "speak MCP on stdin and stdout, for an AI host"),
      rare("tmux", "COMMAND…", "run a tmux command line on wsh's sessions"),
      rare("agent", "start | prompt", "start an AI agent and send it prompts"),
      rare("hook", "AGENT EVENT", "report an AI agent's state from its hook"),
      often("stop", "", "stop the server and all sessions"),
      rare("servers", "[list|add|remove|info|reload]", "manage other machines (sessions NAME/SESSION)"),
      rare("fleet", "init|invite|list|revoke|join|leave", "connect machines through your NATS servers"),
      rare("open", "[NAME]", "show the sessions in a browser"),
      rare("share", "NAME", "create a link to one session"),
      rare("prune", "[--dry-run]", "end unused sessions that agents created"),
      rare("persist", "[on|off]", "keep the server after its last session"),
      often("token", "[create|list|revoke]", "print the token for TCP; manage tokens"),
      rare("service", "systemd|launchd", "print a unit that keeps the server running"),
    ],
  },
  {
    title: "More",
    entries: [
      often("info", "", "show paths, server and limits"),
      rare("config", "[reload]", "print every setting with value and origin"),
      rare("ports", "[PORT] [--json]", "show which programs listen on which ports"),
      rare("receipt", "COMMAND_ID", "print a signed statement of a command, or verify one"),
      rare("notify", "MESSAGE", "show a message at the attached terminals"),
      often("completions", "bash|zsh|fish", "print completions for a shell"),
      rare("skill", "[NAME]", "print a guide for agents"),
      rare("shell-integration", "bash|zsh|fish", "print the script that marks commands"),
      rare("reset-terminal", "[NAME]", "reset a terminal left in a bad state"),
    ],
  },
];

export const catalogEntries: readonly CatalogEntry[] = catalog.flatMap((group) => group.entries);

export function findEntry(name: string): CatalogEntry | undefined {
  return catalogEntries.find((entry) => entry.name === name || entry.alias === name);
}

export async function loadCommand({ name }: CatalogEntry): Promise<Register> {
  return (await loaders[name]()).register;
}
