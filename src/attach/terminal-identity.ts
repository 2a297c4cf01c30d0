/**
 * A name for the person's terminal that stays the same while it has its scrollback: its device, and the process that
 * started us there, which outlives a detach but not the terminal. Numbers of terminals and processes are reused, so the
 * name includes the process's start time and the namespace of both numbers. Where a script or `sudo` starts us, the
 * name differs each time, and the terminal counts as new.
 */
import { platform } from "../platform/platform.ts";
import type { PersonDevice } from "../protocol/attach.ts";

/** Null when the system does not report it (a hidden /proc), or when the terminal is not our process session's. */
export function terminalIdentity({ device, inode, number }: PersonDevice): string | null {
  const { processes } = platform();
  const own = processes.stat(process.pid);
  const parent = processes.stat(process.ppid);
  if (own === null || parent === null || own.tty !== number || parent.tty !== number) return null;
  const namespace = processes.namespace();
  return namespace === null
    ? null
    : [device, inode, number, own.session, parent.pid, parent.started, namespace].join(" ");
}
