/** Reads files that people name, without blocking on an endless file or on a pipe without a writer. */
import fs from "node:fs";

/** @param path a regular file, or /dev/null @throws the system's error, or an error for any other kind of file */
export function readRegularFile(path: string): string {
  const stat = fs.statSync(path);
  const isNull = stat.isCharacterDevice() && stat.rdev === fs.statSync("/dev/null").rdev;
  // Reading a directory throws the system's own error.
  if (!stat.isFile() && !stat.isDirectory() && !isNull) throw new Error("it is not a regular file");
  return fs.readFileSync(path, "utf8");
}
