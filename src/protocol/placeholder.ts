/**
 * The character that a terminal with kitty's graphics protocol replaces with a part of a picture: its row and column
 * are combining characters after it, and the number of the picture is its colour. For everything but such a terminal it
 * is a blank. Pure. Source: kitty's graphics protocol, Unicode placeholders.
 */
import type { Cell, Row } from "./grid.ts";

export const PLACEHOLDER = "\u{10eeee}";

/** The cell, or a blank if it contains a part of a picture. */
export function withoutPicture(cell: Cell): Cell {
  if (!cell.text.startsWith(PLACEHOLDER)) return cell;
  return { text: " ", width: 1, style: { fg: null, bg: cell.style.bg, flags: 0, link: null } };
}

/** A row with blanks in place of pictures. */
export const withoutPictures = inRows(withoutPicture);

/**
 * Replaces pictures' cells in rows; returns the same object for a row without any, and the same result for the same
 * row.
 */
export function inRows(replaced: (cell: Cell) => Cell): (row: Row) => Row {
  const known = new WeakMap<Row, Row>();
  return (row) => {
    const before = known.get(row);
    if (before !== undefined) return before;
    const made = row.some(({ text }) => text.startsWith(PLACEHOLDER)) ? row.map(replaced) : row;
    known.set(row, made);
    return made;
  };
}
