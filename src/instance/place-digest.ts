/** Tells places apart, in names of files, that share one state directory: runtime directories, and machines. */
import fs from "node:fs";
import os from "node:os";
import { onFirstUse } from "../platform/libc.ts";

/** Characters of a digest: enough to tell the few places of one account apart. */
const LENGTH = 10;

/** A digest of the runtime directory and the machine. */
export function placeDigest(runtimeDir: string): string {
  return Bun.hash(`${machineId()}\0${os.hostname()}\0${runtimeDir}`).toString(36).slice(0, LENGTH);
}

/** Empty where the system has none; images of machines may share one. Read once. */
export const machineId = onFirstUse((): string => {
  try {
    return fs.readFileSync("/etc/machine-id", "latin1").trim();
  } catch {
    return "";
  }
});
