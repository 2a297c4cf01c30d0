/**
 * The words in the index. A word of a search is the beginning of words; if those are few, the index is queried for each
 * complete word. It then reads commands from the newest backwards and stops when enough are found; for a prefix, it
 * first collects every command with such a word: a quarter of a million take 30 ms.
 */
import type { Database } from "bun:sqlite";

/** Maximum words of a prefix: each takes some 50 µs, and many words are in few commands each. */
const MAX_TERMS = 100;
/** Sorts before every character of a word: finds the entry after a word without reading its commands. */
const LEAST = "\x01";
/** Only the index knows how it splits and folds other characters. */
const ASCII = /^[\x20-\x7e]+$/;

export class Terms {
  private readonly next;

  constructor(db: Database) {
    db.run("CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms USING fts5vocab(main, words, instance)");
    this.next = db.query<{ term: string }, [string]>("SELECT term FROM temp.terms WHERE term >= ? LIMIT 1");
  }

  /**
   * @param word as the index splits it: words joined by punctuation are a phrase, whose last word is a prefix
   * @returns the phrases that it matches; null when there are too many, or they cannot be determined here
   */
  beginningWith(word: string): string[] | null {
    if (!ASCII.test(word)) return null;
    const parts = word
      .toLowerCase()
      .split(/[^a-z0-9]+/)
      .filter((part) => part !== "");
    const last = parts.pop();
    if (last === undefined) return null;
    const before = parts.map((part) => `${part} `).join("");
    const phrases: string[] = [];
    for (let from = last; ; ) {
      const term = this.next.get(from)?.term;
      if (term === undefined || !term.startsWith(last)) return phrases;
      if (phrases.length === MAX_TERMS) return null;
      phrases.push(before + term);
      from = term + LEAST;
    }
  }
}
