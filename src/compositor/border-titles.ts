/**
 * The text in the line above a pane: the pane's title, its state, and its writer. Pure.
 *
 * Invariant: a cell of the line stays free on either side, so that it still looks like a line; in a narrow line, the
 * title is shortened before the state.
 */
import { inAscii } from "./ascii.ts";
import { type Cluster, cleanText, clusters, cutTo, widthOf } from "./graphemes.ts";

/** Contents of the line above a pane. */
export interface PaneLabel {
  readonly title: string;
  /** State and writer; the last part is omitted first. */
  readonly description: readonly string[];
}

/** Cells of the line on either side, and blanks between it and the text. */
const BESIDE = 4;
/** Fewest cells of text that are worth a place. */
const LEAST = 3;
const SEPARATOR = " · ";
/** UTF-16 units read of a title: more than any terminal is wide. */
const LONGEST = 4_096;

/** Empty if not even the least text fits. */
function cut(text: readonly Cluster[], cells: number): readonly Cluster[] {
  return cells < LEAST && widthOf(text) > cells ? [] : cutTo(cells, text);
}

function oneLine(text: string): readonly Cluster[] {
  return clusters(cleanText(text.slice(0, LONGEST)).replace(/\s+/g, " ").trim());
}

/**
 * The text in a line over a pane of this width, with a blank on either side; empty when nothing fits. It begins one
 * cell from the left.
 */
export function borderTitle({ title, description }: PaneLabel, cols: number, ascii: boolean): readonly Cluster[] {
  const room = cols - BESIDE;
  if (room < LEAST) return [];
  const separator = clusters(SEPARATOR);
  const news = description.filter((each) => each !== "").map(oneLine);
  const joined = (count: number): Cluster[] =>
    news.slice(0, count).flatMap((each, index) => (index === 0 ? [...each] : [...separator, ...each]));
  let count = news.length;
  while (count > 1 && widthOf(joined(count)) > room) count--;
  const told = cut(joined(count), room);
  const between = told.length === 0 ? [] : separator;
  const name = cut(oneLine(title), room - widthOf(told) - widthOf(between));
  const text = name.length === 0 || told.length === 0 ? [...name, ...told] : [...name, ...between, ...told];
  if (text.length === 0) return [];
  const blank: Cluster = { text: " ", width: 1 };
  const signs = (cluster: Cluster): Cluster => (ascii ? { ...cluster, text: inAscii(cluster.text) } : cluster);
  return [blank, ...text.map(signs), blank];
}
