/** Whether a process has a pid, as kill(2) says on every system. */
import { errorCode } from "../base/errno.ts";

/** True also for another user's process, and for one that has ended and was not reaped yet. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== "ESRCH";
  }
}
