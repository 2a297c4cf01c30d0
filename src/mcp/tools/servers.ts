/** Tools on other machines, with names that agents know from elsewhere. Served if machines are known, or on request. */
import * as v from "valibot";
import { described, optional } from "../../protocol/fields.ts";
import { done, tool } from "./tool.ts";

const readAnnotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true };
const HostnameField = described(v.string(), "from wsh_list_servers");

export const listServers = tool({
  name: "wsh_list_servers",
  title: "List machines",
  description: "This machine and the others, with health and number of sessions.",
  core: false,
  access: "observe",
  annotations: readAnnotations,
  parameters: v.object({}),
  output: v.array(v.looseObject({})),
  run: async (_, ask) => ask("servers.list", {}),
});

export const serverStatus = tool({
  name: "wsh_server_status",
  title: "A machine's state",
  description: "Health and version of one, asked now, or why it does not answer.",
  core: false,
  access: "observe",
  annotations: readAnnotations,
  parameters: v.object({ hostname: HostnameField }),
  output: v.looseObject({}),
  run: async ({ hostname }, ask) => ask("servers.get", { hostname }),
});

export const addServer = tool({
  name: "wsh_add_server",
  title: "Add a machine",
  description: "Its sessions are then name/session in every tool. Add only machines that the person named.",
  core: false,
  access: "admin",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  parameters: v.object({
    address: described(v.string(), "ssh://[user@]host or https://host"),
    token: optional(v.string(), "for https"),
    name: optional(v.string(), "default: the host's"),
  }),
  output: v.looseObject({}),
  run: async (machine, ask) => ask("servers.add", machine),
});

export const removeServer = tool({
  name: "wsh_remove_server",
  title: "Forget a machine",
  description: "Its programs keep running.",
  core: false,
  access: "admin",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  parameters: v.object({ hostname: HostnameField }),
  output: v.object({ success: v.boolean() }),
  run: async ({ hostname }, ask) => {
    await ask("servers.remove", { hostname });
    return { ...done, status: "removed", hostname };
  },
});
