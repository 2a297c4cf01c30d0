/** Directory and variables of a call with `create` if the session already exists. */
import { realpathSync } from "node:fs";
import type { Pane } from "../../pane/pane.ts";
import { WshError } from "../../protocol/errors.ts";

interface NewPlace {
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/**
 * For an existing session: nothing may run in another directory than the caller has named, or without its variables.
 * @throws WshError invalid_request naming the session's directory
 */
export function requireOwnPlace(pane: Pane, session: string, { cwd, env }: NewPlace): void {
  if (cwd === undefined && env === undefined) return;
  const own = pane.commands.cwd() ?? pane.terminal.cwd ?? pane.startCwd;
  const isThere = cwd === undefined || isSame(cwd, own);
  if (isThere && (env === undefined || Object.keys(env).length === 0)) return;
  const given = isThere ? "env" : env === undefined ? "cwd" : "cwd and env";
  const message = `session '${session}' already exists, in '${own}', but ${given} applies only to a new session; nothing was run`;
  throw new WshError("invalid_request", message, {
    hint: "Omit them and use the command itself (cd DIR; NAME=value …), or name another session.",
    cwd: own,
  });
}

function isSame(wanted: string, own: string): boolean {
  return wanted === own || real(wanted) === own;
}

/** The path with its links resolved; null for a missing directory. */
function real(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}
