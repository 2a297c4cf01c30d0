/**
 * Ends every session of the instance, for `wsh stop`. Ending a session costs its process a few milliseconds of
 * CPU, so only a few are asked at a time: many at once would contend for the registry's lock and for memory. A
 * slow session process delays the others only briefly.
 */

import type { SessionProxies } from "../sessions/session-proxies.ts";
import type { SessionProxy } from "../sessions/session-proxy.ts";

/** Longest time for sessions to end before the server ends without them, in ms. */
const STOP_PATIENCE_MS = 10_000;
/** Maximum sessions that end at the same time, unless none of them has ended for the given time, in ms. */
const MAX_ENDING = 16;
const NEXT_END_MS = 10;

/** @returns the number of running sessions; a hanging session process is skipped after a while */
export async function stopSessions(proxies: SessionProxies): Promise<number> {
  await proxies.listCurrent();
  const all = proxies.known;
  const running = all.filter((proxy) => proxy.info.running).length;
  await Promise.race([endAll(all), Bun.sleep(STOP_PATIENCE_MS)]);
  return running;
}

async function endAll(proxies: readonly SessionProxy[]): Promise<void> {
  const pendingEnds = new Set<Promise<unknown>>();
  for (const proxy of proxies) {
    if (pendingEnds.size >= MAX_ENDING) await Promise.race([...pendingEnds, Bun.sleep(NEXT_END_MS)]);
    const end = proxy
      .end()
      .catch(() => {})
      .finally(() => pendingEnds.delete(end));
    pendingEnds.add(end);
  }
  await Promise.all(pendingEnds);
}
