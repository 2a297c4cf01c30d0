/**
 * Ends every session of the instance, for `wsh stop`. A session that ends takes its process a few milliseconds of a
 * processor, so they are asked a few at a time: a crowd that ends at once waits for the registry's lock and for memory.
 * One that takes its time holds up the others for a moment only.
 */
import type { Host } from "../hosts/session-host.ts";
import type { Hosts } from "../hosts/session-hosts.ts";

/** How long sessions may take to end before the server ends without them, in ms. */
const STOP_PATIENCE_MS = 10_000;
/** Sessions that end at one time, and how long the next one waits for a place, in ms. */
const AT_ONCE = 16;
const PLACE_MS = 10;

/** @returns how many sessions ran; one whose host hangs is left behind after a while */
export async function stopSessions(hosts: Hosts): Promise<number> {
  const all = hosts.known;
  const running = all.filter((host) => host.info.running).length;
  await Promise.race([endAll(all), Bun.sleep(STOP_PATIENCE_MS)]);
  return running;
}

async function endAll(hosts: readonly Host[]): Promise<void> {
  const ends = new Set<Promise<unknown>>();
  for (const host of hosts) {
    if (ends.size >= AT_ONCE) await Promise.race([...ends, Bun.sleep(PLACE_MS)]);
    const end = host
      .end()
      .catch(() => {})
      .finally(() => ends.delete(end));
    ends.add(end);
  }
  await Promise.all(ends);
}
