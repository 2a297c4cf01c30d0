/** The command line inside a sandbox that has a grant: the grant's socket, and the subcommands served there. */
import { WshError } from "../../protocol/errors.ts";
import { GRANT_VARIABLE } from "../../protocol/grants.ts";

/** Placeholder for the grant's home pane, which the broker knows. */
export const GRANTED_PANE = "@1";

const served: ReadonlySet<string> = new Set([
  ...["ask", "notify", "hook", "split", "pane", "send", "run", "exec", "screen", "output", "wait", "status"],
  ...["commands", "signal", "help", "completions", "skill"],
]);

/** Path of the socket; null outside of a sandbox. */
export function grantSocket(): string | null {
  return process.env[GRANT_VARIABLE] || null;
}

/** @throws WshError access_denied */
export function requireServed(word: string | undefined): void {
  if (grantSocket() === null || (word !== undefined && served.has(word))) return;
  const what = word === undefined ? "wsh" : `wsh ${word}`;
  throw new WshError("access_denied", `'${what}' is not available in this sandbox, which has only a grant`, {
    hint: `Available are ${[...served].slice(0, -3).join(", ")}, for what the grant may do (WSH_GRANT).`,
  });
}
