/** What this machine calls itself in every SessionInfo and in server info: WSH_HOSTNAME, else the system's name. */
import os from "node:os";

export function hostname(): string {
  const given = process.env.WSH_HOSTNAME;
  return given !== undefined && given !== "" ? given : os.hostname() || "unknown";
}
