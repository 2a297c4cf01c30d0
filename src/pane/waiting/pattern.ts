/**
 * Finds a text or a pattern in lines of output. Patterns are RE2 syntax and run in time linear in the line (re2js), so
 * no pattern can block a terminal by backtracking; a pattern that is still costly is stopped by its budget.
 */
import { WshError } from "../../protocol/errors.ts";
import { compilePattern } from "../../protocol/pattern.ts";

/** Characters of one line that a pattern sees; of a longer line, its end. */
const MAX_SEARCHED = 16_384;
/** Total time that one pattern may take before its share counts, in ms. */
const FREE_MS = 200;
/** Share of the time since it began that a pattern may take after that. */
const MAX_SHARE = 0.1;

export interface Match {
  readonly text: string;
  /** Groups of the pattern, null for those that did not match; none for a text. */
  readonly groups: readonly (string | null)[] | null;
}

/** Finds the first match that is completely within [from, to) of a line. */
export type Finder = (line: string, from: number, to: number) => Match | null;

export function textFinder(wanted: string): Finder {
  return (line, from, to) => {
    const at = line.indexOf(wanted, from);
    return at >= 0 && at + wanted.length <= to ? { text: wanted, groups: null } : null;
  };
}

/** @throws WshError invalid_request when the pattern is not RE2 syntax */
export async function regexFinder(pattern: string, flags: string): Promise<Finder> {
  const compiled = await compilePattern(pattern, flags);
  return (line, from, to) => {
    const end = Math.min(line.length, to);
    const searched = end === line.length ? line : line.slice(0, end);
    const skip = Math.max(0, end - MAX_SEARCHED);
    const part = skip === 0 ? searched : searched.slice(skip);
    // The test alone is many times cheaper than a match with groups, and suffices for most lines.
    if (!compiled.test(part)) return null;
    const matcher = compiled.matcher(part);
    if (!matcher.find(Math.max(0, Math.min(from, end) - skip))) return null;
    const groups: (string | null)[] = [];
    for (let n = 1; n <= matcher.groupCount(); n++) groups.push(matcher.group(n));
    return { text: matcher.group() ?? "", groups };
  };
}

/** Time a pattern has cost; it is stopped when over its budget. */
export class Budget {
  private used = 0;

  constructor(
    private readonly now: () => number,
    private readonly began = now(),
  ) {}

  /** Runs `work` at the pattern's expense. @throws WshError regex_too_slow */
  spend<T>(work: () => T): T {
    const before = this.now();
    const result = work();
    const after = this.now();
    this.used += after - before;
    if (this.used > FREE_MS && this.used > (after - this.began) * MAX_SHARE) {
      throw new WshError("regex_too_slow", `the pattern took ${Math.round(this.used)} ms of matching`);
    }
    return result;
  }
}
