/**
 * One server per instance: binding happens under the registry's lock, after it is certain that nobody answers at the
 * server's sockets. Files of a dead server are removed there; a path that is not a socket stops the start. Unlinking at
 * the end is under the same lock and spares what somebody answers, so that an ending server cannot take its successor's
 * sockets away.
 */

import fs from "node:fs";
import { platform } from "../platform/platform.ts";
import { WshError } from "../protocol/errors.ts";
import { withLock } from "./lock.ts";
import { type Instance, prepareRuntimeDir } from "./paths.ts";
import { listenerPid, probeSocket } from "./registry/socket-probe.ts";

/** Longest life of a socket whose process is gone, in ms: a thousand times what starting a program takes. */
const ORPHAN_MS = 1_000;
const LOOK_MS = 5;

/**
 * Runs `bind`, which listens on httpSocket and mcpSocket (and TCP), as the instance's only server, and returns its
 * result. WshError server_already_running when another one answers.
 */
export async function claimServer<T>(instance: Instance, bind: () => T | Promise<T>): Promise<T> {
  prepareRuntimeDir(instance);
  return withLock(instance.lockFile, async () => {
    // What is left of a start that was cut short (bindAside) goes too.
    for (const path of serverSockets(instance)) {
      for (const each of [path, besides(path)]) await clearSocket(instance, each);
    }
    return await bind();
  });
}

/**
 * Binds a listener beside the path, which must be free, and moves its socket there, readable by its owner alone. Bun
 * unlinks the path it bound when the listener stops, whoever's socket lies there by then: it may be a successor's.
 */
export function bindAside<T extends { stop(): unknown }>(path: string, bind: (aside: string) => T): T {
  const aside = besides(path);
  const bound = bind(aside);
  try {
    fs.chmodSync(aside, 0o600);
    fs.renameSync(aside, path);
  } catch (error) {
    void bound.stop();
    throw error;
  }
  return bound;
}

function besides(path: string): string {
  return `${path}~`;
}

/** Runs `close`, which stops listening, and removes the sockets if they are still there. */
export async function releaseServer(instance: Instance, close: () => void | Promise<void>): Promise<void> {
  if (!fs.existsSync(instance.runtimeDir)) return close(); // deleted under us: there is nothing left to guard
  await withLock(instance.lockFile, async () => {
    await close();
    for (const path of serverSockets(instance)) if (probeSocket(path) === "dead") fs.rmSync(path, { force: true });
  });
}

/**
 * A server killed while it starts a process keeps its sockets open there for a moment: until that process runs its own
 * program. Meanwhile only the kernel answers at them.
 */
async function orphanGone(path: string): Promise<void> {
  const deadline = performance.now() + ORPHAN_MS;
  while (performance.now() < deadline) {
    const pid = listenerPid(path);
    if (pid === null || platform().processes.isAlive(pid)) return;
    await Bun.sleep(LOOK_MS);
  }
}

function serverSockets(instance: Instance): readonly string[] {
  return [instance.httpSocket, instance.mcpSocket];
}

async function clearSocket(instance: Instance, path: string): Promise<void> {
  await orphanGone(path);
  const state = probeSocket(path);
  if (state === "dead") fs.rmSync(path, { force: true });
  if (state === "alive") {
    throw new WshError("server_already_running", `a server of instance '${instance.name}' already listens on ${path}`);
  }
  if (state === "not_a_socket") {
    throw new WshError("runtime_dir_unusable", `${path} is not a socket`, {
      hint: "Move the file away; wsh removes only sockets.",
    });
  }
}
