/** The command with which an AI host starts wsh. */
import { stableCommand } from "../stable-command.ts";
import type { HostScope, Launch } from "./ai-hosts.ts";

/**
 * For a user's file: a full path, because programs with windows do not have the shell's PATH. For a project: the bare
 * name, because the file is committed and read on other machines.
 */
export function launchFor(scope: HostScope): Launch {
  if (scope === "project") return { command: "wsh", args: [] };
  const [command = process.execPath, ...args] = stableCommand([]);
  return { command, args };
}
