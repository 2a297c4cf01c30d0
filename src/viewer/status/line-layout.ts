/** The status line in the width of a terminal: a left part, a middle and a right one, and what is left out. Pure. */
import { theme } from "../../compositor/theme.ts";
import type { Style } from "../../protocol/grid.ts";
import type { StatusText } from "../../session/types.ts";
import { baseStyle, cutGroup, type Group, groupsOf, type Segment, type StatusFacts } from "./segments.ts";

type Parts = readonly [left: readonly Group[], middle: readonly Group[], right: readonly Group[]];

const widthOf = (groups: readonly Group[]): number => groups.reduce((sum, { width }) => sum + width, 0);
const isWindow = ({ target }: Group): boolean => target?.kind === "window";
/** Windows and the session's name, without which nobody knows where they are, leave the line last. */
const isPlace = (group: Group): boolean => isWindow(group) || group.target?.kind === "session";

/**
 * Left out are, until the rest fits: the names of background windows, the groups of the right part from the left, those
 * of the middle and the left part from the right, windows far from the current one, and all but that one.
 */
export function statusText(facts: StatusFacts, segments: readonly Segment[], cols: number): StatusText {
  const whole = partsOf(segments, facts, false);
  const parts = widthOf(whole.flat()) <= cols ? whole : fitting(partsOf(segments, facts, true), cols);
  const groups = placed(parts, gapStyles(segments), cols);
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
function partsOf(segments: readonly Segment[], facts: StatusFacts, isShort: boolean): Parts {
  const parts: Group[][] = [[]];
  for (const segment of segments) {
    if (segment.kind === "gap") parts.push([]);
    else parts.at(-1)?.push(...groupsOf(segment, facts, isShort));
  }
  const [left = [], middle = [], right] = parts;
  return right === undefined ? [left, [], middle] : [left, middle, right];
}

function fitting(given: Parts, cols: number): Parts {
  let parts = given;
  const isFull = (): boolean => widthOf(parts.flat()) > cols;
  /** Removes the first, or last, group of a part that names no place. @returns whether there was one */
  const drop = (part: number, isLast: boolean): boolean => {
    const groups = parts[part] ?? [];
    const at = isLast ? groups.findLastIndex((each) => !isPlace(each)) : groups.findIndex((each) => !isPlace(each));
    if (at < 0 || parts.flat().length === 1) return false;
    parts = changed(parts, part, groups.toSpliced(at, 1));
    return true;
  };
  while (isFull() && drop(2, false));
  const least = (): number => widthOf(aroundCurrent(parts, 0).flat());
  while (least() > cols && (drop(1, true) || drop(0, true)));
  if (isFull()) parts = aroundCurrent(parts, cols);
  const [only, ...others] = parts.flat();
  if (only === undefined || others.length > 0 || isWindow(only)) return parts;
  const [left, middle, right] = parts.map((groups) => groups.map((group) => cutGroup(group, cols)));
  return [left ?? [], middle ?? [], right ?? []];
}

function changed(parts: Parts, part: number, groups: readonly Group[]): Parts {
  const [left, middle, right] = parts;
  return [part === 0 ? groups : left, part === 1 ? groups : middle, part === 2 ? groups : right];
}

/** Omits the windows farthest from the current one until the rest fits; then all but that one. */
function aroundCurrent(parts: Parts, cols: number): Parts {
  const part = parts.findIndex((groups) => groups.some(isWindow));
  const groups = parts[part] ?? [];
  const windows = groups.filter(isWindow);
  const position = windows.findIndex(({ target }) => target?.kind === "window" && target.active);
  if (position < 0) return parts;
  let [from, to] = [0, windows.length];
  const cut = (text: string): Group => ({ spans: [{ text, style: theme.status }], width: text.length });
  const shown = (): Parts =>
    changed(
      parts,
      part,
      groups.flatMap((group) => {
        const index = windows.indexOf(group);
        if (index < 0) return [group];
        if (index < from || index >= to) return [];
        const ends = [index === from && from > 0, index === to - 1 && to < windows.length];
        return [...(ends[0] ? [cut(" <")] : []), group, ...(ends[1] ? [cut(" >")] : [])];
      }),
    );
  while (to - from > 1 && widthOf(shown().flat()) > cols) {
    if (position - from > to - 1 - position) from++;
    else to--;
  }
  const made = shown();
  return cols === 0 || widthOf(made.flat()) <= cols ? made : [windows.slice(position, position + 1), [], []];
}

/** The styles of the blanks before and after the middle. */
function gapStyles(segments: readonly Segment[]): readonly [Style, Style] {
  const gaps = segments.filter(({ kind }) => kind === "gap").map(baseStyle);
  const [first = theme.status, second = first] = gaps;
  return [first, second];
}

/** The parts with blanks between them: the middle is in the middle of the line if its neighbours leave room there. */
function placed([left, middle, right]: Parts, styles: readonly [Style, Style], cols: number): readonly Group[] {
  const [before, own, after] = [widthOf(left), widthOf(middle), widthOf(right)];
  const blanks = (count: number, style: Style): Group => {
    const width = Math.max(0, count);
    return { spans: [{ text: " ".repeat(width), style }], width };
  };
  const at = Math.max(before, Math.min(Math.floor((cols - own) / 2), cols - after - own));
  const [first, second] = styles;
  return [...left, blanks(at - before, first), ...middle, blanks(cols - at - own - after, second), ...right];
}
