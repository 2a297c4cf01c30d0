/**
 * What happens to the sessions of a machine of the fleet. Its messages have the boot that sent them and a number: one
 * that is missing is told. The stream ends with that boot, with the machine, and with the connection to the servers.
 */
import * as v from "valibot";
import { eventSubject } from "../../protocol/fleet-subjects.ts";
import type { LinkEvents } from "../link.ts";
import type { FleetConnection } from "./connection.ts";
import type { Members } from "./members.ts";

/** Interval between two looks whether the machine is there, in ms: half of the time between two of its beats. */
const LOOK_MS = 2_500;

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

interface Source {
  readonly connection: FleetConnection;
  readonly members: Members;
}

/** @param boot that is there now */
export function listenTo({ connection, members }: Source, machine: string, boot: string, sink: LinkEvents): Disposable {
  let seq: number | null = null;
  const end = (): void => {
    clearInterval(timer);
    subscription[Symbol.dispose]();
  };
  const subscription = connection.listen(eventSubject(machine), ({ data }) => {
    const said = v.safeParse(EventSchema, new TextDecoder().decode(data));
    // Another boot's, or nothing that a machine says.
    if (!said.success || said.output.boot !== boot) return;
    const { seq: next, event, params } = said.output;
    if (seq !== null && next > seq + 1) sink.missed(next - seq - 1);
    seq = next;
    sink.event({ event, params });
  });
  const timer = setInterval(() => {
    const health = members.healthOf(machine);
    const isThere = connection.isUp && (health === "healthy" || health === "stale");
    if (isThere && members.beatOf(machine)?.boot === boot) return;
    end();
    sink.closed();
  }, LOOK_MS);
  return { [Symbol.dispose]: end };
}
