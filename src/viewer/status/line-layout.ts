/** The status line in the width of a terminal: a left part, a middle and a right one, and what is left out. Pure. */
import { theme } from "../../compositor/theme.ts";
import type { Style } from "../../protocol/grid.ts";
import type { StatusText } from "../../session/types.ts";
import { baseStyle, cutGroup, type Group, renderSegment, type Segment, type StatusFacts } from "./segments.ts";

type LineParts = readonly [left: readonly Group[], middle: readonly Group[], right: readonly Group[]];

const totalWidth = (groups: readonly Group[]): number => groups.reduce((sum, { width }) => sum + width, 0);
const isWindow = ({ target }: Group): boolean => target?.kind === "window";
/** Windows and the session's name, without which nobody knows where they are, leave the line last. */
const namesPlace = (group: Group): boolean => isWindow(group) || group.target?.kind === "session";

/**
 * Omits parts in this order until the rest fits: the names of background windows; the groups of the right part,
 * from the left; those of the middle and the left part, from the right; windows far from the current one; all
 * other windows.
 */
export function composeStatusText(facts: StatusFacts, segments: readonly Segment[], cols: number): StatusText {
  const allParts = splitParts(segments, facts, false);
  const parts = totalWidth(allParts.flat()) <= cols ? allParts : fitParts(splitParts(segments, facts, true), cols);
  const groups = joinParts(parts, gapStyles(segments), cols);
  return {
    spans: groups.flatMap(({ spans }) => spans),
    targetAt(col) {
      let end = 0;
      const found = groups.find(({ width }) => {
        end += width;
        return col < end;
      });
      return found?.target ?? { kind: "line" };
    },
  };
}

/** The parts between the gaps: one gap has no middle. */
function splitParts(segments: readonly Segment[], facts: StatusFacts, isShort: boolean): LineParts {
  const parts: Group[][] = [[]];
  for (const segment of segments) {
    if (segment.kind === "gap") parts.push([]);
    else parts.at(-1)?.push(...renderSegment(segment, facts, isShort));
  }
  const [left = [], middle = [], right] = parts;
  return right === undefined ? [left, [], middle] : [left, middle, right];
}

function fitParts(initial: LineParts, cols: number): LineParts {
  let parts = initial;
  const isFull = (): boolean => totalWidth(parts.flat()) > cols;
  /** Removes the first, or last, group of a part that names no place. @returns whether there was one */
  const dropGroup = (part: number, isLast: boolean): boolean => {
    const groups = parts[part] ?? [];
    const index = isLast
      ? groups.findLastIndex((each) => !namesPlace(each))
      : groups.findIndex((each) => !namesPlace(each));
    if (index < 0 || parts.flat().length === 1) return false;
    parts = replacePart(parts, part, groups.toSpliced(index, 1));
    return true;
  };
  while (isFull() && dropGroup(2, false));
  const minimumWidth = (): number => totalWidth(keepAroundCurrent(parts, 0).flat());
  while (minimumWidth() > cols && (dropGroup(1, true) || dropGroup(0, true)));
  if (isFull()) parts = keepAroundCurrent(parts, cols);
  const [onlyGroup, ...others] = parts.flat();
  if (onlyGroup === undefined || others.length > 0 || isWindow(onlyGroup)) return parts;
  const [left, middle, right] = parts.map((groups) => groups.map((group) => cutGroup(group, cols)));
  return [left ?? [], middle ?? [], right ?? []];
}

function replacePart(parts: LineParts, part: number, groups: readonly Group[]): LineParts {
  const [left, middle, right] = parts;
  return [part === 0 ? groups : left, part === 1 ? groups : middle, part === 2 ? groups : right];
}

/** Omits the windows farthest from the current one until the rest fits; then all but that one. */
function keepAroundCurrent(parts: LineParts, cols: number): LineParts {
  const part = parts.findIndex((groups) => groups.some(isWindow));
  const groups = parts[part] ?? [];
  const windows = groups.filter(isWindow);
  const position = windows.findIndex(({ target }) => target?.kind === "window" && target.active);
  if (position < 0) return parts;
  let [from, to] = [0, windows.length];
  const cutMark = (text: string): Group => ({ spans: [{ text, style: theme.status }], width: text.length });
  const visibleParts = (): LineParts =>
    replacePart(
      parts,
      part,
      groups.flatMap((group) => {
        const index = windows.indexOf(group);
        if (index < 0) return [group];
        if (index < from || index >= to) return [];
        const ends = [index === from && from > 0, index === to - 1 && to < windows.length];
        return [...(ends[0] ? [cutMark(" <")] : []), group, ...(ends[1] ? [cutMark(" >")] : [])];
      }),
    );
  while (to - from > 1 && totalWidth(visibleParts().flat()) > cols) {
    if (position - from > to - 1 - position) from++;
    else to--;
  }
  const remaining = visibleParts();
  return cols === 0 || totalWidth(remaining.flat()) <= cols
    ? remaining
    : [windows.slice(position, position + 1), [], []];
}

/** The styles of the blanks before and after the middle. */
function gapStyles(segments: readonly Segment[]): readonly [Style, Style] {
  const gaps = segments.filter(({ kind }) => kind === "gap").map(baseStyle);
  const [first = theme.status, second = first] = gaps;
  return [first, second];
}

/** The parts with blanks between them: the middle is in the middle of the line if its neighbours leave room there. */
function joinParts([left, middle, right]: LineParts, styles: readonly [Style, Style], cols: number): readonly Group[] {
  const [leftWidth, middleWidth, rightWidth] = [totalWidth(left), totalWidth(middle), totalWidth(right)];
  const blanks = (count: number, style: Style): Group => {
    const width = Math.max(0, count);
    return { spans: [{ text: " ".repeat(width), style }], width };
  };
  const middleStart = Math.max(
    leftWidth,
    Math.min(Math.floor((cols - middleWidth) / 2), cols - rightWidth - middleWidth),
  );
  const [first, second] = styles;
  return [
    ...left,
    blanks(middleStart - leftWidth, first),
    ...middle,
    blanks(cols - middleStart - middleWidth - rightWidth, second),
    ...right,
  ];
}
