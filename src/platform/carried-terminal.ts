/** The terminal that a program on this machine relays, and the process that holds it. */
import fs from "node:fs";
import { type ForegroundFacts, readForeground } from "./foreground.ts";
import { platform } from "./platform.ts";
import { type LineFlags, lineFlags } from "./termios.ts";

export interface CarriedTerminal {
  readonly facts: ForegroundFacts;
  /** Null when the terminal may not be opened. */
  readonly flags: LineFlags | null;
}

/** Null when that terminal or its holder cannot be determined. */
export function readCarriedTerminal(carrier: number): CarriedTerminal | null {
  const { processes } = platform();
  const child = processes.carriedChild(carrier);
  const facts = child === null ? null : readForeground(child.pid);
  return child === null || facts === null ? null : { facts, flags: flagsOf(processes.terminalPath(child.tty)) };
}

function flagsOf(path: string | null): LineFlags | null {
  let fd: number | null = null;
  try {
    fd = fs.openSync(path ?? "", fs.constants.O_RDONLY | fs.constants.O_NOCTTY | fs.constants.O_NONBLOCK);
    return lineFlags(fd);
  } catch {
    // The terminal is gone, or another user's.
    return null;
  } finally {
    if (fd !== null) fs.closeSync(fd);
  }
}
