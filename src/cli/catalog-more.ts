/** The subcommands that are needed least: the last group of the overview (catalog.ts). */
import type { CatalogGroup } from "./catalog-entry.ts";

export const moreCommands: CatalogGroup = {
  title: "More",
  entries: [
    {
      name: "info",
      usage: "",
      summary: "show paths, server and limits",
      load: async () => (await import("./commands/info.ts")).register,
    },
    {
      name: "config",
      isRare: true,
      usage: "[reload]",
      summary: "print every setting with value and origin",
      load: async () => (await import("./commands/config.ts")).register,
    },
    {
      name: "ports",
      isRare: true,
      usage: "[PORT] [--json]",
      summary: "show who listens on which port",
      load: async () => (await import("./commands/ports.ts")).register,
    },
    {
      name: "receipt",
      isRare: true,
      usage: "COMMAND_ID",
      summary: "print a signed statement of a command, or verify one",
      load: async () => (await import("./commands/receipt.ts")).register,
    },
    {
      name: "notify",
      isRare: true,
      usage: "MESSAGE",
      summary: "show a message at the attached terminals",
      load: async () => (await import("./commands/notify.ts")).register,
    },
    {
      name: "completions",
      usage: "bash|zsh|fish",
      summary: "print completions for a shell",
      load: async () => (await import("./commands/completions.ts")).register,
    },
    {
      name: "skill",
      isRare: true,
      usage: "[NAME]",
      summary: "print a guide for agents",
      load: async () => (await import("./commands/skill.ts")).register,
    },
    {
      name: "shell-integration",
      isRare: true,
      usage: "bash|zsh|fish",
      summary: "print the script that sessions load",
      load: async () => (await import("./commands/shell-integration.ts")).register,
    },
    {
      name: "reset-terminal",
      isRare: true,
      usage: "[NAME]",
      summary: "reset a terminal left in a bad state",
      load: async () => (await import("./commands/reset-terminal.ts")).register,
    },
  ],
};
