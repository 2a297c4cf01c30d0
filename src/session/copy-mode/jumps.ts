/** Jumps in copy mode, as in vi: to a character of the line, and to the matching bracket. */
import type { CopyModeAction } from "../../keys/copy-table.ts";
import type { CopyModeText, Point } from "./text.ts";

interface Jump {
  readonly isForward: boolean;
  /** Whether the jump stops beside the character. */
  readonly stopsBeside: boolean;
}

const jumps: Readonly<Partial<Record<CopyModeAction, Jump>>> = {
  jump_forth: { isForward: true, stopsBeside: false },
  jump_back: { isForward: false, stopsBeside: false },
  till_forth: { isForward: true, stopsBeside: true },
  till_back: { isForward: false, stopsBeside: true },
};

export class Jumps {
  /** A jump whose character is the next key. */
  private pending: (Jump & { readonly count: number }) | null = null;
  private lastJump: (Jump & { readonly char: string }) | null = null;

  /** The position after a key for which a jump waits, which may be the starting position; null: none waits. */
  handleKey(
    text: CopyModeText,
    from: Point,
    { key, modifiers }: { readonly key: string; readonly modifiers: readonly string[] },
  ) {
    const { pending } = this;
    this.pending = null;
    if (pending === null) return null;
    if (modifiers.length > 0 || /^[A-Z]\w/.test(key)) return from;
    this.lastJump = { ...pending, char: key };
    return jump(text, from, this.lastJump, pending.count);
  }

  /** The position after an action; null: it is not a jump. */
  perform(action: CopyModeAction, text: CopyModeText, from: Point, count: number): Point | null {
    const { lastJump } = this;
    const begun = jumps[action];
    if (begun !== undefined) this.pending = { ...begun, count };
    if (action === "bracket") return matchingBracket(text, from);
    if (begun === undefined && action !== "jump_again" && action !== "jump_reverse") return null;
    if (begun !== undefined || lastJump === null) return from;
    return jump(text, from, { ...lastJump, isForward: lastJump.isForward === (action === "jump_again") }, count);
  }
}

function jump(
  text: CopyModeText,
  from: Point,
  { isForward, stopsBeside, char }: Jump & { readonly char: string },
  count: number,
): Point {
  const cells = text.cells(from.line);
  const step = isForward ? 1 : -1;
  let col = from.col;
  for (let done = 0; done < count; done++) {
    let at = col + step * (stopsBeside && done === 0 ? 2 : 1);
    while (at >= 0 && at < cells.length && cells[at]?.text !== char) at += step;
    if (at < 0 || at >= cells.length) return from;
    col = at;
  }
  return { line: from.line, col: col - (stopsBeside ? step : 0) };
}

const OPEN = "([{";
const CLOSE = ")]}";
/** Lines to search for a bracket. */
const MAX_LINES = 10_000;

/** The bracket that matches the one under the cursor, or the next one in its line. */
function matchingBracket(text: CopyModeText, from: Point): Point {
  const cells = text.cells(from.line);
  let col = from.col;
  while (col < cells.length && !isBracket(cells[col]?.text)) col++;
  const bracket = cells[col]?.text ?? "";
  if (!isBracket(bracket)) return from;
  const forth = OPEN.includes(bracket);
  const other = forth ? CLOSE[OPEN.indexOf(bracket)] : OPEN[CLOSE.indexOf(bracket)];
  const step = forth ? 1 : -1;
  let depth = 0;
  for (let line = from.line; line >= text.first && line <= text.last; line += step) {
    if (Math.abs(line - from.line) > MAX_LINES) break;
    const row = text.cells(line);
    for (let at = line === from.line ? col : forth ? 0 : row.length - 1; at >= 0 && at < row.length; at += step) {
      if (row[at]?.text === bracket) depth++;
      else if (row[at]?.text === other && --depth === 0) return { line, col: at };
    }
  }
  return from;
}

function isBracket(char: string | undefined): boolean {
  return char !== undefined && char !== "" && (OPEN + CLOSE).includes(char);
}
