/**
 * Every subcommand: its usage in short, its purpose, and where its code is. Help and dispatch read this table, so `wsh
 * list` loads the code of `list` alone and `wsh --help` loads none.
 */
import type { CatalogEntry, CatalogGroup } from "./catalog-entry.ts";
import { moreCommands } from "./catalog-more.ts";

/** Groups in the overview's order: the most needed first. */
export const catalog: readonly CatalogGroup[] = [
  {
    title: "Every day",
    entries: [
      {
        name: "attach",
        alias: "a",
        usage: "[NAME]",
        summary: "show a session here and type into it",
        load: async () => (await import("./commands/attach.ts")).register,
      },
      {
        name: "list",
        alias: "ls",
        usage: "[--all] [--json]",
        summary: "show the sessions",
        load: async () => (await import("./commands/list.ts")).register,
      },
      {
        name: "agents",
        usage: "[--json]",
        summary: "show AI agents, those that need you first",
        load: async () => (await import("./commands/agents.ts")).register,
      },
      {
        name: "new",
        usage: "[NAME] [-- COMMAND…]",
        summary: "start a session without attaching to it",
        load: async () => (await import("./commands/new.ts")).register,
      },
      {
        name: "exec",
        usage: "[NAME] -- COMMAND…",
        summary: "run a command and exit with its code",
        load: async () => (await import("./commands/exec.ts")).register,
      },
      {
        name: "kill",
        usage: "NAME…",
        summary: "kill sessions and their programs",
        load: async () => (await import("./commands/kill.ts")).register,
      },
      {
        name: "setup",
        usage: "[HOST]",
        summary: "add wsh to an AI host's configuration",
        load: async () => (await import("./commands/setup.ts")).setupCommand,
      },
      {
        name: "doctor",
        usage: "",
        summary: "check this installation and suggest fixes",
        load: async () => (await import("./commands/doctor.ts")).register,
      },
    ],
  },
  {
    title: "Sessions",
    entries: [
      {
        name: "detach",
        usage: "NAME…",
        summary: "disconnect the terminals from a session",
        load: async () => (await import("./commands/detach.ts")).register,
      },
      {
        name: "clients",
        isRare: true,
        usage: "[NAME] [--json]",
        summary: "show the attached terminals",
        load: async () => (await import("./commands/clients.ts")).register,
      },
      {
        name: "events",
        isRare: true,
        usage: "[NAME…] [--type EVENT] [--since CURSOR]",
        summary: "print what happens in sessions, as JSON lines",
        load: async () => (await import("./commands/events.ts")).register,
      },
      {
        name: "keys",
        usage: "[--json]",
        summary: "show the key bindings",
        load: async () => (await import("./commands/keys.ts")).register,
      },
      {
        name: "rename",
        isRare: true,
        usage: "NAME NEW",
        summary: "rename a session",
        load: async () => (await import("./commands/rename.ts")).register,
      },
      {
        name: "tag",
        isRare: true,
        usage: "NAME [--add T] [--remove T]",
        summary: "show or change a session's tags",
        load: async () => (await import("./commands/tag.ts")).register,
      },
      {
        name: "split",
        usage: "[TARGET] [-- COMMAND…]",
        summary: "open a pane beside another one",
        load: async () => (await import("./commands/split.ts")).register,
      },
      {
        name: "window",
        isRare: true,
        usage: "[ACTION] [TARGET]",
        summary: "list, create, change and close windows",
        load: async () => (await import("./commands/window.ts")).register,
      },
      {
        name: "pane",
        isRare: true,
        usage: "[ACTION] [TARGET]",
        summary: "list, move, change and close panes",
        load: async () => (await import("./commands/pane.ts")).register,
      },
      {
        name: "layout",
        isRare: true,
        usage: "[ACTION] [TARGET]",
        summary: "show, change and save layouts",
        load: async () => (await import("./commands/layout.ts")).register,
      },
      {
        name: "restore",
        usage: "[NAME | --all]",
        summary: "make a crashed session run again",
        load: async () => (await import("./commands/restore.ts")).register,
      },
      {
        name: "forget",
        usage: "NAME | --all",
        summary: "delete the checkpoints of a crashed session",
        isRare: true,
        load: async () => (await import("./commands/forget.ts")).register,
      },
      {
        name: "checkpoint",
        isRare: true,
        usage: "ACTION [NAME] [LABEL]",
        summary: "save a session under a label, restore it",
        load: async () => (await import("./commands/checkpoint.ts")).register,
      },
    ],
  },
  {
    title: "Programs in a session",
    entries: [
      {
        name: "run",
        usage: "NAME TEXT…",
        summary: "type a line and wait for its outcome",
        load: async () => (await import("./commands/run.ts")).register,
      },
      {
        name: "send",
        usage: "NAME [TEXT…] [--keys K…]",
        summary: "type text or keys",
        load: async () => (await import("./commands/send.ts")).register,
      },
      {
        name: "screen",
        usage: "NAME",
        summary: "print the session's screen",
        load: async () => (await import("./commands/screen.ts")).register,
      },
      {
        name: "output",
        usage: "NAME [--since N]",
        summary: "print the session's output",
        load: async () => (await import("./commands/output.ts")).register,
      },
      {
        name: "wait",
        usage: "NAME [CONDITION…]",
        summary: "wait for a prompt, text, silence, exit",
        load: async () => (await import("./commands/wait.ts")).register,
      },
      {
        name: "script",
        usage: "FILE [ARGS…]",
        summary: "run a program that drives terminals",
        load: async () => (await import("./commands/script.ts")).register,
      },
      {
        name: "test",
        isRare: true,
        usage: "[FILES…]",
        summary: "run tests of terminal programs",
        load: async () => (await import("./commands/test.ts")).register,
      },
      {
        name: "ask",
        usage: "QUESTION",
        summary: "ask the person at an attached terminal",
        load: async () => (await import("./commands/ask.ts")).register,
      },
      {
        name: "commands",
        usage: "NAME",
        summary: "list the commands that ran, with exit codes",
        load: async () => (await import("./commands/commands.ts")).register,
      },
      {
        name: "buffer",
        isRare: true,
        usage: "list | show | set | load | save | paste … [NAME]",
        summary: "texts that were copied, of all sessions",
        load: async () => (await import("./commands/buffer.ts")).register,
      },
      {
        name: "private",
        isRare: true,
        usage: "[NAME] on|off",
        summary: "keep a session's data off the disk",
        load: async () => (await import("./commands/private.ts")).register,
      },
      {
        name: "history",
        usage: "[WORDS…]",
        summary: "search the commands of all sessions",
        load: async () => (await import("./commands/history.ts")).register,
      },
      {
        name: "status",
        usage: "[NAME]",
        summary: "show the state of a session or the server",
        load: async () => (await import("./commands/status.ts")).register,
      },
      {
        name: "signal",
        isRare: true,
        usage: "NAME SIGNAL",
        summary: "send a signal to the foreground program",
        load: async () => (await import("./commands/signal.ts")).register,
      },
      {
        name: "clear",
        isRare: true,
        usage: "NAME",
        summary: "clear a session's screen and history",
        load: async () => (await import("./commands/clear.ts")).register,
      },
      {
        name: "restart",
        isRare: true,
        usage: "NAME",
        summary: "restart a session's program",
        load: async () => (await import("./commands/restart.ts")).register,
      },
      {
        name: "resize",
        isRare: true,
        usage: "NAME COLSxROWS",
        summary: "set the size of a session's terminal",
        load: async () => (await import("./commands/resize.ts")).register,
      },
      {
        name: "popup",
        isRare: true,
        usage: "[TARGET] [-- COMMAND…]",
        summary: "run a program in a popup and return its result",
        load: async () => (await import("./commands/popup.ts")).register,
      },
      {
        name: "grant",
        isRare: true,
        usage: "--may RIGHTS [-- COMMAND…]",
        summary: "lend a sandbox some rights, at a socket of its own",
        load: async () => (await import("./commands/grant.ts")).register,
      },
      {
        name: "env",
        isRare: true,
        usage: "[NAME] [--shell]",
        summary: "print what the attached terminal has brought",
        load: async () => (await import("./commands/env.ts")).register,
      },
    ],
  },
  {
    title: "Server and agents",
    entries: [
      {
        name: "server",
        usage: "[--bind ADDRESS]",
        summary: "serve HTTP, WebSocket and MCP",
        load: async () => (await import("./commands/server.ts")).register,
      },
      {
        name: "mcp",
        usage: "",
        summary: "speak MCP on stdin and stdout, for an AI host",
        load: async () => (await import("./commands/mcp.ts")).register,
      },
      {
        name: "tmux",
        isRare: true,
        usage: "COMMAND…",
        summary: "carry out a command line of tmux",
        load: async () => (await import("./commands/tmux.ts")).register,
      },
      {
        name: "agent",
        isRare: true,
        usage: "start | prompt",
        summary: "start an AI agent, and give it prompts",
        load: async () => (await import("./commands/agent.ts")).register,
      },
      {
        name: "hook",
        isRare: true,
        usage: "AGENT EVENT",
        summary: "report an agent's state, from its hook",
        load: async () => (await import("./commands/hook.ts")).register,
      },
      {
        name: "stop",
        usage: "",
        summary: "stop the server and all sessions",
        load: async () => (await import("./commands/stop.ts")).register,
      },
      {
        name: "servers",
        isRare: true,
        usage: "[list|add|remove|info|reload]",
        summary: "other machines, whose sessions are NAME/SESSION",
        load: async () => (await import("./commands/servers.ts")).register,
      },
      {
        name: "fleet",
        isRare: true,
        usage: "init|invite|list|revoke|join|leave",
        summary: "many machines, over your own NATS servers",
        load: async () => (await import("./commands/fleet.ts")).register,
      },
      {
        name: "open",
        isRare: true,
        usage: "[NAME]",
        summary: "show the sessions in a browser",
        load: async () => (await import("./commands/open-page.ts")).register,
      },
      {
        name: "share",
        isRare: true,
        usage: "NAME",
        summary: "create a link to one session",
        load: async () => (await import("./commands/share.ts")).register,
      },
      {
        name: "prune",
        usage: "[--dry-run]",
        summary: "end the sessions that agents have left",
        isRare: true,
        load: async () => (await import("./commands/prune.ts")).register,
      },
      {
        name: "persist",
        isRare: true,
        usage: "[on|off]",
        summary: "keep the server after its last session",
        load: async () => (await import("./commands/persist.ts")).register,
      },
      {
        name: "token",
        usage: "[create|list|revoke]",
        summary: "print the token for TCP, manage others",
        load: async () => (await import("./commands/token.ts")).register,
      },
      {
        name: "service",
        isRare: true,
        usage: "systemd|launchd",
        summary: "print a unit that keeps the server running",
        load: async () => (await import("./commands/service.ts")).register,
      },
    ],
  },
  moreCommands,
];

export const catalogEntries: readonly CatalogEntry[] = catalog.flatMap((group) => group.entries);

export function findEntry(name: string): CatalogEntry | undefined {
  return catalogEntries.find((entry) => entry.name === name || entry.alias === name);
}
