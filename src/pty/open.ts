/** Selects the PTY adapter. Each is loaded only when chosen: bun-pty has a native library. */

import type { PtyOpen } from "./port.ts";

export async function openPty(adapter: "bun" | "bun-pty"): Promise<PtyOpen> {
  if (adapter === "bun-pty") return (await import("./adapters/bun-pty.ts")).openBunPty;
  return (await import("./adapters/bun-terminal.ts")).openBunTerminal;
}
