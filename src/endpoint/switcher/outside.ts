/** A terminal that itself runs in a session is never switched to that session: it would show itself. */
import { basename } from "node:path";
import type { Instance } from "../../instance/paths.ts";
import { listProcesses } from "../../instance/registry/registry.ts";
import { WshError } from "../../protocol/errors.ts";

/**
 * @param viewer `around`: socket of the pane in which the terminal's client runs; undefined: in none
 * @throws WshError nested_session
 */
export function requireOutside(
  instance: Instance,
  { around, page }: { readonly around: string | undefined; readonly page: string | null },
  { number, session }: { readonly number: number; readonly session: string },
): void {
  if (page !== null) throw new WshError("nested_session", "a page shows other sessions by its own list");
  if (around === undefined) return;
  const own = listProcesses(instance).find(({ socket }) => basename(socket) === basename(around));
  if (own?.session !== number) return;
  throw new WshError("nested_session", `this terminal is in session '${session}' itself`);
}
