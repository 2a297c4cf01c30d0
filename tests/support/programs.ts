/**
 * Programs that tests drive and that a machine may lack. A test of a missing one is skipped and says so; nothing passes
 * because something was not there.
 */
import { test } from "bun:test";

const said = new Set<string>();

/** Whether one of these is not in PATH; says which, once each. */
export function isMissing(...programs: readonly string[]): boolean {
  const missing = programs.filter((name) => Bun.which(name) === null);
  for (const name of missing) {
    if (said.has(name)) continue;
    said.add(name);
    console.error(`SKIPPED: '${name}' is not installed, so what tests it does not run`);
  }
  return missing.length > 0;
}

/** `test` where all of these are in PATH, else `test.skip`. */
export function testWith(...programs: readonly string[]): typeof test {
  return isMissing(...programs) ? (test.skip as typeof test) : test;
}
