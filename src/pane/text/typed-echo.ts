/**
 * Removes the echo of typed lines, and the prompts before them, from a program's later output. Pure.
 *
 * The first line's echo is at the cursor's former position. A later line's echo is at the end of a separate line, after
 * a prompt: the one at which the first was typed, one that another echo has shown, or text with a typical prompt's end.
 * Unmatched text stays: surplus echo is better than missing output.
 */

import type { TypedLine } from "./echo.ts";

interface OutputLines {
  readonly lines: readonly string[];
  /** Which of them continues the line of the cursor; null when none does. */
  readonly cursor: number | null;
  /** The text before the cursor in that line. */
  readonly prompt: string;
  /** Whether the terminal itself echoes: a line that is only the echo may be anywhere. */
  readonly kernelEchoes: boolean;
}

/** Longest text before an echo that is taken for a prompt not seen before, in characters. */
const MAX_PROMPT = 24;
/** The end of a new prompt: a mark and a blank. */
const PROMPT_END = /(^|[^\p{L}\p{N}\s])\s+$/u;

export function withoutEcho(
  { lines, cursor, prompt, kernelEchoes }: OutputLines,
  typed: readonly TypedLine[],
): string[] {
  const [first, ...others] = typed;
  if (first === undefined) return [...lines];
  const echoAt = firstEcho(lines, cursor, first, kernelEchoes);
  if (echoAt === null) return [...lines];
  const overwritten = new Set<number>();
  const remaining = [...lines];
  if (echoAt.rest === null) overwritten.add(echoAt.at);
  else if (echoAt.at >= 0) remaining[echoAt.at] = echoAt.rest;
  const prompts = new Set([prompt.trimEnd()]);
  let index = echoAt.at + 1;
  let blanks = 0;
  for (const { text, isWhole } of others) {
    if (text === "" && isWhole) {
      blanks++;
      continue;
    }
    const echo = laterEcho(remaining, index, text, isWhole, prompts);
    if (echo === null) break;
    dropPrompts(remaining, index, echo.at, blanks, prompts, overwritten);
    blanks = 0;
    prompts.add(echo.prompt.trimEnd());
    overwritten.add(echo.at);
    index = echo.at + 1;
  }
  dropPrompts(remaining, index, remaining.length, blanks, prompts, overwritten);
  return remaining.filter((_, n) => !overwritten.has(n));
}

/** The line with the first line's echo, and the text after it there (null: none); -1 when there is no echo. */
function firstEcho(
  lines: readonly string[],
  cursor: number | null,
  { text, isWhole }: TypedLine,
  kernelEchoes: boolean,
): { readonly at: number; readonly rest: string | null } | null {
  if (text === "") return isWhole ? { at: -1, rest: "" } : null;
  const shown = cursor === null ? undefined : lines[cursor];
  if (cursor !== null && shown?.startsWith(text.trimEnd()) === true) {
    if (!isWhole) return null;
    const rest = shown.slice(text.length);
    return { at: cursor, rest: rest.trim() === "" ? null : rest };
  }
  const alone = kernelEchoes ? lines.indexOf(text) : -1;
  return alone === -1 ? null : { at: alone, rest: null };
}

function laterEcho(
  lines: readonly string[],
  from: number,
  text: string,
  whole: boolean,
  prompts: ReadonlySet<string>,
): { readonly at: number; readonly prompt: string } | null {
  const wanted = text.trimEnd();
  const before = lines.slice(from).map((line) => {
    if (whole ? line.endsWith(wanted) : line.includes(wanted)) return line.slice(0, line.lastIndexOf(wanted));
    return null;
  });
  const known = before.findIndex((prompt) => prompt !== null && prompts.has(prompt.trimEnd()));
  const index =
    known >= 0
      ? known
      : before.findIndex((prompt) => prompt !== null && prompt.length <= MAX_PROMPT && PROMPT_END.test(prompt));
  const prompt = before[index];
  return prompt === undefined || prompt === null ? null : { at: from + index, prompt };
}

/** Up to `count` lines that hold only a prompt: Enter was pressed there. */
function dropPrompts(
  lines: readonly string[],
  from: number,
  to: number,
  count: number,
  prompts: ReadonlySet<string>,
  gone: Set<number>,
): void {
  let remaining = count;
  for (let n = from; n < to && remaining > 0; n++) {
    const line = (lines[n] ?? "").trimEnd();
    if (line === "" || !prompts.has(line)) continue;
    gone.add(n);
    remaining--;
  }
}
