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
  const facets = [actorFacet(record.by)];
  if (hasFailed(record)) facets.push(failedFacet);
  if (record.session !== null) facets.push(sessionFacet(record.session));
  if (record.cwd !== null) facets.push(directoryFacets(record.cwd));
  return facets.join(" ");
}

export function hasFailed({ exit_code, signal }: Pick<HistoryRecord, "exit_code" | "signal">): boolean {
  return signal !== null || (exit_code !== null && exit_code !== 0);
}

/** Directories whose facets are remembered: most commands run in a few. */
const MAX_KNOWN = 1_000;
const known = new Map<string, string>();

function directoryFacets(path: string): string {
  const before = known.get(path);
  if (before !== undefined) return before;
  const facets = pathAndParents(path).map(directoryFacet).join(" ");
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(path, facets);
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
