/** This process as a caller of tmux's commands: its terminal and streams. */
import tty from "node:tty";
import type { Instance } from "../../instance/paths.ts";
import { BY_KEY } from "../../launch/key-variable.ts";
import { backendOf, type InstanceBackend } from "../../tmux/instance/backend.ts";
import { print } from "../print.ts";
import { paneAround } from "../session/surrounding-session.ts";

export function localBackend(instance: Instance): InstanceBackend {
  // Programs started from here are not started by a key.
  const { [BY_KEY]: byKey, ...env } = process.env;
  return backendOf(instance, {
    env,
    isByKey: byKey !== undefined,
    cwd: process.cwd(),
    caller: process.pid,
    pane: paneOf(instance),
    hasTerminal: tty.isatty(0) && tty.isatty(1),
    socketPath: instance.httpSocket,
    print,
    complain: async (message) => void process.stderr.write(`${message}\n`),
    input: () => Bun.stdin.bytes(),
    async attach(args) {
      const { fullProgram } = await import("../parser.ts");
      const program = await fullProgram("attach");
      await program.parseAsync([...args], { from: "user" });
      return typeof process.exitCode === "number" ? process.exitCode : 0;
    },
  });
}

/** The pane around this process, if it belongs to the instance. */
function paneOf(instance: Instance): string | null {
  const around = paneAround(process.env);
  return around !== null && around.instance.httpSocket === instance.httpSocket ? around.pane : null;
}
