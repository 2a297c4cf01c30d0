/** Fuzzy matching: the typed letters occur in the text in this order. Pure. */

/** How well a text matches: smaller is better; null: it does not match. */
export function fuzzyCost(text: string, query: string): number | null {
  const lower = text.toLowerCase();
  let cost = 0;
  let at = -1;
  for (const letter of query.toLowerCase().replace(/\s+/g, "")) {
    const next = lower.indexOf(letter, at + 1);
    if (next < 0) return null;
    // Adjacent letters, and letters that begin a word, are the most likely matches.
    const isStart = next === 0 || /[^\p{L}\p{N}]/u.test(lower[next - 1] ?? "");
    cost += next === at + 1 ? 0 : isStart ? 1 : 2 + Math.min(8, next - at);
    at = next;
  }
  return cost;
}

/** The matching items, best first; without a query all, in their order. */
export function fuzzyFilter<T>(items: readonly T[], query: string, textOf: (item: T) => string): T[] {
  if (query.trim() === "") return [...items];
  const scored = items.flatMap((item, index) => {
    const cost = fuzzyCost(textOf(item), query);
    return cost === null ? [] : [{ item, cost, index }];
  });
  return scored.sort((a, b) => a.cost - b.cost || a.index - b.index).map(({ item }) => item);
}
