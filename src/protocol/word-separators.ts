/**
 * The setting word_separators in its process: characters that separate words in selections. A session and a page each
 * serve one person, so there is one value.
 */
let separators: ReadonlySet<string> | null = null;

/** @param characters value of the setting; empty: the usual characters */
export function useWordSeparators(characters: string): void {
  separators = characters === "" ? null : new Set([...characters, " ", "\t"]);
}

/** Whether a character separates words according to the setting; null: it is not set. */
export function isSeparator(character: string): boolean | null {
  return separators === null ? null : separators.has(character);
}
