/**
 * Environment in which the processes of wsh that a test starts, and their children, run on the macOS of
 * platform.ts: they must run from source (`sourceProgram`), since Bun loads the platform before wsh's own code. No
 * code of wsh knows of this.
 */
import { join } from "node:path";

export const onFakeDarwin: Readonly<Record<string, string>> = {
  BUN_OPTIONS: `--preload=${join(import.meta.dir, "preload.ts")}`,
};

/** The command that runs wsh from its source. */
export const sourceProgram: readonly string[] = [process.execPath, join(import.meta.dir, "../../../src/main.ts")];
