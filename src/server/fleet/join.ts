/**
 * Connects this server to its fleet, with its credentials: as a machine that others use, or as one that uses others.
 * Loaded only if there are credentials.
 */
import { identityOf } from "../../cluster/fleet/connection.ts";
import { readCredentials } from "../../cluster/fleet/creds-file.ts";
import { FleetHub } from "../../cluster/fleet/hub.ts";
import type { Machines } from "../../cluster/machines.ts";
import type { Instance } from "../../instance/paths.ts";
import type { Logger } from "../../log/log.ts";
import type { LifecycleEvent } from "../../protocol/events.ts";
import type { LinkEnd } from "../machines/link-end.ts";
import type { PlacementReport } from "../machines/placement-report.ts";
import type { SessionProxies } from "../sessions/session-proxies.ts";
import { FleetMachine } from "./machine.ts";

export interface JoinOptions {
  readonly instance: Instance;
  readonly logger: Logger;
  readonly hostname: string;
  /** New at each start of the server. */
  readonly boot: string;
  readonly proxies: SessionProxies;
  readonly machines: Machines;
  readonly standing: () => PlacementReport;
  readonly end: LinkEnd;
}

export interface FleetJoin {
  readonly isMachine: boolean;
  /** Why this server is not connected to its fleet; null: it is, or no server of the fleet was asked so far. */
  readonly problem: string | null;
  /** A session's info changed. @param isNews whether a session was added, removed or renamed */
  changed(isNews: boolean): void;
  happened(event: LifecycleEvent): void;
  close(): Promise<void>;
}

/** @param file path of the credentials @throws WshError invalid_credentials, unsafe_path */
export function joinFleet(
  file: string,
  { instance, logger, hostname, boot, proxies, machines, standing, end }: JoinOptions,
): FleetJoin {
  const credentials = readCredentials(file);
  const identity = identityOf(credentials);
  const log = (text: string, details: Readonly<Record<string, unknown>>): void => logger.info(text, details);
  if (identity.role !== "machine") {
    const hub = new FleetHub(identity, instance, log);
    machines.fleet = hub;
    return {
      isMachine: false,
      get problem() {
        return hub.problem;
      },
      changed() {},
      happened() {},
      close: () => hub.close(),
    };
  }
  const machine = new FleetMachine(identity, {
    boot,
    hostname,
    log,
    placementReport: standing,
    isSettled: () => proxies.known.every((proxy) => proxy.freshness === "known"),
    list: () => proxies.list(),
    called: (body, context, asked, asking) => end.called(body, context, asked, { isOwnAlone: true, asking }),
    callerWaits: (asking) => end.leases.renew(asking),
    refused: (operation, context, code) => end.refused(operation, context, code),
    cancel: (key) => end.cancel(key),
    stream: (target, context) => end.stream(target, context),
  });
  return {
    isMachine: true,
    get problem() {
      return machine.problem;
    },
    changed: (isNews) => machine.listChanged(isNews),
    happened: (event) => machine.publishEvent(event),
    close: () => machine.close(),
  };
}
