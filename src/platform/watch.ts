/** Changes of files, as the system reports them. */
import fs from "node:fs";

/** See Sockets.watch of port.ts. */
export function watchFile(path: string, changed: (file: string | null) => void, failed: () => void): { close(): void } {
  const watcher = fs.watch(path, { persistent: false }, (_event, file) => changed(file));
  watcher.on("error", failed);
  return watcher;
}
