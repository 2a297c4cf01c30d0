/** A directory that goes away at once. Deleted file by file it would meet processes that make it anew meanwhile. */
import { renameSync, rmSync } from "node:fs";

export function vanish(directory: string): void {
  const aside = `${directory}.deleted`;
  renameSync(directory, aside);
  rmSync(aside, { recursive: true });
}
