/** Where a new pane's program starts: where that of the pane beside it is. */
import { platform } from "../../platform/platform.ts";

/** The directory that a pane's program is in, else the one that it reported. */
export function directoryOf(pid: number | null, reported: string | null): string {
  return (pid === null ? null : platform().processes.cwd(pid)) ?? reported ?? "/";
}
