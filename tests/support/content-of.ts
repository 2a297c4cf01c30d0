/** Files that another process writes. */
import { readFileSync } from "node:fs";
import { errorCode } from "../../src/base/errno.ts";

/** Content of the file; "" while it does not exist. */
export function contentOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "";
    throw error;
  }
}
