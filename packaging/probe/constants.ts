/**
 * Compares wsh's table of numbers and layouts with this machine's headers: compiles constants.c, runs it, and prints
 * `{ "system", "compared", "differences": [{ "what", "table", "headers" }] }`. `bun packaging/probe/constants.ts`; exit
 * code 1 on a difference, 2 where nothing can be compiled.
 */
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { system } from "../../src/platform/system.ts";
import type { PlatformTable } from "../../src/platform/table.ts";

export interface Difference {
  readonly what: string;
  readonly table: unknown;
  readonly headers: unknown;
}

export interface Comparison {
  readonly system: string;
  /** Numbers that were compared. */
  readonly compared: number;
  readonly differences: readonly Difference[];
}

/** The C compiler of this machine; null when it has none. */
export const compiler: string | null = Bun.which(process.env.CC ?? "cc");

/** @throws Error with the compiler's words when the probe cannot be compiled or run */
export function probeHeaders(cc: string): unknown {
  const directory = fs.mkdtempSync(join(os.tmpdir(), "wsh-probe-"));
  try {
    const program = join(directory, "constants");
    run([cc, "-Wall", "-Werror", "-o", program, join(import.meta.dir, "constants.c")]);
    return JSON.parse(run([program]));
  } finally {
    fs.rmSync(directory, { recursive: true, force: true });
  }
}

function run(command: string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  if (exitCode === 0) return stdout.toString();
  throw new Error(`${command.join(" ")} exited with ${exitCode}: ${stderr.toString().slice(0, 4_000)}`);
}

/** Every number of the table against what the probe printed; a name that only one of them has is a difference. */
export function compare(table: PlatformTable, printed: unknown): Comparison {
  const { argumentsTotal, cookedLine } = table.limits;
  const isDarwin = table.name === "darwin";
  const limits = { ARG_MAX: isDarwin ? argumentsTotal : null, MAX_CANON: isDarwin ? cookedLine : null };
  const { name, constants, layouts } = table;
  const ours = leaves({ system: name, constants: { ...constants, ...limits }, layouts });
  const theirs = leaves(printed);
  const names = new Set([...ours.keys(), ...theirs.keys()]);
  const differences = [...names]
    .filter((what) => ours.get(what) !== theirs.get(what))
    .map((what) => ({ what, table: ours.get(what), headers: theirs.get(what) }));
  return { system: name, compared: names.size, differences };
}

/** Values by their paths. */
function leaves(value: unknown, path = ""): Map<string, unknown> {
  if (typeof value !== "object" || value === null) return new Map([[path, value]]);
  return new Map(
    Object.entries(value).flatMap(([key, inner]) => [...leaves(inner, path === "" ? key : `${path}/${key}`)]),
  );
}

if (import.meta.main) {
  if (compiler === null) {
    console.error("no C compiler: neither cc nor $CC is in PATH");
    process.exit(2);
  }
  try {
    const comparison = compare(system, probeHeaders(compiler));
    console.log(JSON.stringify(comparison, null, 2));
    process.exitCode = comparison.differences.length === 0 ? 0 : 1;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 2;
  }
}
