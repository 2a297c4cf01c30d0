/** Set-up of tests of the instance layer: an instance in its own directory, and sessions that only listen. */

import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { type Instance, resolveInstance } from "../../src/instance/paths.ts";
import { type ClaimResult, claimSession, type NameRule } from "../../src/registry/register.ts";

export interface TestInstance extends Disposable {
  readonly instance: Instance;
  /** Environment that passes the instance's directories to other processes. */
  readonly env: Readonly<Record<string, string>>;
  /** Contains all of the instance's directories; removed at the end. */
  readonly dir: string;
}

export function testInstance(name = "default"): TestInstance {
  const dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-"));
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: join(dir, "home"),
    XDG_RUNTIME_DIR: join(dir, "run"),
    WSH_SERVER_NAME: name,
    // The platform of this process is that of its children (fake-darwin/environment.ts).
    ...(process.env.BUN_OPTIONS === undefined ? {} : { BUN_OPTIONS: process.env.BUN_OPTIONS }),
  };
  return {
    dir,
    env,
    instance: resolveInstance({ env }),
    [Symbol.dispose]: () => fs.rmSync(dir, { recursive: true, force: true }),
  };
}

export interface TestSession extends ClaimResult, Disposable {}

/** A registered session whose session process is a listener in this process; disposing it stops it like a crash. */
export async function session(
  instance: Instance,
  name: string | NameRule = { kind: "number" },
  maxSessions = 256,
): Promise<TestSession> {
  const listeners: Disposable[] = [];
  const claim = await claimSession(instance, {
    name: typeof name === "string" ? { kind: "exact", name } : name,
    maxSessions,
    bind: (path) => {
      listeners.push(listen(path));
    },
  });
  const die = (): void => {
    for (const listener of listeners) listener[Symbol.dispose]();
    claim.life[Symbol.dispose]();
  };
  return { ...claim, [Symbol.dispose]: die };
}

/** Accepts connections at a path and leaves the socket file behind when disposed, as a killed process does. */
export function listen(path: string): Disposable & { stop(): void } {
  const listener = Bun.listen({ unix: path, socket: { data() {} } });
  const stop = (): void => {
    const kept = `${path}.kept`;
    const isThere = fs.existsSync(path);
    if (isThere) fs.renameSync(path, kept); // stop() would unlink it
    listener.stop(true);
    if (isThere) fs.renameSync(kept, path);
  };
  return { stop, [Symbol.dispose]: stop };
}

/** The command of a fake child (registry-child.ts) for startSessionProcess and startServer: its role instead of their arguments. */
export function fakeDaemon(role: string, argument = ""): () => string[] {
  return () => [process.execPath, join(import.meta.dir, "registry-child.ts"), role, argument];
}
