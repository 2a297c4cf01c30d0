/** Combining characters that number rows, columns and the highest byte of an id (kitty: rowcolumn-diacritics.txt). */

/** Ranges of code points, in base 36: distance from the end of the previous one, and length minus one. */
const RANGES =
  "lh 8+1 2 2 17+2 7 4+2 4+2 5 4 8+c 7o+4 7f+3 2+2 3+5 7+1 2+1 3 l 24+7 1s+4 2+1 3c+6 3+3 2 3+1 3+1 1w 2+1 2+1 4 3 " +
  "2+2 2 2 2 2+1 4h+6 2 z+3 2+8 2+2 2+4 84 2+1 17y+1 3+1 ra+2 vy 9p 65 2m+7 6n 2+6 9p+2 8+1 5 68+1 2+6 2+1 5+l o " +
  "k2+1 3+3 4+1 5 6 2 7 2db+2 6n+v nsg d+1 37+1 dr+h cf 2+1 4+1 6+1 2 ggv+6 2cp 15 13d9+4 x+3 45+2";

const DIACRITICS: readonly string[] = RANGES.split(" ").reduce<string[]>((all, range) => {
  const [distance = "", more = "0"] = range.split("+");
  const from = (all.at(-1)?.codePointAt(0) ?? 0) + Number.parseInt(distance, 36);
  for (let n = 0; n <= Number.parseInt(more, 36); n++) all.push(String.fromCodePoint(from + n));
  return all;
}, []);
const NUMBERS = new Map(DIACRITICS.map((character, number) => [character, number]));

/** Maximum rows and columns of a picture. */
export const MAX_CELLS = DIACRITICS.length;

export function diacritic(number: number): string {
  return DIACRITICS[number] ?? "";
}

/** Null for another character. */
export function numberOf(character: string): number | null {
  return NUMBERS.get(character) ?? null;
}
