/** The frame around a floating pane: a line with its title above, and lines on the other sides. Pure. */
import type { Cell, Row } from "../protocol/grid.ts";
import type { Size } from "../protocol/size.ts";
import { formatBorderTitle, type PaneLabel } from "./border-titles.ts";
import { type Arms, lineGlyph } from "./borders.ts";
import { Canvas } from "./canvas.ts";
import { theme } from "./theme.ts";

/**
 * @param size with the frame
 * @returns for each row its cells; those beside the pane have two, the left one and the right one
 */
export function makeFloatFrame(
  { rows, cols }: Size,
  label: PaneLabel | undefined,
  active: boolean,
  ascii: boolean,
): readonly Row[] {
  const weight = active ? 2 : 1;
  const style = active ? theme.border_active : theme.border;
  const cell = (arms: Arms): Cell => ({ text: lineGlyph(arms, ascii), width: 1, style });
  const across = cell([0, weight, 0, weight]);
  const line = (left: Arms, right: Arms): Row => [
    cell(left),
    ...Array.from({ length: cols - 2 }, () => across),
    cell(right),
  ];
  const side = cell([weight, 0, weight, 0]);
  const beside: Row = [side, side];
  const top = drawTitle(line([0, weight, weight, 0], [0, 0, weight, weight]), label, ascii);
  const bottom = line([weight, weight, 0, 0], [weight, 0, 0, weight]);
  return [top, ...Array.from({ length: rows - 2 }, () => beside), bottom];
}

function drawTitle(line: Row, label: PaneLabel | undefined, ascii: boolean): Row {
  if (label === undefined) return line;
  const canvas = new Canvas(1, line.length);
  canvas.putRow(0, line);
  const within = { row: 0, col: 1, height: 1, width: line.length - 2 };
  canvas.text(0, 2, formatBorderTitle(label, line.length - 2, ascii), theme.title, within);
  return canvas.finish()[0] ?? line;
}
