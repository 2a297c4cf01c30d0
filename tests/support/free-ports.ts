/** Loopback ports for programs that need a port before they listen. */

/**
 * Below the ports that Linux (32768), macOS (49152) and wsh (20000) assign: until it is used, no other connection,
 * listener or server gets it.
 */
const FIRST = 10_000;
const COUNT = 9_999;

/** Ports that are free at this moment. */
export function freePorts(count: number): number[] {
  const found = new Set<number>();
  while (found.size < count) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    try {
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
      found.add(port);
    } catch {
      // The port is in use.
    }
  }
  return [...found];
}

export function freePort(): number {
  const [port = 0] = freePorts(1);
  return port;
}
