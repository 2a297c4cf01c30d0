/** Files that another process writes. */
import { existsSync, readFileSync } from "node:fs";

/** Content of the file; "" while it does not exist. */
export function contentOf(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}
