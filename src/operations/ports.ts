/** Listeners on TCP ports. */
import { ListPortsSchema, PortsSchema } from "../protocol/ports.ts";
import { operation } from "./define.ts";

export const portOperations = [
  operation({
    name: "ports.list",
    scope: "server",
    access: "observe",
    forOneSession: true,
    summary: "The TCP ports on which programs of sessions listen, with session, pane, process and start",
    input: ListPortsSchema,
    output: PortsSchema,
    http: [{ method: "GET", path: "/ports" }],
    ws: ["list_ports"],
  }),
] as const;
