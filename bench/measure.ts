/**
 * A measure runs on a stage, beside peers that do the same in the same run, and reports one table. The first line is
 * wsh; the ratio of a line is wsh's median divided by the line's, so that a number over 1 says by how much wsh was
 * slower or larger than that peer.
 */
import { type Figure, number, shown } from "./figure.ts";
import type { Stage } from "./stage.ts";

export interface Line {
  readonly who: string;
  /** One for each column; null: nothing to measure. */
  readonly figures: readonly (Figure | null)[];
}

export interface Report {
  /** With the unit of the figures. */
  readonly title: string;
  readonly columns: readonly string[];
  readonly lines: readonly Line[];
  /** The lines are not peers of each other: no ratios are printed. */
  readonly alone?: true;
  /** The procedure and the meaning of the figures. */
  readonly meaning: string;
  /** The goal in words. */
  readonly goal: string;
}

export interface Measure {
  readonly name: string;
  run(stage: Stage): Promise<Report>;
}

/** A report as a table of Markdown. */
export function table({ columns, lines, alone }: Report): string {
  const [ours] = lines;
  const rows = lines.map(({ who, figures }) => {
    const cells = figures.map((value, at) => {
      if (value === null) return "–";
      const own = ours?.figures[at];
      const ratio =
        alone === true || own == null || who === ours?.who || value.median === 0
          ? ""
          : ` ×${number(own.median / value.median)}`;
      return `${shown(value)}${ratio}`;
    });
    return [who, ...cells];
  });
  const all = [["", ...columns], ...rows];
  const widths = [0, ...columns.keys().map((at) => at + 1)].map((at) =>
    Math.max(...all.map((row) => (row[at] ?? "").length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
  return [line(["", ...columns]), rule, ...rows.map(line)].join("\n");
}
