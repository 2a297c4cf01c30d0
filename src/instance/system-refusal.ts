/** Converts a system's refusal of wsh's own files into an error with the cause and the remedy. */
import { defined } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";

const MAKE_ROOM = "Free disk space and try again; nothing was changed.";
const OTHER_PLACE =
  "The runtime and state directories must be on file systems with links and flock(2), the former with sockets: set " +
  "XDG_RUNTIME_DIR or XDG_STATE_HOME to one.";

const hints: Readonly<Record<string, string>> = {
  ENOSPC: MAKE_ROOM,
  EDQUOT: MAKE_ROOM,
  EROFS: "It is mounted read-only; nothing was changed.",
  ENOSYS: OTHER_PLACE,
  EOPNOTSUPP: OTHER_PLACE,
  ENOTSUP: OTHER_PLACE,
  ENOLCK: OTHER_PLACE,
  EPERM: OTHER_PLACE,
};

/**
 * @param what the failure, as in "the name cannot be changed"
 * @param thrown by a system call; a WshError is returned unchanged
 */
export function refused(what: string, thrown: unknown): WshError {
  if (thrown instanceof WshError) return thrown;
  const code = thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : "";
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  // No fault of the directory: this process, or the system, has all its files open.
  const { code: known, details: knownDetails } = WshError.from(thrown);
  if (known === "resource_limit_reached")
    return new WshError(known, `${what}: ${reason}`, knownDetails, { cause: thrown });
  const hint = hints[code];
  const details = defined({ hint });
  return new WshError("runtime_dir_unusable", `${what}: ${reason}`, details, { cause: thrown });
}
