/**
 * Listens again after the server's sockets were deleted (a cleaner of /tmp, the end of a login session): the sockets
 * are bound again under the instance's lock, unless another server has been started meanwhile. One attempt at a time;
 * the watch reports a loss again until the socket is back.
 */
import { checkRuntimeDir, type Instance } from "../instance/paths.ts";
import { unlinkSocket } from "../instance/registry/registry.ts";
import { probeSocket } from "../instance/registry/socket-probe.ts";
import { watchOwnSocket } from "../instance/registry/socket-watch.ts";
import { claimServer } from "../instance/single-server.ts";
import { WshError } from "../protocol/errors.ts";

export interface ComeBackEvents {
  /** Binds both sockets at their free paths. */
  bind(): void;
  /** The sockets are there again. */
  back(): void;
  /** Another server answers at the socket's path. */
  replaced(): void;
  failed(error: WshError): void;
}

/** Runs until disposed. */
export function keepSockets(instance: Instance, events: ComeBackEvents): Disposable {
  let returning = false;
  return watchOwnSocket(instance.httpSocket, () => {
    if (returning) return;
    returning = true;
    void comeBack(instance, () => events.bind())
      .then((isBack) => (isBack ? events.back() : events.replaced()))
      .catch((error) => events.failed(WshError.from(error)))
      .finally(() => {
        returning = false;
      });
  });
}

/** @returns false when another server has taken the sockets' place */
async function comeBack(instance: Instance, bind: () => void): Promise<boolean> {
  try {
    if (probeSocket(instance.httpSocket) === "alive") return false;
    // Only the server's own: it may not have been deleted, and would be in the way.
    if (checkRuntimeDir(instance)) unlinkSocket(instance.mcpSocket);
    await claimServer(instance, bind);
    return true;
  } catch (thrown) {
    if (WshError.from(thrown).code === "server_already_running") return false;
    throw thrown;
  }
}
