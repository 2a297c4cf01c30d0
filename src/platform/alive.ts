/** Whether a process has a pid, by kill(2), on every system. */
import { errorCode } from "../base/errno.ts";

/** Also true for another user's process, and for a zombie. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== "ESRCH";
  }
}
