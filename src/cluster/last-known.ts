/**
 * The sessions of each added machine at its last answer, in NAME.machines.last.json of the state directory: a
 * session stays listed when the connection to its machine is lost, or when the server here restarts. The process
 * that asked writes a complete new file and renames it into place; the newest answer wins. An unreadable file
 * counts as missing.
 */
import { join } from "node:path";
import * as v from "valibot";
import { readOwnJson } from "../instance/own-json.ts";
import { replaceOwnFile } from "../instance/owned-files.ts";
import { type Instance, prepareStateDir } from "../instance/paths.ts";
import { type SessionInfo, SessionInfoSchema } from "../protocol/session.ts";

/** Age after which an unchanged file is written again, in ms. */
const REWRITE_MS = 60_000;
/** Largest file that is read, in bytes: 256 machines of 256 sessions are below. */
const MAX_BYTES = 64 * 1024 * 1024;

const KnownSchema = v.object({ at: v.number(), sessions: v.array(SessionInfoSchema) });
type KnownList = v.InferOutput<typeof KnownSchema>;
const FileSchema = v.record(v.string(), v.unknown());

/** Sessions as that machine names them, and when it reported them (Unix time in ms). */
export interface LastKnown {
  readonly at: number;
  readonly sessions: readonly SessionInfo[];
}

function fileOf({ stateDir, fileName }: Instance): string {
  return join(stateDir, `${fileName}.machines.last.json`);
}

export function readLastKnown(instance: Instance, machine: string): LastKnown | null {
  return readAll(instance)[machine] ?? null;
}

/** Writes a machine's answer, if it differs. */
export function writeLastKnown(instance: Instance, machine: string, sessions: readonly SessionInfo[]): void {
  const all = readAll(instance);
  const before = all[machine];
  const now = Date.now();
  if (before !== undefined && now - before.at < REWRITE_MS && summaryOf(before.sessions) === summaryOf(sessions))
    return;
  all[machine] = { at: now, sessions: [...sessions] };
  write(instance, all);
}

/** A machine that was removed is no longer listed. */
export function deleteLastKnown(instance: Instance, machine: string): void {
  const { [machine]: gone, ...rest } = readAll(instance);
  if (gone !== undefined) write(instance, rest);
}

function write(instance: Instance, all: Record<string, KnownList>): void {
  try {
    prepareStateDir(instance);
    replaceOwnFile(fileOf(instance), `${JSON.stringify(all)}\n`);
  } catch {
    // Only the list of a machine that does not answer is less complete.
  }
}

function readAll(instance: Instance): Record<string, KnownList> {
  const stored = readOwnJson(fileOf(instance), FileSchema, MAX_BYTES) ?? {};
  // An invalid entry does not affect other machines.
  const entries = Object.entries(stored).flatMap(([name, value]): [string, KnownList][] => {
    const one = v.safeParse(KnownSchema, value);
    return one.success ? [[name, one.output]] : [];
  });
  return Object.fromEntries(entries);
}

/** The compared fields of a list of sessions, without ages. */
function summaryOf(sessions: readonly SessionInfo[]): string {
  return JSON.stringify(sessions.map(({ id, name, running, tags }) => [id, name, running, tags]));
}
