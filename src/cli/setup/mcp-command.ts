/** The command with which another program starts wsh. */
import { realpathSync } from "node:fs";
import { selfCommand } from "../../instance/launch/launch.ts";
import type { HostScope, Launch } from "./ai-hosts.ts";

/**
 * For the user: a full path, because programs with windows do not have the shell's PATH. The name on PATH is preferred
 * when it leads to this executable: it outlives an upgrade that moves the file behind it.
 * For a project: the bare name, because the file is committed and read on other machines.
 */
export function launchFor(scope: HostScope): Launch {
  if (scope === "project") return { command: "wsh", args: [] };
  const [own = process.execPath, ...args] = selfCommand([]);
  const onPath = args.length === 0 ? Bun.which("wsh") : null;
  return { command: onPath !== null && realpathSync(onPath) === realpathSync(own) ? onPath : own, args };
}
