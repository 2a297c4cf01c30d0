/**
 * Listens again after the server's sockets or its lock were deleted (a cleaner of /tmp, the end of a login session):
 * the sockets are bound again under the instance's lock, unless another server has been started meanwhile. One attempt
 * at a time; the watch reports a loss again until all exist.
 */
import type { Instance } from "../instance/paths.ts";
import { WshError } from "../protocol/errors.ts";
import type { LifeLock } from "../registry/life-lock.ts";
import { watchOwnFiles } from "../registry/own-files-watch.ts";
import { claimServer } from "../registry/single-server.ts";

interface RebindEvents {
  /** Binds both sockets at their free paths. */
  bind(): void;
  /** The sockets exist again. */
  listening(): void;
  /** Another server answers at the socket's path. */
  replaced(): void;
  failed(error: WshError): void;
}

/**
 * Runs until disposed.
 * @param life the lock that the server took with its sockets
 * @returns an object with the lock that it holds now
 */
export function keepSockets(
  instance: Instance,
  life: LifeLock,
  events: RebindEvents,
): Disposable & { readonly life: LifeLock } {
  let isRebinding = false;
  const files = { socket: instance.httpSocket, life };
  const watch = watchOwnFiles(files, () => {
    if (isRebinding) return;
    isRebinding = true;
    void rebind(instance, files.life, () => events.bind())
      .then((lock) => {
        if (lock === null) return events.replaced();
        files.life = lock;
        events.listening();
      })
      .catch((error) => events.failed(WshError.from(error)))
      .finally(() => {
        isRebinding = false;
      });
  });
  return {
    get life() {
      return files.life;
    },
    [Symbol.dispose]: () => watch[Symbol.dispose](),
  };
}

/** @returns null: another server has taken over the sockets */
async function rebind(instance: Instance, oldLock: LifeLock, bind: () => void): Promise<LifeLock | null> {
  try {
    const { life } = await claimServer(instance, bind, oldLock);
    oldLock.discard();
    return life;
  } catch (thrown) {
    if (WshError.from(thrown).code === "server_already_running") return null;
    throw thrown;
  }
}
