/**
 * NAME.json: the server's public description for processes that find it by its files. Written by the server
 * only, completely and renamed into place, so that a reader never sees half of it. It remains when the server
 * ends, with empty pid and addresses, since `persist` is a lasting choice of the person. An invalid file
 * counts as missing: the server writes a new one.
 *
 * The file is in the state directory, and the runtime directory has a link to it: cleaners of /tmp take no links, and
 * the description is found with the server's sockets from any state directory. The file's name contains the runtime
 * directory and the machine, so that several of either do not mix.
 */

import fs from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { errorCode } from "../base/errno.ts";
import { pointTo, replaceOwnFile } from "../instance/owned-files.ts";
import { type Instance, inKeptDir, keptDirs } from "../instance/paths.ts";
import { placeDigest } from "../instance/place-digest.ts";
import { refused } from "../instance/system-refusal.ts";
import { isAlive } from "../platform/alive.ts";
import { namesIn } from "../platform/readable.ts";
import { jsonOrNull } from "../protocol/json.ts";

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
  /** Its address for others, behind a proxy; absent: unknown. */
  public_url: v.optional(v.string()),
  /** Whether the server stays when its last session has ended. */
  persist: v.boolean(),
  /** Its audit log, to which session processes write too. Null: it has none. */
  audit_file: v.optional(v.nullable(v.string()), null),
});

/** Identifies the file's place, to decide whether another place's file is still useful. */
const placeSchema = v.object({
  runtime_dir: v.string(),
  pid: serverInfoSchema.entries.pid,
  persist: serverInfoSchema.entries.persist,
});

export type ServerInfo = v.InferOutput<typeof serverInfoSchema>;

/** The running server's description, null when missing or invalid. Its server may have died. */
export function readServerInfo(instance: Instance): ServerInfo | null {
  return read(instance.infoFile);
}

/** Like readServerInfo; if the link is lost (after a reboot), the last description of this place. */
export function readLastServerInfo(instance: Instance): ServerInfo | null {
  return readServerInfo(instance) ?? read(join(keptDirs(instance, "servers")[0], nameHere(instance)));
}

function read(path: string): ServerInfo | null {
  return readAs(serverInfoSchema, path);
}

function readAs<T>(schema: v.GenericSchema<unknown, T>, path: string): T | null {
  let text: string;
  try {
    text = fs.readFileSync(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return null;
    throw error;
  }
  const parsed = v.safeParse(schema, jsonOrNull(text));
  return parsed.success ? parsed.output : null;
}

/** Replaces the file. The runtime directory must exist. @throws WshError runtime_dir_unusable; the old one is kept */
export function writeServerInfo(instance: Instance, info: ServerInfo): void {
  try {
    inKeptDir(instance, "servers", (directory) => {
      const path = join(directory, nameHere(instance));
      replaceOwnFile(path, `${JSON.stringify({ ...info, runtime_dir: instance.runtimeDir })}\n`);
      pointTo(instance.infoFile, path);
    });
  } catch (error) {
    throw refused(`${instance.infoFile} cannot be written`, error);
  }
}

/**
 * Removes descriptions by servers of this machine whose runtime directory is gone. Files with a choice of `persist` are
 * kept: an account's directory may be recreated at each login.
 */
export function sweepServerInfos(instance: Instance): void {
  const [directory] = keptDirs(instance, "servers");
  for (const name of namesIn(directory)) {
    const path = join(directory, name);
    const place = readAs(placeSchema, path);
    if (place === null || place.persist || fs.existsSync(place.runtime_dir)) continue;
    const fileName = name.split(".").slice(0, -2).join(".");
    const isHere = name === nameHere({ fileName, runtimeDir: place.runtime_dir });
    if (isHere && (place.pid === null || !isAlive(place.pid))) fs.rmSync(path, { force: true });
  }
}

function nameHere({ fileName, runtimeDir }: Pick<Instance, "fileName" | "runtimeDir">): string {
  return `${fileName}.${placeDigest(runtimeDir)}.json`;
}
