/**
 * Maps requests with an id to the sessions made for them (protocol/requests.ts), one file each in NAME.requests/ of the
 * state directory. The session process exclusively creates the file before it registers: of two processes started for
 * one request, one makes the session and the other exits, even if the servers that started them have died. Files are
 * removed REMEMBERED_MS after they were written, by the next request.
 */
import fs from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { errorCode } from "../base/errno.ts";
import { ensureOwnDir, removeIfPossible, removeOldFiles, replaceOwnFile } from "../instance/owned-files.ts";
import { type Instance, prepareStateDir } from "../instance/paths.ts";
import { isAlive } from "../platform/alive.ts";
import { WshError } from "../protocol/errors.ts";
import { REMEMBERED_MS, type RequestKey } from "../protocol/requests.ts";
import { type SessionInfo, SessionInfoSchema } from "../protocol/session.ts";

/** Interval between checks of a session that is being made, in ms. */
const LOOK_MS = 50;

const MadeSchema = v.object({
  digest: v.string(),
  /** Pid of the session process. */
  pid: v.number(),
  /** Set once the session is made. */
  info: v.optional(SessionInfoSchema),
});

export interface MadeRequest {
  made(info: SessionInfo): void;
  /** The session was not made after all, and nothing ran. */
  undone(): void;
}

/** The session process claims the request. @throws WshError request_conflict when another one has it */
export function takeRequest(instance: Instance, once: Pick<RequestKey, "key" | "digest">): MadeRequest {
  prepareStateDir(instance);
  ensureOwnDir(instance.requestsDir);
  removeOldFiles(instance.requestsDir, REMEMBERED_MS);
  const path = fileOf(instance, once.key);
  const taken = { digest: once.digest, pid: process.pid };
  const temporary = `${path}.${process.pid}.new`;
  fs.writeFileSync(temporary, JSON.stringify(taken), { mode: 0o600 });
  try {
    // A link is created completely or not at all.
    fs.linkSync(temporary, path);
  } catch (thrown) {
    if (errorCode(thrown) !== "EEXIST") throw thrown;
    throw new WshError("request_conflict", "another session was created for this request");
  } finally {
    removeIfPossible(temporary);
  }
  return {
    made: (info) => replaceOwnFile(path, JSON.stringify({ ...taken, info })),
    undone: () => fs.rmSync(path, { force: true }),
  };
}

/**
 * The session that was made for a request, in its state then; null: no session was made or is being made.
 * @throws WshError request_conflict for another request's id, outcome_unknown when its process died while making it
 */
export async function madeFor(instance: Instance, once: RequestKey, patienceMs: number): Promise<SessionInfo | null> {
  const until = performance.now() + patienceMs;
  for (;;) {
    const made = read(fileOf(instance, once.key));
    if (made === null) return null;
    if (made.digest !== once.digest) throw new WshError("request_conflict", "another request used the same id");
    if (made.info !== undefined) return made.info;
    if (!isAlive(made.pid) || performance.now() > until) {
      // The process may have ended between the two reads.
      const last = read(fileOf(instance, once.key));
      if (last?.info !== undefined) return last.info;
      throw new WshError("outcome_unknown", "the session's process died at its start");
    }
    await Bun.sleep(LOOK_MS);
  }
}

function fileOf({ requestsDir }: Instance, key: string): string {
  return join(requestsDir, key);
}

function read(path: string): v.InferOutput<typeof MadeSchema> | null {
  let text: string;
  try {
    text = fs.readFileSync(path, "utf8");
  } catch (thrown) {
    if (errorCode(thrown) === "ENOENT") return null;
    throw thrown;
  }
  return v.parse(v.pipe(v.string(), v.parseJson(), MadeSchema), text);
}
