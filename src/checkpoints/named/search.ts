/** Searches checkpoints for a text: in names, notes, directories, commands and saved lines. */
import type { OperationOutput } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import { paneId, sessionId } from "../../protocol/names.ts";
import { readFacts } from "../files/facts.ts";
import { readPane } from "../files/part-reader.ts";
import type { CrashedSession } from "../files/sessions.ts";
import { linesOf } from "./view.ts";

type Match = NonNullable<OperationOutput<"checkpoint.list">["matches"]>[number];

/** Longest text to search for, in characters. */
const MAX_TEXT = 200;
/** Most matches reported per checkpoint. */
const MOST_MATCHES = 5;
/** Most lines of a pane that are searched, the newest. */
const MOST_LINES = 20_000;
/** Longest search, in ms; the rest is not searched. */
const SEARCH_MS = 5_000;
/** Characters of an excerpt, and those of them before the match. */
const EXCERPT = 160;
const BEFORE = 40;

/** A checkpoint to search; label null: the last state of a crashed session. */
interface Searched {
  readonly stored: CrashedSession;
  readonly label: string | null;
}

/**
 * Searches the newest checkpoints first, ignoring case.
 * @returns matches by checkpoint; checkpoints without a match are absent
 * @throws WshError invalid_request
 */
export async function searchAll<T extends Searched>(
  all: readonly T[],
  text: string,
  ms = SEARCH_MS,
): Promise<{ readonly found: Map<T, Match[]>; readonly incomplete: boolean }> {
  if (text.trim() === "" || text.length > MAX_TEXT) {
    throw new WshError("invalid_request", `a text to search for has 1 to ${MAX_TEXT} characters`);
  }
  const end = performance.now() + ms;
  const matchesOf = new Map<T, Match[]>();
  let incomplete = false;
  for (const each of all.toSorted((a, b) => b.stored.saved_at - a.stored.saved_at)) {
    // Lets other requests run in between.
    await new Promise(setImmediate);
    if (performance.now() > end) return { found: matchesOf, incomplete: true };
    const matches: Match[] = [];
    try {
      for (const match of matchesIn(each, text.toLowerCase())) {
        if (matches.push(match) === MOST_MATCHES) break;
      }
    } catch {
      incomplete = true; // removed meanwhile
    }
    if (matches.length > 0) matchesOf.set(each, matches);
  }
  return { found: matchesOf, incomplete };
}

function* matchesIn({ stored, label }: Searched, text: string): Generator<Match> {
  const { session, number, directory, panes } = stored;
  const match = function* (where: Match["in"], value: string | null, pane: number | null = null): Generator<Match> {
    const index = value?.toLowerCase().indexOf(text) ?? -1;
    if (value === null || index < 0) return;
    const pane_id = pane === null ? null : paneId(pane);
    yield { session: session.name, id: sessionId(number), label, pane_id, in: where, excerpt: excerpt(value, index) };
  };
  const { note, git } = readFacts(directory);
  yield* match("name", session.name);
  yield* match("label", label);
  yield* match("note", note);
  for (const { pane, cwd } of panes) {
    const branch = git[pane]?.branch ?? null;
    yield* match("directory", branch === null ? cwd : `${cwd} (${branch})`, pane);
  }
  for (const { pane, foreground } of panes) {
    const lines = new Set([foreground?.line ?? null, ...commandsIn(readPane(directory, pane).commands)]);
    for (const line of lines) yield* match("command", line, pane);
  }
  for (const { pane } of panes) {
    for (const line of linesOf(stored, pane, MOST_LINES).reverse()) yield* match("line", line, pane);
  }
}

/** Command lines, newest first. */
function commandsIn(json: string): (string | null)[] {
  const records = JSON.parse(json) as { readonly command?: string | null }[];
  return records.map(({ command }) => command ?? null).reverse();
}

function excerpt(text: string, offset: number): string {
  const from = offset <= BEFORE ? 0 : offset - BEFORE;
  const part = text.slice(from, from + EXCERPT).toWellFormed();
  const line = part.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  return `${from > 0 ? "…" : ""}${line}${from + EXCERPT < text.length ? "…" : ""}`;
}
