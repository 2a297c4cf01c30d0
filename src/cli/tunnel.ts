/** Explains how to reach a loopback port of this machine from another one. */
import os from "node:os";

/** The ssh command to run there. */
export function tunnelLine(port: string): string {
  const { USER: user = "" } = process.env;
  // Bun's user name is 'unknown' when no variable contains it: then ssh's default is used.
  return `ssh -N -L ${port}:127.0.0.1:${port} ${user === "" ? "" : `${user}@`}${os.hostname()}`;
}
