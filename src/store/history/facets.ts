/**
 * What the full-text index holds of a command besides its words, as tokens of their own: the directory and those above
 * it, the session, how it ended and who ran it. A rare directory among many commands is so found as quickly as a rare word.
 * Pure.
 */
import type { HistoryRecord } from "./record.ts";

/** Deepest directory whose parents are all indexed: deeper ones are found from this depth up. */
const MAX_DEPTH = 32;

export function directoryFacet(path: string): string {
  return `d${digest(path)}`;
}

export function sessionFacet(name: string): string {
  return `s${digest(name)}`;
}

export const failedFacet = "xfailed";

export function actorFacet(by: HistoryRecord["by"]): string {
  return `b${by}`;
}

/** Runs for each command that is taken in: most run in a few directories and sessions, whose facets are remembered. */
export function facetsOf(record: HistoryRecord): string {
  const { session, cwd, by } = record;
  let facets = session === null ? "" : (sessions.get(session) ?? remember(sessions, session, sessionFacet(session)));
  if (cwd !== null) facets += ` ${directories.get(cwd) ?? remember(directories, cwd, directoryFacets(cwd))}`;
  // Nearly every command is a person's: nobody looks for those by the index.
  if (by !== "person") facets += ` ${actorFacet(by)}`;
  return hasFailed(record) ? `${facets} ${failedFacet}` : facets;
}

export function hasFailed({ exit_code, signal }: Pick<HistoryRecord, "exit_code" | "signal">): boolean {
  return signal !== null || (exit_code !== null && exit_code !== 0);
}

/** Most directories, and most sessions, whose facets are remembered. */
const MAX_KNOWN = 1_000;
const directories = new Map<string, string>();
const sessions = new Map<string, string>();

function remember(known: Map<string, string>, name: string, facets: string): string {
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(name, facets);
  return facets;
}

function directoryFacets(path: string): string {
  return pathAndParents(path).map(directoryFacet).join(" ");
}

/** `/a/b` and `/a`; not the root, in which everything is. */
function pathAndParents(path: string): string[] {
  const parts = path.split("/").filter((part) => part !== "");
  return parts.slice(0, MAX_DEPTH).map((_, at) => `/${parts.slice(0, at + 1).join("/")}`);
}

/** Letters and digits alone, so that no tokenizer takes it apart. */
function digest(text: string): string {
  return Bun.hash(text).toString(36);
}
