/**
 * The child on the terminal that a program relays (script, sudo with its own terminal): found by the master side that
 * the program holds. When the kernel hides the program's descriptors (another user's process), or it holds several
 * masters, the child is unknown.
 */
import fs from "node:fs";
import type { Stat } from "../port.ts";
import { readText } from "../readable.ts";
import { statOf, ttyPath } from "./proc.ts";

/** Maximum descriptors read of one relaying program, which has about ten. */
const MAX_DESCRIPTORS = 64;
/** Maximum children read of one relaying program, which has one. */
const MAX_CHILDREN = 16;

export function carriedChild(carrier: number): Stat | null {
  const index = masterOf(carrier);
  if (index === null) return null;
  const children = (readText(`/proc/${carrier}/task/${carrier}/children`) ?? "").split(" ").filter(Boolean);
  for (const pid of children.slice(0, MAX_CHILDREN).map(Number)) {
    const stat = statOf(pid);
    if (stat !== null && ttyPath(stat.tty) === `/dev/pts/${index}`) return stat;
  }
  return null;
}

/** Number of the only pseudo terminal whose master a process holds; null for none or several. */
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
    // Another user's process, or a descriptor was closed meanwhile: the next check tries again.
    return null;
  }
  const [only] = found;
  return found.size === 1 && only !== undefined ? only : null;
}
