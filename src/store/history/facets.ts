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

export function facetsOf(record: HistoryRecord): string {
  // Nearly every command is a person's: nobody looks for those by the index.
  const facets = record.by === "person" ? [] : [actorFacet(record.by)];
  if (hasFailed(record)) facets.push(failedFacet);
  const { session, cwd } = record;
  if (session !== null) facets.push(remembered(`s${session}`, () => sessionFacet(session)));
  if (cwd !== null) facets.push(remembered(`d${cwd}`, () => pathAndParents(cwd).map(directoryFacet).join(" ")));
  return facets.join(" ");
}

export function hasFailed({ exit_code, signal }: Pick<HistoryRecord, "exit_code" | "signal">): boolean {
  return signal !== null || (exit_code !== null && exit_code !== 0);
}

/** Directories and sessions whose facets are remembered: most commands run in a few. */
const MAX_KNOWN = 1_000;
const known = new Map<string, string>();

function remembered(key: string, make: () => string): string {
  const before = known.get(key);
  if (before !== undefined) return before;
  const facets = make();
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(key, facets);
  return facets;
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
