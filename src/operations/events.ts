/** Reads the events recorded by the instance (docs/protocol.md, Recorded events). */
import { EventsPageSchema, ReadEventsSchema } from "../protocol/recorded-events.ts";
import { operation } from "./define.ts";

export const eventOperations = [
  operation({
    name: "events.read",
    scope: "server",
    access: "observe",
    machineIn: "server",
    lasts: "program",
    forOneSession: true,
    summary: "Events of the sessions since a cursor: none is lost or repeated when the server dies",
    input: ReadEventsSchema,
    output: EventsPageSchema,
    errors: ["session_not_found", "server_not_found", "machine_unreachable"],
    http: [{ method: "GET", path: "/events" }],
    ws: ["read_events"],
  }),
] as const;
