/**
 * Parts of pictures in the form for a page: U+10EEEE followed by digits for the picture's id, the row and the column of
 * the part. A page has no use for the combining characters that number them for terminals, and their table is long.
 * Pure.
 */
import type { Cell } from "../../protocol/grid.ts";
import { inRows, PLACEHOLDER, withoutPicture } from "../../protocol/placeholder.ts";
import { numberOf } from "./diacritics.ts";

export const numberedPictures = inRows((cell: Cell): Cell => {
  const { fg } = cell.style;
  if (!cell.text.startsWith(PLACEHOLDER) || fg === null || !("rgb" in fg)) return withoutPicture(cell);
  const [row, col, highest] = [...cell.text.slice(PLACEHOLDER.length)].map(numberOf);
  const id = (highest ?? 0) * 0x100_0000 + fg.rgb.r * 0x1_0000 + fg.rgb.g * 0x100 + fg.rgb.b;
  return { ...withoutPicture(cell), text: `${PLACEHOLDER}${id},${row ?? 0},${col ?? 0}` };
});
