/**
 * The words that the index holds. A word of a search is the beginning of words; where those are few, the index is asked
 * for each of them whole. It then goes through commands from the newest backwards and stops when enough are found; for a
 * beginning, it first collects every command that has such a word: a quarter of a million take 30 ms.
 */
import type { Database } from "bun:sqlite";

/** Most words that a beginning stands for: each takes some 50 µs, and many words are in few commands each. */
const MAX_TERMS = 100;
/** Sorts before every character of a word: what follows a word, without its commands being gone through. */
const LEAST = "\x01";
/** What the index makes of other characters than these, it knows alone. */
const ASCII = /^[\x20-\x7e]+$/;

export class Terms {
  private readonly next;

  constructor(db: Database) {
    db.run("CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms USING fts5vocab(main, words, instance)");
    this.next = db.query<{ term: string }, [string]>("SELECT term FROM temp.terms WHERE term >= ? LIMIT 1");
  }

  /**
   * @param word as the index splits it: words with marks between them are a phrase, of which the last may go on
   * @returns the phrases it stands for; null when there are too many, or it cannot be known here which they are
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
