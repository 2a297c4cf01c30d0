/**
 * The terminal that a program carries for another one on this machine (script, sudo with a terminal of its own): found
 * by the master side that it holds and the child that runs on the other side. Linux only, from /proc; where the kernel
 * hides the carrier's descriptors (another user's process), or it holds several masters, nothing is known.
 */
import fs from "node:fs";
import { type ForegroundFacts, readForeground, ttyPath } from "./foreground.ts";
import { readText, statOf } from "./proc.ts";
import { libc } from "./tty-calls.ts";

/** Descriptors of one carrier that are looked at: a relay has about ten. */
const MAX_DESCRIPTORS = 64;
/** Children of one carrier that are looked at: a relay has one. */
const MAX_CHILDREN = 16;
/** Larger than any struct termios. */
const TERMIOS_BYTES = 128;
/** c_lflag in Linux's struct termios, and two of its bits. */
const LFLAG_OFFSET = 12;
const ICANON = 0x2;
const ECHO = 0x8;

export interface CarriedTerminal {
  readonly facts: ForegroundFacts;
  /** Null where the terminal may not be opened. */
  readonly flags: { readonly canonical: boolean; readonly echo: boolean } | null;
}

/** Null when it cannot be known which terminal that is, or what holds it. */
export function readCarriedTerminal(carrier: number): CarriedTerminal | null {
  if (process.platform !== "linux") return null;
  const index = masterOf(carrier);
  const child = index === null ? null : childOn(carrier, index);
  const facts = child === null ? null : readForeground(child.pid);
  return child === null || facts === null ? null : { facts, flags: flagsOf(child.tty) };
}

/** Number of the only pseudo terminal whose master a process holds; null when there is none, or more than one. */
function masterOf(pid: number): number | null {
  const found = new Set<number>();
  try {
    for (const fd of fs.readdirSync(`/proc/${pid}/fd`).slice(0, MAX_DESCRIPTORS)) {
      if (!fs.readlinkSync(`/proc/${pid}/fd/${fd}`).endsWith("/ptmx")) continue;
      const index = /^tty-index:\s*(\d+)$/m.exec(readText(`/proc/${pid}/fdinfo/${fd}`) ?? "")?.[1];
      if (index === undefined) return null;
      found.add(Number(index));
    }
  } catch {
    // Another user's, or a descriptor was closed meanwhile: the next look finds what there is.
    return null;
  }
  const [only] = found;
  return found.size === 1 && only !== undefined ? only : null;
}

/** The child that runs on that terminal. */
function childOn(carrier: number, index: number): { readonly pid: number; readonly tty: number } | null {
  const children = (readText(`/proc/${carrier}/task/${carrier}/children`) ?? "").split(" ").filter(Boolean);
  for (const pid of children.slice(0, MAX_CHILDREN).map(Number)) {
    const stat = statOf(pid);
    if (stat !== null && ttyPath(stat.tty) === `/dev/pts/${index}`) return { pid, tty: stat.tty };
  }
  return null;
}

function flagsOf(tty: number): CarriedTerminal["flags"] {
  let fd: number | null = null;
  try {
    fd = fs.openSync(ttyPath(tty) ?? "", fs.constants.O_RDONLY | fs.constants.O_NOCTTY | fs.constants.O_NONBLOCK);
    const termios = new DataView(new ArrayBuffer(TERMIOS_BYTES));
    if (libc().tcgetattr(fd, new Uint8Array(termios.buffer)) !== 0) return null;
    const local = termios.getUint32(LFLAG_OFFSET, true);
    return { canonical: (local & ICANON) !== 0, echo: (local & ECHO) !== 0 };
  } catch {
    // Gone, or another user's.
    return null;
  } finally {
    if (fd !== null) fs.closeSync(fd);
  }
}
