/** How a port of this machine's loopback is reached from another one. */
import os from "node:os";

/** The line to type there. */
export function tunnelLine(port: string): string {
  const { USER: user = "" } = process.env;
  // Bun's user name is 'unknown' when no variable contains it: then ssh's default is used.
  return `ssh -N -L ${port}:127.0.0.1:${port} ${user === "" ? "" : `${user}@`}${os.hostname()}`;
}
