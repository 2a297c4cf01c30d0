/** A directory that disappears at once. Deleted file by file, processes would recreate it meanwhile. */
import { renameSync, rmSync } from "node:fs";

export function vanish(directory: string): void {
  const aside = `${directory}.deleted`;
  renameSync(directory, aside);
  rmSync(aside, { recursive: true });
}
