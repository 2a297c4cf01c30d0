/**
 * Characters whose width all terminals agree on. Any other may be drawn wider or narrower than counted here, so code
 * that writes one sets the cursor absolutely afterwards. Pure.
 */

import { PLACEHOLDER } from "./placeholder.ts";

/**
 * Latin, Greek, Cyrillic, Armenian, box drawing and blocks are one cell; kana, CJK ideographs, Hangul syllables and
 * full-width forms are two.
 */
const agreed =
  /^[\x20-\x7e\xa1-\xac\xae-\u02ff\u0370-\u0482\u048a-\u0556\u2010-\u2012\u2018-\u201d\u2022\u2026\u2190-\u2193\u2500-\u259f\u3001-\u3003\u3005-\u3029\u3041-\u3096\u309b-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60]$/u;
/** Without characters that East Asian terminal settings draw in two cells: all narrow characters above ASCII. */
const agreedEastAsian =
  /^[\x20-\x7e\u3001-\u3003\u3005-\u3029\u3041-\u3096\u309b-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60]$/u;

/** @param eastAsian whether the terminal draws characters of ambiguous width (UAX #11) in two cells */
export function hasAgreedWidth(text: string, eastAsian = false): boolean {
  return text === "" || (eastAsian ? agreedEastAsian : agreed).test(text) || text.startsWith(PLACEHOLDER);
}
