/** What a starter tells a new host, as JSON on its stdin: which session to make, for whom, and where it belongs. */
import * as v from "valibot";
import { CreateSessionSchema } from "../../protocol/session.ts";

export const HostSpecSchema = v.object({
  /** Path of the instance's HTTP socket, which names runtime directory and instance. */
  socket: v.string(),
  create: v.omit(CreateSessionSchema, ["if_exists", "server"]),
  /** How a session without a name is named: by number, or `default` while that is free. */
  naming: v.picklist(["number", "default"]),
  /** The caller's environment and directory, for the child. */
  env: v.record(v.string(), v.string()),
  cwd: v.string(),
  /** The caller's soft limit of open descriptors, when it is known. */
  nofile: v.nullable(v.number()),
  /** The program waits with its output until its starter follows it, as long as that lives and comes soon. */
  followed: v.optional(v.boolean(), false),
  /** Who starts it; what a server does stands in the audit log already. */
  starter: v.optional(v.picklist(["server", "cli"]), "cli"),
  /** Replaces the setting, when the server was started with a limit of its own. */
  max_sessions: v.optional(v.number()),
});
export type HostSpec = v.InferOutput<typeof HostSpecSchema>;
