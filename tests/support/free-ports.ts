/** Ports of loopback for programs that are given theirs before they listen. */

/**
 * Below the ports that Linux (32768), macOS (49152) and wsh (20000) give out: until it is used, no connection, listener
 * or server of anyone else is given it.
 */
const FIRST = 10_000;
const COUNT = 9_999;

/** Ports that nobody has at this moment. */
export function freePorts(count: number): number[] {
  const found = new Set<number>();
  while (found.size < count) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    try {
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
      found.add(port);
    } catch {
      // Somebody has it.
    }
  }
  return [...found];
}

export function freePort(): number {
  const [port = 0] = freePorts(1);
  return port;
}
