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
  readonly reportPlacement: () => PlacementReport;
  readonly end: LinkEnd;
}

export interface FleetJoin {
  readonly isMachine: boolean;
  /** Why this server is not connected to its fleet; null: it is, or no server of the fleet was asked so far. */
  readonly problem: string | null;
  /** A session's info changed. @param isNews whether a session was added, removed or renamed */
  changed(isNews: boolean): void;
  publishEvent(event: LifecycleEvent): void;
  close(): Promise<void>;
}

/** @param file path of the credentials @throws WshError invalid_credentials, unsafe_path */
export function joinFleet(
  file: string,
  { instance, logger, hostname, boot, proxies, machines, reportPlacement, end }: JoinOptions,
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
      publishEvent() {},
      close: () => hub.close(),
    };
  }
  const machine = new FleetMachine(identity, {
    boot,
    hostname,
    log,
    placementReport: reportPlacement,
    isSettled: () => proxies.known.every((proxy) => proxy.freshness === "known"),
    list: () => proxies.list(),
    handleCall: (body, context, asked, asking) => end.handleCall(body, context, asked, { isOwnAlone: true, asking }),
    callerWaits: (asking) => end.leases.renew(asking),
    recordRefusal: (operation, context, code) => end.recordRefusal(operation, context, code),
    cancel: (key) => end.cancel(key),
    openStream: (target, process, context) => end.openStream(target, process, context),
  });
  return {
    isMachine: true,
    get problem() {
      return machine.problem;
    },
    changed: (isNews) => machine.listChanged(isNews),
    publishEvent: (event) => machine.publishEvent(event),
    close: () => machine.close(),
  };
}
