/**
 * How the person's terminal measures the characters on which terminals differ. It is asked once, at the start, on the
 * empty screen: samples are written to one row, the cursor's position is requested after each, and the row is erased in
 * the same write, so that the samples never show. Pure.
 */

export interface OuterWidths {
  /** Characters of ambiguous width (UAX #11) take two cells. */
  readonly eastAsian: boolean;
  /** A skin tone shares the cells of its emoji; else it takes two cells. */
  readonly skinTones: boolean;
  /** Joined emoji (U+200D) are one. */
  readonly joined: boolean;
  /** A spacing mark, as of Devanagari or Thai, shares the cell of its base; else it takes one cell. */
  readonly spacingMarks: boolean;
}

/** For a terminal that was not probed, or has not answered. */
export const defaultWidths: OuterWidths = { eastAsian: false, skinTones: true, joined: true, spacingMarks: true };

const samples = [
  "\u03b1",
  "\u2500",
  "\ud83d\udc4d\ud83c\udffd",
  "\ud83d\udc69\u200d\ud83d\udc67",
  "\u0915\u093f",
] as const;
/** Not the first row: there the answer for the first columns looks like a function key. */
const SAMPLE_ROW = 2;

/** The bytes to write, for a terminal of at least two rows whose screen is empty. */
export function widthQuestions(): string {
  const questions = samples.map((sample) => `\x1b[${SAMPLE_ROW};1H${sample}\x1b[6n`).join("");
  return `${questions}\x1b[${SAMPLE_ROW};1H\x1b[2K\x1b[H`;
}

/** Column of a cursor position report in the samples' row; null when it is something else. */
export function parseReportedColumn(reply: string): number | null {
  const [, row, col] = /^\x1b\[(\d+);(\d+)R$/.exec(reply) ?? [];
  return Number(row) === SAMPLE_ROW ? Number(col) : null;
}

/** Result of the answers; null while some are missing. */
export function computeWidths(columns: readonly number[]): OuterWidths | null {
  if (columns.length < samples.length) return null;
  const [greek = 0, line = 0, tone = 0, family = 0, devanagari = 0] = columns.map((col) => col - 1);
  return { eastAsian: greek > 1 || line > 1, skinTones: tone <= 2, joined: family <= 2, spacingMarks: devanagari <= 1 };
}

/** The part of a character that fits the cells we give it: the rest would be overwritten, or overwrite others. */
export function fitToWidths(text: string, { skinTones, joined, spacingMarks }: OuterWidths): string {
  let shown = joined ? text : (text.split("\u200d")[0] ?? "");
  if (!skinTones) shown = shown.replace(/\p{Emoji_Modifier}/gu, "") || text;
  if (!spacingMarks) shown = shown.replace(/(?<=.)[\p{Mc}\u0e33\u0eb3]/gu, "");
  return shown;
}
