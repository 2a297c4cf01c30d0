/**
 * When a hook last ran, by agent: the time of an empty file in the state directory, for `wsh doctor`. Hosts that ask for
 * trust run no hook until they have it, and say nothing.
 */
import { mkdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Instance } from "../../instance/paths.ts";

function fileOf({ stateDir }: Instance, agent: string): string {
  return join(stateDir, "hooks", agent);
}

/** Failing says less, and breaks nothing. */
export function noteFired(instance: Instance, agent: string): void {
  const file = fileOf(instance, agent);
  try {
    mkdirSync(join(instance.stateDir, "hooks"), { recursive: true, mode: 0o700 });
    writeFileSync(file, "", { mode: 0o600 });
    utimesSync(file, new Date(), new Date());
  } catch {
    // A state directory that cannot be written to.
  }
}

/** Unix time in ms; null for never. */
export function lastFired(instance: Instance, agent: string): number | null {
  return statSync(fileOf(instance, agent), { throwIfNoEntry: false })?.mtimeMs ?? null;
}
