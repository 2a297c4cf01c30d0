/**
 * `wsh proxy`: copies between standard input and output and the server's socket, for a machine whose sshd forwards none.
 * Starts a server if none runs. Neither side is read further ahead than the other takes.
 */

import { resolveInstance } from "../instance/paths.ts";
import { startServer } from "../launch/server.ts";
import { Outbox } from "../wire/outbox.ts";
import { writeThrough } from "../wire/sink.ts";
import { Wire } from "../wire/socket.ts";

/** The line after which every byte comes from the server. */
export const PROXY_HELLO = "wsh-proxy-1\n";

/** @param name name of the instance; absent: the environment's */
export async function runProxy(name: string | undefined): Promise<void> {
  const instance = resolveInstance({ flags: { serverName: name }, env: process.env });
  await startServer(instance);
  await proxy(instance.httpSocket);
  process.exit(0);
}

/** Resolves when either side has ended. */
async function proxy(socket: string): Promise<void> {
  const closed = Promise.withResolvers<void>();
  const stdout = Bun.stdout.writer();
  let drained: (() => void) | null = null;
  const wire = await Wire.connect(socket, {
    data(bytes) {
      const taken = writeThrough(stdout, bytes);
      if (taken === null) return;
      wire.pause();
      void taken.then(
        () => wire.resume(),
        () => closed.resolve(),
      );
    },
    drain() {
      if (up.drain()) drained?.();
    },
    close: () => closed.resolve(),
  });
  const up = new Outbox((bytes) => wire.write(bytes));
  stdout.write(PROXY_HELLO);
  await stdout.flush();
  void (async () => {
    for await (const bytes of Bun.stdin.stream()) {
      up.write(new Uint8Array(bytes));
      while (up.pending > 0) {
        await new Promise<void>((resolve) => {
          drained = resolve;
        });
      }
    }
    closed.resolve();
  })().catch(() => closed.resolve());
  await closed.promise;
  wire.end();
}
