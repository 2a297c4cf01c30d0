/** The platform that this process runs on; tests replace it before the tested code reads it. */
import { darwinPlatform } from "./darwin/platform.ts";
import { linuxPlatform } from "./linux/platform.ts";
import type { Platform } from "./port.ts";
import { system } from "./system.ts";

let current: Platform = system.name === "darwin" ? darwinPlatform : linuxPlatform;

export function platform(): Platform {
  return current;
}

/** For tests: `other` replaces the platform until disposed. */
export function usePlatform(other: Platform): Disposable {
  const before = current;
  current = other;
  return {
    [Symbol.dispose]: () => {
      current = before;
    },
  };
}
