/** Distinguishes, in file names, the users of one state directory: runtime directories and machines. */
import os from "node:os";
import { machineId } from "../platform/machine-id.ts";

/** Characters of a digest: enough to distinguish the few places of one account. */
const LENGTH = 10;

export function placeDigest(runtimeDir: string): string {
  return digest(`${machine()}\0${runtimeDir}`).slice(0, LENGTH);
}

/** A digest of the machine's id, since a laptop's name changes with the network; without an id, of its name. */
export function thisMachine(): string {
  return digest(machine());
}

function machine(): string {
  return machineId() || os.hostname();
}

function digest(text: string): string {
  return Bun.hash(text).toString(36);
}
