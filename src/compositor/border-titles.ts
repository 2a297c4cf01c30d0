/**
 * The text in the line above a pane: the pane's title, its state, and its writer. Pure.
 *
 * Invariant: a cell of the line stays free on either side, so that it still looks like a line; in a narrow line, the
 * title is shortened before the state.
 */
import { toAscii } from "./ascii.ts";
import { type Cluster, cellWidth, cleanText, clusters, cutToWidth } from "./graphemes.ts";

/** Contents of the line above a pane. */
export interface PaneLabel {
  readonly title: string;
  /** State and writer; the last part is omitted first. */
  readonly description: readonly string[];
}

/** Cells of the line on either side, and blanks between it and the text. */
const MARGIN_CELLS = 4;
/** Fewest cells of text that are worth a place. */
const MIN_TEXT_CELLS = 3;
const SEPARATOR = " · ";
/** UTF-16 units read of a title: more than any terminal is wide. */
const MAX_TITLE_UNITS = 4_096;

/** Empty if not even the least text fits. */
function cutOrDrop(text: readonly Cluster[], cells: number): readonly Cluster[] {
  return cells < MIN_TEXT_CELLS && cellWidth(text) > cells ? [] : cutToWidth(cells, text);
}

function oneLine(text: string): readonly Cluster[] {
  return clusters(cleanText(text.slice(0, MAX_TITLE_UNITS)).replace(/\s+/g, " ").trim());
}

/**
 * The text in a line over a pane of this width, with a blank on either side; empty when nothing fits. It begins one
 * cell from the left.
 */
export function formatBorderTitle({ title, description }: PaneLabel, cols: number, ascii: boolean): readonly Cluster[] {
  const available = cols - MARGIN_CELLS;
  if (available < MIN_TEXT_CELLS) return [];
  const separator = clusters(SEPARATOR);
  const parts = description.filter((each) => each !== "").map(oneLine);
  const joinParts = (count: number): Cluster[] =>
    parts.slice(0, count).flatMap((each, index) => (index === 0 ? [...each] : [...separator, ...each]));
  let count = parts.length;
  while (count > 1 && cellWidth(joinParts(count)) > available) count--;
  const stateText = cutOrDrop(joinParts(count), available);
  const between = stateText.length === 0 ? [] : separator;
  const name = cutOrDrop(oneLine(title), available - cellWidth(stateText) - cellWidth(between));
  const text =
    name.length === 0 || stateText.length === 0 ? [...name, ...stateText] : [...name, ...between, ...stateText];
  if (text.length === 0) return [];
  const blank: Cluster = { text: " ", width: 1 };
  const convertSigns = (cluster: Cluster): Cluster => (ascii ? { ...cluster, text: toAscii(cluster.text) } : cluster);
  return [blank, ...text.map(convertSigns), blank];
}
