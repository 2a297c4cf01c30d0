/** The words of a command line before and after `--`. */

interface Words {
  readonly before: readonly string[];
  /** The words after it; null when there was no `--`. */
  readonly after: readonly string[] | null;
}

/** Commander drops the first `--`; the number of words after it on the command line shows its place. */
export function splitAtDashes(words: readonly string[], argv: readonly string[]): Words {
  const dashes = argv.indexOf("--");
  if (dashes === -1) return { before: words, after: null };
  const count = argv.length - dashes - 1;
  return { before: words.slice(0, words.length - count), after: words.slice(words.length - count) };
}
