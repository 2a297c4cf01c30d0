/**
 * Identifies the machine and its boot: process ids, locks and sockets are meaningful only within it. On Linux and macOS
 * the kernel draws a number at every boot; elsewhere the machine's name replaces it. Read once.
 */
import { ptr } from "bun:ffi";
import os from "node:os";
import { onFirstUse, openLibc } from "./libc.ts";
import { readText } from "./readable.ts";
import { system } from "./system.ts";

/** Bytes for the number as text, with its final NUL: a uuid has 36. */
const TEXT_BYTES = 64;

export const bootId: () => string = onFirstUse(
  () => (system.name === "darwin" ? darwinBoot() : linuxBoot()) ?? os.hostname(),
);

function linuxBoot(): string | null {
  return readText("/proc/sys/kernel/random/boot_id")?.trim() || null;
}

function darwinBoot(): string | null {
  const { sysctlbyname } = openLibc({
    sysctlbyname: { args: ["ptr", "ptr", "ptr", "ptr", "u64"], returns: "i32" },
  });
  const value = Buffer.alloc(TEXT_BYTES);
  const length = new BigUint64Array([BigInt(TEXT_BYTES)]);
  if (sysctlbyname(ptr(Buffer.from("kern.bootsessionuuid\0")), ptr(value), ptr(length), null, 0) !== 0) return null;
  return value.toString("latin1").replace(/\0.*$/s, "") || null;
}
