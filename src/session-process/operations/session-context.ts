/** Checks the directory and variables of a call with `create` if the session already exists. */
import { realpathSync } from "node:fs";
import type { Pane } from "../../pane/pane.ts";
import { WshError } from "../../protocol/errors.ts";

interface NewSessionContext {
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/**
 * Ensures that nothing runs in an existing session in another directory than the caller has named, or without its
 * variables.
 * @throws WshError invalid_request naming the session's directory
 */
export function requireSameContext(pane: Pane, session: string, { cwd, env }: NewSessionContext): void {
  if (cwd === undefined && env === undefined) return;
  const sessionCwd = pane.commands.cwd() ?? pane.terminal.cwd ?? pane.startCwd;
  const isSameCwd = cwd === undefined || isSamePath(cwd, sessionCwd);
  if (isSameCwd && (env === undefined || Object.keys(env).length === 0)) return;
  const givenOptions = isSameCwd ? "env" : env === undefined ? "cwd" : "cwd and env";
  const message = `session '${session}' already exists, in '${sessionCwd}', but ${givenOptions} applies only to a new session; nothing was run`;
  throw new WshError("invalid_request", message, {
    hint: "Omit them and use the command itself (cd DIR; NAME=value …), or name another session.",
    cwd: sessionCwd,
  });
}

function isSamePath(requestedCwd: string, sessionCwd: string): boolean {
  return requestedCwd === sessionCwd || resolvePath(requestedCwd) === sessionCwd;
}

/** The path with its links resolved; null for a missing directory. */
function resolvePath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}
