/** Maps the rows of a screen to logical lines: a line may continue over several rows. */
import type { StoredSource } from "../stored-text.ts";
import { storedRow } from "./xterm-row.ts";

interface RowLines {
  /** Logical line of the first row; null on the alternate screen, whose rows are in no history. */
  readonly first_line: number | null;
  /** Cell of that line at which the row begins. */
  readonly first_col: number;
  /** Rows of history above the first one. */
  readonly history: number;
  /** Rows whose line continues in the next row. */
  readonly wrapped: number[];
}

/** Call between chunks. Runs once per picture that requests it. */
export function rowLines({ terminal, hot, history, alternate }: StoredSource): RowLines {
  const buffer = terminal.buffer.active;
  const wrapped: number[] = [];
  for (let y = 1; y < terminal.rows; y++) {
    if (storedRow(buffer, buffer.baseY + y).isWrapped) wrapped.push(y - 1);
  }
  if (alternate) return { first_line: null, first_col: 0, history: 0, wrapped };
  const { line: first_line, col: first_col } = hot.position(0, 0);
  return { first_line, first_col, history: history.rows + hot.above, wrapped };
}
