/** Fuzzy matching of typed text with names. Pure. */

/** Points for a letter that begins a word, and for one that directly follows the letter before. */
const WORD = 8;
const NEXT = 5;
const SKIPPED = 0.2;

/** The score of a text: letters in their order, words in any order; null when it does not match. Higher is better. */
export function score(query: string, text: string): number | null {
  let sum = 0;
  for (const word of query.toLowerCase().split(/\s+/)) {
    if (word === "") continue;
    const own = scoreWord(word, text.toLowerCase());
    if (own === null) return null;
    sum += own;
  }
  return sum - text.length * 0.01;
}

function scoreWord(word: string, text: string): number | null {
  const whole = text.indexOf(word);
  if (whole >= 0) return word.length * NEXT + (isStart(text, whole) ? WORD : 0);
  let sum = 0;
  let at = -1;
  for (const letter of word) {
    const found = text.indexOf(letter, at + 1);
    if (found < 0) return null;
    sum += (found === at + 1 ? NEXT : 1) + (isStart(text, found) ? WORD : 0) - (found - at - 1) * SKIPPED;
    at = found;
  }
  return sum;
}

function isStart(text: string, offset: number): boolean {
  return offset === 0 || /[\s:._/-]/.test(text[offset - 1] ?? " ");
}
