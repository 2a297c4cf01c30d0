/** Reads files that people name: one that never ends, or waits for a writer, must not stop the process that reads it. */
import fs from "node:fs";

/** @param path of a regular file, or of /dev/null @throws the system's error, or that it is something else */
export function readRegularFile(path: string): string {
  const stat = fs.statSync(path);
  const isNull = stat.isCharacterDevice() && stat.rdev === fs.statSync("/dev/null").rdev;
  // A directory has its own error.
  if (!stat.isFile() && !stat.isDirectory() && !isNull) throw new Error("it is not a regular file");
  return fs.readFileSync(path, "utf8");
}
