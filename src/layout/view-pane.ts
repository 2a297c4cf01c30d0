/** Finds the process that a view pane shows: another session's, or a pane's of any session. */

import { refuseMirror } from "../endpoint/switcher/mirrors.ts";
import { hostSocket } from "../instance/paths.ts";
import { findSession } from "../instance/registry/registry.ts";
import { WshError } from "../protocol/errors.ts";
import { formatTarget, paneId, parseTarget } from "../protocol/names.ts";
import type { Split } from "./split.ts";

const VIEW_IN = "the view would be in";

/** @throws WshError session_not_found, nested_session */
export async function viewSocket(
  { instance, host, number, arrangement }: Split,
  text: string,
): Promise<{ readonly id: string; readonly socket: string; readonly target: string }> {
  const target = parseTarget(text);
  const entry = findSession(instance, target);
  if (entry.id === host || (entry.session === number && arrangement.links.has(paneId(entry.id)))) {
    throw new WshError("nested_session", `session '${text}' would show itself`, {
      hint: "A view shows a pane of another session, or another session.",
    });
  }
  const socket = hostSocket(instance, entry.id);
  // A pane of several shows itself alone.
  if (!entry.isMember) await refuseMirror(instance, hostSocket(instance, host), { socket, name: text }, VIEW_IN);
  const id = paneId(entry.id);
  if (arrangement.links.has(id)) {
    throw new WshError("invalid_layout", `'${text}' is shown in this session already`, {
      hint: "Select that pane, or move it.",
    });
  }
  return { id, socket, target: formatTarget(target) };
}
