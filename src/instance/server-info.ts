/**
 * NAME.json: what an instance's server publishes about itself for those who find it by its files. Written by the server
 * only, whole and renamed into place, so that a reader never sees half of it. It stays when the server ends: `persist`
 * is a lasting choice of the person; pid and addresses are then empty. A file that cannot be understood is as good as
 * none: the server writes a new one.
 */

import fs from "node:fs";
import * as v from "valibot";
import { errorCode } from "../base/errno.ts";
import type { Instance } from "./paths.ts";
import { refused } from "./refused.ts";

const serverInfoSchema = v.object({
  /** The running server's process; null after it has ended in order. */
  pid: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1))),
  version: v.string(),
  /** uuid v4, new at each start. */
  server_id: v.string(),
  /** Milliseconds since 1970. */
  started_at: v.number(),
  /** Base URLs that the server listens on over TCP; empty for Unix sockets only. */
  addresses: v.array(v.string()),
  /** Path before every route, "" for none. */
  base_prefix: v.optional(v.string(), ""),
  /** Whether the server stays when its last session has ended. */
  persist: v.boolean(),
  /** Where it records who does what; sessions' processes write there too. Null: nowhere. */
  audit_file: v.optional(v.nullable(v.string()), null),
});

export type ServerInfo = v.InferOutput<typeof serverInfoSchema>;

/** What the file says, null when there is none that can be understood. It may tell of a server that has died. */
export function readServerInfo(instance: Instance): ServerInfo | null {
  let text: string;
  try {
    text = fs.readFileSync(instance.infoFile, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
  try {
    const parsed = v.safeParse(serverInfoSchema, JSON.parse(text));
    return parsed.success ? parsed.output : null;
  } catch {
    return null; // not JSON
  }
}

/** Replaces the file. The runtime directory must exist. @throws WshError runtime_dir_unusable; the old one stays */
export function writeServerInfo(instance: Instance, info: ServerInfo): void {
  const temporary = `${instance.infoFile}.${process.pid}.new`;
  try {
    fs.writeFileSync(temporary, `${JSON.stringify(info)}\n`, { mode: 0o600, flag: "wx" });
    fs.renameSync(temporary, instance.infoFile);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw refused(`${instance.infoFile} cannot be written`, error);
  }
}
