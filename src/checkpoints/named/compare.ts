/** Differences between two checkpoints of a session. Pure except for reading their lines. */
import type { OperationOutput } from "../../operations/table.ts";
import type { CrashedSession } from "../files/sessions.ts";
import { type CheckpointPane, type CheckpointView, readLines, viewCheckpoint } from "./view.ts";

type Difference = OperationOutput<"checkpoint.diff">;
type Change = Difference["changes"][number];

/** Most lines of a pane to compare: the work grows with their square. */
const MAX_COMPARED_LINES = 2_000;
/** Maximum reported changed lines of a pane, the newest. */
const MAX_REPORTED_LINES = 200;

/** The two checkpoints, each with its label; null: the present state. */
export function compare(
  [before, from]: readonly [CrashedSession, string | null],
  [after, to]: readonly [CrashedSession, string | null],
): Difference {
  const [a, b] = [viewCheckpoint(before, from), viewCheckpoint(after, to)];
  const changes: Change[] = [
    ...listChanges(
      null,
      { name: a.session, tags: a.tags.join(" "), size: sizeOf(a) },
      {
        name: b.session,
        tags: b.tags.join(" "),
        size: sizeOf(b),
      },
    ),
    ...windowChanges(a, b),
    ...paneChanges(a, b),
  ];
  const both = a.panes.filter(({ id }) => b.panes.some((pane) => pane.id === id));
  const lines = both.flatMap(({ id }): Difference["lines"] => {
    const number = Number(id.slice(1));
    const [a, b] = [readLines(before, number, MAX_COMPARED_LINES), readLines(after, number, MAX_COMPARED_LINES)];
    const all = lineChanges(
      a,
      b,
      firstLine(before, number) < firstLine(after, number) || b.length === MAX_COMPARED_LINES,
    );
    if (all.length === 0) return [];
    return [
      { pane_id: id, changed: all.slice(-MAX_REPORTED_LINES), more: Math.max(0, all.length - MAX_REPORTED_LINES) },
    ];
  });
  return {
    session: b.session,
    id: b.id,
    from: { label: from, saved_at: a.saved_at },
    to: { label: to, saved_at: b.saved_at },
    changes,
    lines,
  };
}

function firstLine({ panes }: CrashedSession, pane: number): number {
  return panes.find((record) => record.pane === pane)?.history?.first ?? 0;
}

type Values = Readonly<Record<string, string | null>>;

function listChanges(id: string | null, before: Values, after: Values): Change[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.flatMap((what) => {
    const [a, b] = [before[what] ?? null, after[what] ?? null];
    return a === b ? [] : [{ of: id, what, before: a, after: b }];
  });
}

function sizeOf({ rows, cols }: { readonly rows: number; readonly cols: number }): string {
  return `${cols}x${rows}`;
}

function windowChanges(a: CheckpointView, b: CheckpointView): Change[] {
  const values = (windows: CheckpointView["windows"], id: string): Values => {
    const window = windows.find((each) => each.id === id);
    if (window === undefined) return {};
    const { name, active, zoomed, layout } = window;
    return { name, layout, active: active ? "yes" : "no", zoomed: zoomed ? "yes" : "no" };
  };
  return uniteIds(a.windows, b.windows).flatMap((id) => listChanges(id, values(a.windows, id), values(b.windows, id)));
}

function paneChanges(a: CheckpointView, b: CheckpointView): Change[] {
  const values = (panes: readonly CheckpointPane[], id: string): Values => {
    const pane = panes.find((each) => each.id === id);
    if (pane === undefined) return {};
    const { title, cwd, program, running } = pane;
    return { title, cwd, program, running, size: sizeOf(pane) };
  };
  return uniteIds(a.panes, b.panes).flatMap((id) => listChanges(id, values(a.panes, id), values(b.panes, id)));
}

function uniteIds(a: readonly { readonly id: string }[], b: readonly { readonly id: string }[]): string[] {
  return [...new Set([...a, ...b].map(({ id }) => id))];
}

/**
 * Added (`+`) and removed (`-`) lines, in order.
 * @param mayHaveDropped the first lines of `before` may have been dropped by now: their removal is not reported
 */
export function lineChanges(before: readonly string[], after: readonly string[], mayHaveDropped: boolean): string[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let [endA, endB] = [before.length, after.length];
  while (endA > start && endB > start && before[endA - 1] === after[endB - 1]) {
    endA--;
    endB--;
  }
  const merged = mergeLines(before.slice(start, endA), after.slice(start, endB));
  const firstKept = merged.findIndex((line) => !line.startsWith("-"));
  const droppedCount = mayHaveDropped && start === 0 && firstKept > 0 ? firstKept : 0;
  return merged.slice(droppedCount).filter((line) => !line.startsWith(" "));
}

/** Merges both lists, each line with `-`, `+` or a blank before it. */
function mergeLines(a: readonly string[], b: readonly string[]): string[] {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  const lengthAt = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        a[i] === b[j] ? lengthAt(i + 1, j + 1) + 1 : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1));
    }
  }
  const out: string[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push(` ${a[i]}`);
      i++;
      j++;
    } else if (i < a.length && (j >= b.length || lengthAt(i + 1, j) >= lengthAt(i, j + 1))) out.push(`-${a[i++]}`);
    else out.push(`+${b[j++]}`);
  }
  return out;
}
