/** What ends the wait of `wsh exec`: keys, signals and time. */
import { codeOf } from "../../attach/outcome.ts";

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

/** Ends the command first where a signal ends this process, since the command was started for it alone. */
export function onEndSignal(end: () => Promise<unknown>): Disposable {
  const listeners = (["SIGTERM", "SIGHUP"] as const).map((signal) => {
    const listener = (): void => {
      void end()
        .catch(() => {})
        .finally(() => process.exit(codeOf(null, signal)));
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
