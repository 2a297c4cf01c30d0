/** Identifies this machine across renames and reboots: Linux has a file, macOS a call. */
import { ptr } from "bun:ffi";
import fs from "node:fs";
import { onFirstUse, openLibc } from "./libc.ts";
import { system } from "./system.ts";

const UUID_BYTES = 16;

/** Empty without an id; images of machines may share one. Read once. */
export const machineId: () => string = onFirstUse(() => {
  try {
    return system.name === "darwin" ? darwinMachine() : fs.readFileSync("/etc/machine-id", "latin1").trim();
  } catch {
    return "";
  }
});

function darwinMachine(): string {
  const { gethostuuid } = openLibc({ gethostuuid: { args: ["ptr", "ptr"], returns: "i32" } });
  const id = Buffer.alloc(UUID_BYTES);
  // A zero timeout: the number exists as soon as the system has started.
  const atOnce = new BigInt64Array(2);
  return gethostuuid(ptr(id), ptr(atOnce)) === 0 ? id.toString("hex") : "";
}
