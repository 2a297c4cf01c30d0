/**
 * Callers' patterns: RE2 syntax, matched in time linear in the text (re2js), so that no pattern can block by
 * backtracking. The engine is loaded at first use, so that processes without patterns do not load it.
 */
import type { RE2JS } from "re2js";
import { WshError } from "./errors.ts";

/** Longest pattern in characters: people do not write longer ones, and they compile slowly. */
const MAX_PATTERN_LENGTH = 10_000;

/**
 * @param flags any of `i`, `m`, `s`
 * @throws WshError invalid_request when the pattern is not RE2 syntax
 */
export async function compilePattern(pattern: string, flags = ""): Promise<RE2JS> {
  if (pattern.length > MAX_PATTERN_LENGTH) {
    throw new WshError(
      "invalid_request",
      `the pattern has ${pattern.length} characters; ${MAX_PATTERN_LENGTH} are allowed`,
    );
  }
  const { RE2JS } = await import("re2js");
  let bits = 0;
  if (flags.includes("i")) bits |= RE2JS.CASE_INSENSITIVE;
  if (flags.includes("m")) bits |= RE2JS.MULTILINE;
  if (flags.includes("s")) bits |= RE2JS.DOTALL;
  try {
    return RE2JS.compile(pattern, bits);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new WshError(
      "invalid_request",
      `pattern '${pattern}' cannot be used: ${reason}`,
      {
        hint: "Patterns are RE2 syntax: no look-around, no backreferences, repeats up to 1000; \\Q…\\E quotes a text.",
      },
      { cause },
    );
  }
}

/**
 * Largest product of a pattern's instructions and a text's characters for a search that locates the match: about 60 ns
 * each, so 4 s, in which the session would answer nothing.
 */
const MAX_STEPS = 75_000_000;

/** Whether locating a match in the text would block the process for seconds; the test for a match never does. */
export function isCostly(compiled: RE2JS, text: string): boolean {
  return compiled.programSize() * text.length > MAX_STEPS;
}

const SPECIAL = /[\\^$.|?*+()[\]{}]/;

interface LinePattern {
  /** Whether a line contains a match. */
  test(line: string): boolean;
  /** Start of the first match in a line; -1: none; 0 where locating it would take seconds. */
  start(line: string): number;
}

/** A pattern without special characters is searched as text. */
export async function linePattern(pattern: string): Promise<LinePattern> {
  if (!SPECIAL.test(pattern)) {
    return { test: (line) => line.includes(pattern), start: (line) => line.indexOf(pattern) };
  }
  const compiled = await compilePattern(pattern);
  const start = (line: string): number => {
    if (isCostly(compiled, line)) return 0;
    const matcher = compiled.matcher(line);
    return matcher.find() ? matcher.start() : -1;
  };
  return { test: (line) => compiled.test(line), start };
}
