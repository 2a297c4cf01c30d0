/** Words as shell text: a single word already is shell text; each of several words is one argument. */

export function shellText(words: readonly string[]): string {
  const [only] = words;
  return words.length === 1 && only !== undefined ? only : words.map(quote).join(" ");
}

/**
 * Quotes one argument for any shell: inside single quotes POSIX shells take a backslash literally and fish does not, so
 * backslashes and quotes are escaped outside of them, which all shells read alike. Only words that no shell expands
 * stay unquoted (zsh expands `=ls`, fish `%self`).
 */
export function quote(word: string): string {
  if (/^[A-Za-z0-9_@+:,./-][A-Za-z0-9_@%+=:,./-]*$/.test(word)) return word;
  return `'${word.replace(/['\\]/g, (character) => `'\\${character}'`)}'`;
}
