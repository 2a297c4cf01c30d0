/**
 * Programs that tests drive and that a machine may lack. A test of a missing one is skipped, which `bun test` counts, and
 * its name is printed once; no test passes because something was missing. Programs are looked up only here.
 */
import { test } from "bun:test";
import { join } from "node:path";

const said = new Set<string>();

/** Full path of a program in PATH, or beside it as daemons are (`sbin` next to a `bin`); null when there is none. */
export function pathOf(program: string): string | null {
  const path = process.env.PATH ?? "";
  const beside = path.split(":").filter((dir) => dir.endsWith("/bin"));
  return Bun.which(program, { PATH: [path, ...beside.map((dir) => join(dir, "../sbin"))].join(":") });
}

/** Whether one of these is missing; prints each missing name once. */
export function isMissing(...programs: readonly string[]): boolean {
  const missing = programs.filter((name) => pathOf(name) === null);
  for (const name of missing) sayMissing(name);
  return missing.length > 0;
}

/** Path of the first of these names for one program that is installed; prints a line when there is none. */
export function anyOf(...names: readonly [string, ...string[]]): string | null {
  const [found] = names.flatMap((name) => pathOf(name) ?? []);
  if (found === undefined) sayMissing(names[0]);
  return found ?? null;
}

/** `test` where all of these are installed, else `test.skip`. */
export function testWith(...programs: readonly string[]): typeof test {
  return isMissing(...programs) ? (test.skip as typeof test) : test;
}

function sayMissing(name: string): void {
  say(name, `'${name}' is not installed, so what tests it does not run`);
}

/** Prints once that something is skipped, and why. */
export function say(what: string, why: string): void {
  if (said.has(what)) return;
  said.add(what);
  console.error(`SKIPPED: ${why}`);
}
