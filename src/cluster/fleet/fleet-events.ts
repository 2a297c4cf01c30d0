/**
 * Events of the sessions of a machine of the fleet. Its messages carry the sender's incarnation and a number: a
 * gap in the numbers is reported. The stream ends with that incarnation, with the machine, and with the
 * connection to the servers.
 */
import * as v from "valibot";
import { eventSubject } from "../../protocol/fleet-subjects.ts";
import type { LinkEvents } from "../link.ts";
import type { FleetConnection } from "./connection.ts";
import type { Members } from "./members.ts";

/** Interval between liveness checks of the machine, in ms: half of its heartbeat interval. */
const LIVENESS_CHECK_MS = 2_500;

const EventSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({
    boot: v.string(),
    seq: v.pipe(v.number(), v.safeInteger()),
    event: v.string(),
    params: v.record(v.string(), v.unknown()),
  }),
);

interface FleetEventSource {
  readonly connection: FleetConnection;
  readonly members: Members;
}

/** @param boot the current incarnation */
export function listenTo(
  { connection, members }: FleetEventSource,
  machine: string,
  boot: string,
  sink: LinkEvents,
): Disposable {
  let seq: number | null = null;
  const end = (): void => {
    clearInterval(timer);
    subscription[Symbol.dispose]();
  };
  const subscription = connection.listen(eventSubject(machine), ({ data }) => {
    const parsed = v.safeParse(EventSchema, new TextDecoder().decode(data));
    // From another incarnation, or invalid.
    if (!parsed.success || parsed.output.boot !== boot) return;
    const { seq: next, event, params } = parsed.output;
    if (seq !== null && next > seq + 1) sink.eventsMissed(next - seq - 1);
    seq = next;
    sink.event({ event, params });
  });
  const timer = setInterval(() => {
    const health = members.healthOf(machine);
    const isThere = connection.isUp && (health === "healthy" || health === "stale");
    if (isThere && members.beatOf(machine)?.boot === boot) return;
    end();
    sink.connectionLost();
  }, LIVENESS_CHECK_MS);
  return { [Symbol.dispose]: end };
}
