/** Events that end the wait of `wsh exec`: keys, signals and time. */
import { exitCode } from "../../attach/outcome.ts";
import type { Instance } from "../../instance/paths.ts";
import { SessionClient } from "./client.ts";
import type { ExecOptions } from "./exec-options.ts";

export function abortAfter(controller: AbortController, ms: number): Disposable {
  const timer = setTimeout(() => controller.abort(), ms);
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

/** The first Ctrl+C goes to the command; the next ends the wait for it. */
export function onInterrupt(first: () => void, next: () => void): Disposable {
  let presses = 0;
  const press = (): void => (presses++ === 0 ? first() : next());
  process.on("SIGINT", press);
  return { [Symbol.dispose]: () => void process.off("SIGINT", press) };
}

/**
 * Ends sessions or panes started for this process alone before a signal ends this process, even while they are being
 * started.
 *
 * @param started called only on a signal: the id of the session or the pane, once it exists
 */
export function endWithProcess(
  instance: Instance,
  { background, until }: ExecOptions,
  started: () => Promise<string>,
  endOperation: "session.kill" | "pane.close" = "session.kill",
): Disposable | null {
  if (background === true || until !== undefined) return null;
  return onEndSignal(async () => {
    using session = await SessionClient.open(instance, await started());
    await session.call(endOperation, {});
  });
}

function onEndSignal(end: () => Promise<unknown>): Disposable {
  const listeners = (["SIGTERM", "SIGHUP"] as const).map((signal) => {
    const listener = (): void => {
      // The wait for the session also ends, and may be first.
      process.on("exit", () => {
        process.exitCode = exitCode(null, signal);
      });
      void end()
        .catch(() => {})
        .finally(() => process.exit(exitCode(null, signal)));
    };
    process.on(signal, listener);
    return { signal, listener };
  });
  return {
    [Symbol.dispose]: () => {
      for (const { signal, listener } of listeners) process.off(signal, listener);
    },
  };
}
