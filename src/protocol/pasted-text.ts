/** Makes pasted text harmless: it cannot end a bracketed paste and contains no control characters. Pure. */

/** The marks around a bracketed paste (xterm, `CSI ? 2004 h`). */
export const PASTE_BEGIN = "\x1b[200~";
export const PASTE_END = "\x1b[201~";

/**
 * The text without beginnings of escape sequences and other controls; line ends are carriage returns, like those of
 * Enter.
 */
export function cleanPaste(text: string): string {
  return text
    .replaceAll(PASTE_END, "")
    .replaceAll(PASTE_BEGIN, "")
    .replace(/\r\n?|\n/g, "\r")
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g, "");
}

export function pasteBytes(clean: string, bracketed: boolean): Uint8Array {
  return new TextEncoder().encode(bracketed ? PASTE_BEGIN + clean + PASTE_END : clean);
}

/** The text of a bracketed paste, without its marks. */
export function insidePaste(raw: Uint8Array): string {
  const text = new TextDecoder().decode(raw);
  const begin = text.startsWith(PASTE_BEGIN) ? PASTE_BEGIN.length : 0;
  return text.slice(begin, text.endsWith(PASTE_END) ? -PASTE_END.length : undefined);
}
