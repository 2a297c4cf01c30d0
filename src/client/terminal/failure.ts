/**
 * The error of a step of a program on a terminal: the awaited condition, the time, the state and why, and the screen.
 */
import type { Screen } from "./screen.ts";

/** Characters of a screen in a message. */
const MAX_SCREEN = 3_000;

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

/** The screen in a message: size, cursor and selection, then its rows. */
export function pictured(session: string, screen: Screen): string {
  const { cols, rows } = screen.size;
  const { row, col, visible } = screen.cursor;
  const focused = screen.selected;
  const cursor = `cursor ${visible ? "at" : "hidden, at"} row ${row}, col ${col} (from 0)`;
  const selected = focused === null ? "" : `, selected: ${JSON.stringify(focused.text.slice(0, 60))}`;
  const shown = screen.text === "" ? ["(blank)"] : bounded(screen.text.split("\n"));
  return [
    `Screen of '${session}', ${cols}x${rows}, ${cursor}${selected}`,
    ...shown.map((line) => `│ ${line}`.trimEnd()),
  ].join("\n");
}

/** The rows without long runs of blank ones, and without the middle of a large screen. */
function bounded(rows: readonly string[]): readonly string[] {
  const text = rows.join("\n").replace(/(?<=\n)\n{3,}/g, (blank) => `[… ${blank.length} blank rows]\n`);
  if (text.length <= MAX_SCREEN) return text.split("\n");
  const head = text.slice(0, text.lastIndexOf("\n", MAX_SCREEN / 3)).split("\n");
  const tail = text.slice(text.indexOf("\n", text.length - (2 * MAX_SCREEN) / 3) + 1).split("\n");
  return [...head, "[… the screen's middle is left out]", ...tail];
}
