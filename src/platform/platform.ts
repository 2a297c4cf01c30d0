/** The platform that this process runs on; tests replace it before the tested code reads it. */
import type * as Darwin from "./darwin/platform.ts";
import type * as Linux from "./linux/platform.ts";
import type { Platform } from "./port.ts";
import { system } from "./system.ts";

let current: Platform | null = null;

/** Only one of them is loaded: at first use, since modules that use it may be loaded before this one has run. */
function load(): Platform {
  if (system.name === "darwin") {
    const { darwinPlatform }: typeof Darwin = require("./darwin/platform.ts");
    return darwinPlatform;
  }
  const { linuxPlatform }: typeof Linux = require("./linux/platform.ts");
  return linuxPlatform;
}

export function platform(): Platform {
  current ??= load();
  return current;
}

/** For tests: `other` replaces the platform until disposed. */
export function usePlatform(other: Platform): Disposable {
  const before = platform();
  current = other;
  return {
    [Symbol.dispose]: () => {
      current = before;
    },
  };
}
