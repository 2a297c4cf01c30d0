/** This machine's name in every SessionInfo and in server info. */
import os from "node:os";

/** @param configured the setting `hostname`; empty means the system's name */
export function hostname(configured: string): string {
  return configured !== "" ? configured : os.hostname() || "unknown";
}
