/**
 * A TCP port for the programs of one session: free at the time of the lease, and not given to another session of the
 * account while its process is alive. The lease is a lock on a file, which the kernel frees with the process; nothing
 * is bound.
 */
import fs from "node:fs";
import { join } from "node:path";
import { ensureOwnDir } from "../instance/owned-files.ts";
import { type Instance, leasedPortsDir } from "../instance/paths.ts";
import { tryFlock } from "../platform/descriptors.ts";
import { WshError } from "../protocol/errors.ts";

/** Below the ports that systems give to outgoing connections (Linux: from 32768), above those of known services. */
const FIRST = 20_000;
const COUNT = 10_000;

/** Leases a port until this process ends. @param wanted preferred port @throws WshError resource_limit_reached */
export function leasePort(instance: Instance, wanted?: number): number {
  const dir = leasedPortsDir(instance);
  ensureOwnDir(dir);
  const start = Math.floor(Math.random() * COUNT);
  if (wanted !== undefined && take(dir, wanted)) return wanted;
  for (let n = 0; n < COUNT; n++) {
    const port = FIRST + ((start + n) % COUNT);
    if (take(dir, port)) return port;
  }
  throw new WshError("resource_limit_reached", `no port from ${FIRST} to ${FIRST + COUNT - 1} is free`, {
    hint: "`wsh ports --all` shows their listeners.",
  });
}

/** The lock stays with this process: its descriptor is never closed, and no program inherits it. */
function take(dir: string, port: number): boolean {
  const fd = fs.openSync(join(dir, String(port)), fs.constants.O_CREAT | fs.constants.O_RDWR, 0o600);
  if (tryFlock(fd).kind === "taken" && isFree(port)) return true;
  fs.closeSync(fd);
  return false;
}

function isFree(port: number): boolean {
  return ["0.0.0.0", "::"].every((hostname) => {
    try {
      Bun.listen({ hostname, port, socket: { data() {} } }).stop(true);
      return true;
    } catch (error) {
      // A machine without that address family has no listener there.
      return (error as NodeJS.ErrnoException).code !== "EADDRINUSE";
    }
  });
}
