/**
 * Prevents a terminal inside a session from switching to a session in which it is displayed, which would show itself.
 */
import type { Instance } from "../../instance/paths.ts";
import { WshError } from "../../protocol/errors.ts";
import { findSession } from "../../registry/registry.ts";
import type { SessionAddress } from "../../session/viewers.ts";

/**
 * @param viewer `around`: socket of the pane in which the terminal's client runs; undefined: none
 * @returns null when no other process must be asked
 * @throws WshError nested_session
 */
export function requireNotNested(
  instance: Instance,
  { around, page }: { readonly around: string | undefined; readonly page: string | null },
  { number, session }: SessionAddress,
): Promise<void> | null {
  if (page !== null) throw new WshError("nested_session", "the web page shows other sessions in its own list");
  if (around === undefined) return null;
  const { socket } = findSession(instance, { kind: "session_id", id: number });
  // Loaded only for terminals inside sessions.
  return import("./mirrors.ts").then(({ refuseMirror }) => refuseMirror(instance, around, { socket, name: session }));
}
