/**
 * Records when a hook last ran in a session, by agent, and whether its report was accepted, in a small file
 * of the state directory for `wsh doctor`. A host that requires trust runs no hook until it has it, and does
 * not say so. A host that runs hooks in a background process reports from outside the pane.
 */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Instance } from "../../instance/paths.ts";

const OUTSIDE = "outside\n";

interface HookRun {
  /** Unix time in ms. */
  readonly at: number;
  /** Whether the reporting process belongs to no program of the pane. */
  readonly isOutside: boolean;
}

function recordFile({ stateDir }: Instance, agent: string): string {
  return join(stateDir, "hooks", agent);
}

/** A failure loses only this record. */
export function recordHookRun(instance: Instance, agent: string, isOutside: boolean): void {
  const file = recordFile(instance, agent);
  try {
    mkdirSync(join(instance.stateDir, "hooks"), { recursive: true, mode: 0o700 });
    writeFileSync(file, isOutside ? OUTSIDE : "counted\n", { mode: 0o600 });
  } catch {
    // The state directory is not writable.
  }
}

/** Returns null if none has run. */
export function lastHookRun(instance: Instance, agent: string): HookRun | null {
  const file = recordFile(instance, agent);
  try {
    return { at: statSync(file).mtimeMs, isOutside: readFileSync(file, "utf8") === OUTSIDE };
  } catch {
    return null;
  }
}
