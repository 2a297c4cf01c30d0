/** The start directory of a new pane: that of the pane beside it. */
import { platform } from "../../platform/platform.ts";

/** The present directory of a pane's program, else the one that it reported. */
export function directoryOf(pid: number | null, reported: string | null): string {
  return (pid === null ? null : platform().processes.cwd(pid)) ?? reported ?? "/";
}
