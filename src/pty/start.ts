/** Starts that fail: detected before the start, reported by the system, or recognised by how the child ended. */

import { startError, startFault } from "../platform/executable.ts";
import { WshError } from "../protocol/errors.ts";
import type { PtyExit, PtySpawn } from "./port.ts";

/** Exit code of a child that could not exec its program, if nothing else reports that. */
const EXEC_FAILED_CODE = 127;

/** @throws WshError session_create_failed */
export function requireStartable({ file }: PtySpawn): void {
  const fault = startFault(file);
  if (fault !== null) throw createError(file, fault);
}

export function startFailure({ file }: PtySpawn, cause: unknown): WshError {
  return createError(file, startError(cause), cause);
}

/**
 * The error for a child that ended at once; null when that may have been its program's own end: a shell with
 * a command ends with the command's code.
 */
export function silentStartFailure({ file, args }: PtySpawn, exit: PtyExit): WshError | null {
  if (exit.code !== EXEC_FAILED_CODE || args[0] === "-c") return null;
  return createError(file, `ended at once with code ${EXEC_FAILED_CODE}, as what cannot be started does`);
}

function createError(file: string, fault: string, cause?: unknown): WshError {
  return new WshError("session_create_failed", `'${file}' ${fault}`, {}, cause === undefined ? {} : { cause });
}
