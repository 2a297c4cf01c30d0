/** Searches checkpoints for a text: in names, notes, directories, commands and saved lines. */
import type { OperationOutput } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import { paneId, sessionId } from "../../protocol/names.ts";
import { readFacts } from "../files/facts.ts";
import { readPane } from "../files/part-reader.ts";
import type { CrashedSession } from "../files/sessions.ts";
import { readLines } from "./view.ts";

type Match = NonNullable<OperationOutput<"checkpoint.list">["matches"]>[number];

/** Longest text to search for, in characters. */
const MAX_TEXT = 200;
/** Most matches reported per checkpoint. */
const MAX_MATCHES = 5;
/** Most lines of a pane that are searched, the newest. */
const MAX_LINES = 20_000;
/** Longest search, in ms; the rest is not searched. */
const SEARCH_MS = 5_000;
/** Characters of an excerpt, and those of them before the match. */
const EXCERPT_CHARS = 160;
const CHARS_BEFORE = 40;

/** A checkpoint to search; label null: the last state of a crashed session. */
interface SearchedCheckpoint {
  readonly stored: CrashedSession;
  readonly label: string | null;
}

/**
 * Searches the newest checkpoints first, ignoring case.
 * @returns matches by checkpoint; checkpoints without a match are absent
 * @throws WshError invalid_request
 */
export async function searchCheckpoints<T extends SearchedCheckpoint>(
  all: readonly T[],
  text: string,
): Promise<{ readonly found: Map<T, Match[]>; readonly incomplete: boolean }> {
  if (text.trim() === "" || text.length > MAX_TEXT) {
    throw new WshError("invalid_request", `a text to search for has 1 to ${MAX_TEXT} characters`);
  }
  const deadline = performance.now() + SEARCH_MS;
  const found = new Map<T, Match[]>();
  let incomplete = false;
  for (const each of all.toSorted((a, b) => b.stored.saved_at - a.stored.saved_at)) {
    // Lets other requests run in between.
    await new Promise(setImmediate);
    if (performance.now() > deadline) return { found, incomplete: true };
    const matches: Match[] = [];
    try {
      for (const match of findMatches(each, text.toLowerCase())) {
        if (matches.push(match) === MAX_MATCHES) break;
      }
    } catch {
      incomplete = true; // removed meanwhile
    }
    if (matches.length > 0) found.set(each, matches);
  }
  return { found, incomplete };
}

function* findMatches({ stored, label }: SearchedCheckpoint, text: string): Generator<Match> {
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
    const lines = new Set([foreground?.line ?? null, ...parseCommandLines(readPane(directory, pane).commands)]);
    for (const line of lines) yield* match("command", line, pane);
  }
  for (const { pane } of panes) {
    for (const line of readLines(stored, pane, MAX_LINES).reverse()) yield* match("line", line, pane);
  }
}

/** Command lines, newest first. */
function parseCommandLines(json: string): (string | null)[] {
  const records = JSON.parse(json) as { readonly command?: string | null }[];
  return records.map(({ command }) => command ?? null).reverse();
}

function excerpt(text: string, offset: number): string {
  const from = offset <= CHARS_BEFORE ? 0 : offset - CHARS_BEFORE;
  const part = text.slice(from, from + EXCERPT_CHARS).toWellFormed();
  const line = part.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  return `${from > 0 ? "…" : ""}${line}${from + EXCERPT_CHARS < text.length ? "…" : ""}`;
}
