/** Which process has what belongs to a session as a whole. */
import type { Host } from "./session-host.ts";
import type { Hosts } from "./session-hosts.ts";

/** The pane's own process, unless there are several. */
export function wholeOf({ all }: Hosts, host: Host): Host {
  return (host.isMember ? all.find(({ info }) => info.id === host.info.id) : undefined) ?? host;
}
