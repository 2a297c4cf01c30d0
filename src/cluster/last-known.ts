/**
 * The sessions that each added machine had when it answered last, in NAME.machines.last.json of the state directory: a
 * session does not vanish from a list because the way to its machine did, nor because the server here was started anew.
 * Whoever asked writes it, whole and renamed into place; the newest answer wins. A file that cannot be read is as good
 * as none.
 */
import fs from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { checkOwnFile, replaceOwnFile } from "../instance/owned-files.ts";
import { type Instance, prepareStateDir } from "../instance/paths.ts";
import { type SessionInfo, SessionInfoSchema } from "../protocol/session.ts";

/** Age of what is written after which it is written again though nothing changed, in ms. */
const REWRITE_MS = 60_000;
/** Largest file that is read, in bytes: 256 machines of 256 sessions are below. */
const MAX_BYTES = 64 * 1024 * 1024;

const KnownSchema = v.object({ at: v.number(), sessions: v.array(SessionInfoSchema) });
type Known = v.InferOutput<typeof KnownSchema>;
const FileSchema = v.record(v.string(), v.unknown());

/** Sessions as that machine names them, and when it said so (Unix time in ms). */
export interface LastKnown {
  readonly at: number;
  readonly sessions: readonly SessionInfo[];
}

function fileOf({ stateDir, fileName }: Instance): string {
  return join(stateDir, `${fileName}.machines.last.json`);
}

export function lastKnown(instance: Instance, machine: string): LastKnown | null {
  return readAll(instance)[machine] ?? null;
}

/** Writes what a machine has just said, where that is news. */
export function keepKnown(instance: Instance, machine: string, sessions: readonly SessionInfo[]): void {
  const all = readAll(instance);
  const before = all[machine];
  const now = Date.now();
  if (before !== undefined && now - before.at < REWRITE_MS && gist(before.sessions) === gist(sessions)) return;
  all[machine] = { at: now, sessions: [...sessions] };
  write(instance, all);
}

/** A machine that was removed is not listed. */
export function forgetKnown(instance: Instance, machine: string): void {
  const { [machine]: gone, ...rest } = readAll(instance);
  if (gone !== undefined) write(instance, rest);
}

function write(instance: Instance, all: Record<string, Known>): void {
  try {
    prepareStateDir(instance);
    replaceOwnFile(fileOf(instance), `${JSON.stringify(all)}\n`);
  } catch {
    // Only the list of a machine that does not answer is poorer.
  }
}

function readAll(instance: Instance): Record<string, Known> {
  try {
    const path = fileOf(instance);
    if (!checkOwnFile(path) || fs.statSync(path).size > MAX_BYTES) return {};
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), FileSchema), fs.readFileSync(path, "utf8"));
    // What cannot be of one machine costs the others nothing.
    const known = Object.entries(parsed.success ? parsed.output : {}).flatMap(([name, value]): [string, Known][] => {
      const one = v.safeParse(KnownSchema, value);
      return one.success ? [[name, one.output]] : [];
    });
    return Object.fromEntries(known);
  } catch {
    return {}; // not ours to read, or gone meanwhile
  }
}

/** What a list of sessions is told apart by: not their ages. */
function gist(sessions: readonly SessionInfo[]): string {
  return JSON.stringify(sessions.map(({ id, name, running, tags }) => [id, name, running, tags]));
}
