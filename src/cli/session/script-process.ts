/**
 * The process that runs a script or tests: this executable as the Bun that it contains, with the runtime (src/script)
 * as a file of the state directory. It reaches the sessions through a server, which is started if none runs.
 */
import { join } from "node:path";
import { connect, type WshClient, WshError } from "../../client/client.ts";
import type { Instance } from "../../instance/paths.ts";
import { readyTimeoutMs } from "../../launch/launch.ts";
import { ownProgram } from "../../launch/own-program.ts";
import { installScripts } from "../../launch/script-files.ts";
import { startServer } from "../../launch/server.ts";
import { requireAnswering } from "../../registry/server-client.ts";
import { runtimeText } from "../../script/bundles.ts";
import { ORDERS_VARIABLE, type Orders } from "../../script/runner-input.ts";

/**
 * @param args of the test runner
 * @param order returns the orders for a server at this socket
 * @returns the exit code
 */
export async function carryOut(
  instance: Instance,
  args: readonly string[],
  order: (socket: string) => Orders & { readonly stdin?: boolean },
): Promise<number> {
  const text = await runtimeText();
  const runtime = join(installScripts(instance, [{ name: "wsh.js", text }]), "wsh.js");
  const socket = instance.httpSocket;
  // A server that was started for this process stays while a client is connected, also between two terminals.
  using _connected = await connected(instance);
  const { stdin, ...given } = order(socket);
  const orders = stdin === true ? { ...given, code: await Bun.stdin.text() } : given;
  // A wrong name in an import must not fetch and run a package of that name.
  const command = orders.kind === "script" ? ["--no-install", "run", runtime] : ["test", "--preload", runtime, ...args];
  const child = Bun.spawn([ownProgram(), ...command], {
    env: { ...process.env, BUN_BE_BUN: "1", [ORDERS_VARIABLE]: JSON.stringify(orders) },
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  });
  // Ctrl+C reaches the child by its terminal.
  const ignore = (): void => {};
  const pass = (name: NodeJS.Signals): void => child.kill(name);
  process.on("SIGINT", ignore);
  for (const name of ["SIGTERM", "SIGHUP"] as const) process.on(name, pass);
  try {
    const code = await child.exited;
    return child.signalCode === null ? code : 1;
  } finally {
    process.off("SIGINT", ignore);
    for (const name of ["SIGTERM", "SIGHUP"] as const) process.off(name, pass);
  }
}

/** Pause until the next attempt, in ms: a server that is ending still exists for a while, but no longer answers. */
const RETRY_MS = 20;

async function connected(instance: Instance): Promise<WshClient> {
  const deadline = performance.now() + readyTimeoutMs;
  for (;;) {
    await startServer(instance);
    await requireAnswering(instance);
    try {
      const client = await connect({ socket: instance.httpSocket });
      // After its answer, the server stays as long as this connection.
      await client.call("server.info", {});
      return client;
    } catch (thrown) {
      if (WshError.from(thrown).code !== "server_unavailable" || performance.now() > deadline) throw thrown;
      await Bun.sleep(RETRY_MS);
    }
  }
}
