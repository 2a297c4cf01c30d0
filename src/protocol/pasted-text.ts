/** Makes pasted text harmless: it cannot end a bracketed paste and contains no control characters. Pure. */

const BEGIN = "\x1b[200~";
const END = "\x1b[201~";

/**
 * The text without beginnings of escape sequences and other controls; line ends are carriage returns, like those of
 * Enter.
 */
export function cleanPaste(text: string): string {
  return text
    .replaceAll(END, "")
    .replaceAll(BEGIN, "")
    .replace(/\r\n?|\n/g, "\r")
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g, "");
}

export function pasteBytes(clean: string, bracketed: boolean): Uint8Array {
  return new TextEncoder().encode(bracketed ? BEGIN + clean + END : clean);
}
