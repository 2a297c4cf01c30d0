/** A click of the left button, encoded for programs that requested the mouse. Pure. */

/**
 * @param row @param col from 0 @param sgr the program requested mode 1006; without it, cells beyond 222 cannot be
 * encoded
 */
export function clickSequence(row: number, col: number, sgr: boolean): { data: string; encoding: "utf8" | "base64" } {
  if (sgr) {
    const at = `${col + 1};${row + 1}`;
    return { data: `\x1b[<0;${at}M\x1b[<0;${at}m`, encoding: "utf8" };
  }
  const cell = (button: number): number[] => [0x1b, 0x5b, 0x4d, 32 + button, 33 + col, 33 + row];
  const bytes = [...cell(0), ...cell(3)].map((code) => String.fromCharCode(code)).join("");
  return { data: btoa(bytes), encoding: "base64" };
}
