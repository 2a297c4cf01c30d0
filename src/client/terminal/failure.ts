/**
 * The error of a step on a terminal: the awaited condition, the time, the state with its evidence, and the screen
 * around its cursor or selected part. The whole screen is in the trace.
 */
import { plural } from "../../protocol/plural.ts";
import { compact } from "./printing.ts";
import type { Screen } from "./screen.ts";

/** Maximum rows of a screen in a message, rows below the cursor, and characters of each row. */
const MAX_ROWS = 12;
const ROWS_AFTER = 4;
const MAX_ROW = 120;

export interface FailureFacts {
  /** The error's code if an operation failed, else `not_met`. */
  readonly code: string;
  readonly session: string;
  /** State of the program, and its evidence. */
  readonly state?: string;
  readonly why?: string;
  readonly screen?: Screen;
}

/** Made when the step begins, so that its stack leads to the line of the program; filled in when the step fails. */
export class TerminalFailure extends Error {
  override readonly name = "TerminalFailure";
  #facts: FailureFacts | null = null;

  /** @param reason one sentence */
  fill(reason: string, facts: FailureFacts): this {
    this.#facts = facts;
    this.message = described(reason, facts);
    return this;
  }

  /** The code of the operation that refused, else `not_met`. */
  get code(): string {
    return this.#facts?.code ?? "not_met";
  }

  get facts(): FailureFacts | null {
    return this.#facts;
  }
}

function described(reason: string, { session, state, why, screen }: FailureFacts): string {
  const known = state === undefined ? "" : `\nState: ${state}${why === undefined || why === "" ? "" : ` (${why})`}`;
  return `${reason}${known}${screen === undefined ? "" : `\n${pictured(session, screen)}`}`;
}

/** The screen in a message: size, cursor and selection, then the rows around those that are not blank. */
function pictured(session: string, screen: Screen): string {
  const { cols, rows } = screen.size;
  const { row, col, visible } = screen.cursor;
  const focused = screen.selected;
  const cursor = `cursor ${visible ? "at" : "hidden, at"} row ${row}, col ${col} (from 0)`;
  const selected = focused === null ? "" : `, selected: ${JSON.stringify(focused.text.slice(0, 60))}`;
  return [
    `Screen of '${session}', ${cols}x${rows}, ${cursor}${selected}`,
    ...rowsAround(screen.rows, focused?.row ?? row),
  ].join("\n");
}

function rowsAround(rows: readonly string[], focus: number): readonly string[] {
  const shown = rows.map((text, row) => ({ text, row })).filter(({ text }) => compact([text]) !== "");
  if (shown.length === 0) return ["│ (blank)"];
  const before = shown.filter(({ row }) => row <= focus).length;
  const end = Math.min(shown.length, Math.max(MAX_ROWS, before + ROWS_AFTER));
  const from = Math.max(0, end - MAX_ROWS);
  const left = (count: number): string[] => (count === 0 ? [] : [`[… ${plural(count, "row")}]`]);
  const lines = compact(shown.slice(from, end).map(({ text }) => text))
    .split("\n")
    .map((text) => `│ ${text.length > MAX_ROW ? `${text.slice(0, MAX_ROW)}…` : text}`);
  return [...left(from), ...lines, ...left(shown.length - end)];
}
