/**
 * Fuzzy matching of typed text with names: its words match in any order, the letters of a word in their own
 * order. The same for the palette and lists of the terminal and of the page. Pure.
 */

/** Cost of a word in the middle of another: it ranks after the beginnings of words. */
const INSIDE = 3;
/** Cost of a match in the second text alone: it ranks after all others. */
const BEHIND = 1_000;

/**
 * The matching items, best first; items whose second text contains each word come last. Without a query: all,
 * in order.
 */
export function fuzzyRanked<T>(
  items: readonly T[],
  query: string,
  textOf: (item: T) => string,
  secondOf: (item: T) => string = () => "",
): T[] {
  const words = wordsOf(query);
  if (words.length === 0) return [...items];
  const costs = items.flatMap((item) => {
    const text = textOf(item);
    const cost = text === query ? -1 : (fuzzyCost(text, query) ?? (hasWords(secondOf(item), query) ? BEHIND : null));
    return cost === null ? [] : [{ item, cost }];
  });
  return costs.sort((a, b) => a.cost - b.cost).map(({ item }) => item);
}

/** How well a text matches: smaller is better; null: it does not match. */
export function fuzzyCost(text: string, query: string): number | null {
  let sum = 0;
  for (const word of wordsOf(query)) {
    const cost = wordCost(text.toLowerCase(), word);
    if (cost === null) return null;
    sum += cost;
  }
  return sum;
}

/** Whether each word of the query is a part of the text. */
export function hasWords(text: string, query: string): boolean {
  const lower = text.toLowerCase();
  return wordsOf(query).every((word) => lower.includes(word));
}

function wordsOf(query: string): string[] {
  return query.toLowerCase().split(/\s+/).filter(Boolean);
}

function wordCost(text: string, word: string): number | null {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) if (isStart(text, at)) return 0;
  let cost = 0;
  let end = 0;
  for (const letter of word) {
    const found = text.indexOf(letter, end);
    if (found < 0) return null;
    // Adjacent letters, and letters that begin a word, are the most likely matches.
    cost += found === end ? 0 : isStart(text, found) ? 1 : 2 + Math.min(8, found - end + 1);
    end = found + letter.length;
  }
  return text.includes(word) ? Math.min(cost, INSIDE) : cost;
}

function isStart(text: string, offset: number): boolean {
  return offset === 0 || /[^\p{L}\p{N}]/u.test(text[offset - 1] ?? "");
}
