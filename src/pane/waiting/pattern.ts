/**
 * Finds a text or a pattern in lines of output. Patterns are RE2 syntax and run in time linear in the line (re2js), so
 * no pattern can block a terminal by backtracking; a pattern that is still costly is stopped by its budget.
 */
import { WshError } from "../../protocol/errors.ts";
import { compilePattern, isCostly } from "../../protocol/pattern.ts";

/** Total time that one pattern may take before its share counts, in ms. */
const FREE_MS = 200;
/** Share of the time since it began that a pattern may take after that. */
const MAX_SHARE = 0.1;

export interface PatternMatch {
  readonly text: string;
  /** Its place in the searched line. */
  readonly start: number;
  /** Groups of the pattern, null for those that did not match; none for a text. */
  readonly groups: readonly (string | null)[] | null;
}

/** Finds the first match that is completely within [from, to) of a line. */
export type Finder = (line: string, from: number, to: number) => PatternMatch | null;

export function textFinder(wanted: string): Finder {
  return (line, from, to) => {
    const index = line.indexOf(wanted, from);
    return index >= 0 && index + wanted.length <= to ? { text: wanted, start: index, groups: null } : null;
  };
}

/** @throws WshError invalid_request when the pattern is not RE2 syntax; the finder throws regex_too_slow */
export async function regexFinder(pattern: string, flags: string): Promise<Finder> {
  const compiled = await compilePattern(pattern, flags);
  return (line, from, to) => {
    const searched = to < line.length ? line.slice(0, to) : line;
    // The test alone is many times cheaper than a match with groups, and suffices for most lines.
    if (!compiled.test(searched)) return null;
    if (isCostly(compiled, searched)) {
      throw new WshError(
        "regex_too_slow",
        `the pattern matches in a line of ${searched.length} characters, but is too long to be located there`,
        {
          hint: "Use a shorter pattern, without repeats such as {1000}, or read the line with wsh output --grep.",
        },
      );
    }
    const matcher = compiled.matcher(searched);
    if (!matcher.find(Math.min(from, searched.length))) return null;
    const groups: (string | null)[] = [];
    for (let n = 1; n <= matcher.groupCount(); n++) groups.push(matcher.group(n));
    return { text: matcher.group() ?? "", start: matcher.start(), groups };
  };
}

/** Time a pattern has cost; it is stopped when over its budget. */
export class Budget {
  private used = 0;
  private readonly began: number;
  private readonly processorBegan: number;

  /** @param processor processor time of the process, in ms: while others have the processor, a pattern costs nothing */
  constructor(
    private readonly now: () => number = () => performance.now(),
    private readonly processor: () => number = processorMs,
  ) {
    this.began = now();
    this.processorBegan = processor();
  }

  /** Runs `work` at the pattern's expense; a match is returned, whatever it cost. @throws WshError regex_too_slow */
  spend<T>(work: () => T): T {
    const before = this.now();
    const result = work();
    const after = this.now();
    this.used += after - before;
    if (result === null && this.isOver(after)) {
      this.used = Math.min(this.used, this.processor() - this.processorBegan);
      if (this.isOver(after)) {
        throw new WshError("regex_too_slow", `the pattern took ${Math.round(this.used)} ms of matching`);
      }
    }
    return result;
  }

  private isOver(now: number): boolean {
    return this.used > FREE_MS && this.used > (now - this.began) * MAX_SHARE;
  }
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
