/** `wsh mcp`: the command that an AI host starts. It pipes bytes between its stdio and the server's MCP socket. */

import { type Command, Option } from "commander";
import { withLoginPath } from "../../launch/login-path.ts";
import { ownDirectory } from "../../platform/directory.ts";
import { instanceOf } from "../instance.ts";

interface McpOptions {
  readonly tools: "core" | "all" | "machines";
  readonly session?: string;
  readonly readOnly?: boolean;
  readonly bind?: string;
  readonly token?: string;
}

export function register(program: Command): void {
  program
    .command("mcp")
    .description(
      "Speak MCP on standard input and output. Starts a server if none is running, and reconnects after a restart.\n" +
        "'wsh setup' adds this command to an AI host's configuration.",
    )
    .addOption(new Option("--tools <set>", "tools to serve").choices(["core", "all", "machines"]).default("all"))
    .option("--session <name>", "default session of the tools")
    .option("--read-only", "serve only read-only tools")
    .option("--bind <address>", "TCP address of a newly started server (default: none)")
    .addOption(new Option("--token <token>", "token of a newly started server").env("WSH_TOKEN"))
    .option("--config <path>", "settings file (WSH_CONFIG)")
    .action(async ({ tools, session, readOnly, bind, token }: McpOptions, command: Command) => {
      const { runBridge } = await import("../../mcp/bridge/bridge.ts");
      const instance = instanceOf(command);
      await runBridge({
        instance,
        cwd: bridgeDirectory(),
        environment: (stopped) => withLoginPath(instance, process.env, stopped),
        tools,
        session,
        readOnly: readOnly === true,
        bind,
        token,
      });
    });
}

/** The path may belong to a deleted directory: the server then reports which directory it uses instead. */
function bridgeDirectory(): string | undefined {
  try {
    return ownDirectory();
  } catch {
    return process.env.PWD;
  }
}
