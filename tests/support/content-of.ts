/** Files that another process writes. */
import { existsSync, readFileSync } from "node:fs";

/** What the file holds; "" while it is not there. */
export function contentOf(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}
