/** Opens a view: another session, or a pane of one, in a pane here. */

import { sessionSocket } from "../../instance/paths.ts";
import { addressesPane } from "../../operations/routing.ts";
import { WshError } from "../../protocol/errors.ts";
import { formatTarget, paneId, parseTarget, sessionId } from "../../protocol/names.ts";
import type { Size } from "../../protocol/size.ts";
import { findSession } from "../../registry/registry.ts";
import { refuseMirror } from "../../viewer/switcher/mirrors.ts";
import type { SessionParts } from "../parts.ts";
import { ViewLink } from "./view-link.ts";

const MIRROR_CONTEXT = "the view would be in";

/**
 * Adds it to the panes that the layout may name, under the id of its source.
 * @returns that id, and the target in its stored form
 * @throws WshError session_not_found, nested_session, invalid_layout
 */
export async function openView(
  { instance, processId, sessionNumber, arrangement }: SessionParts,
  text: string,
  size: Size,
): Promise<{ readonly id: string; readonly target: string }> {
  const parsed = parseTarget(text);
  const entry = findSession(instance, parsed);
  const isPane = parsed.kind === "pane";
  if (entry.id === processId || entry.session === sessionNumber) {
    throw new WshError("nested_session", `session '${text}' would show itself`, {
      hint: "A view shows a pane of another session, or another session.",
    });
  }
  const socket = sessionSocket(instance, entry.id);
  // A pane among several is shown alone.
  if (!isPane || entry.panes === undefined) {
    await refuseMirror(instance, sessionSocket(instance, processId), { socket, name: text }, MIRROR_CONTEXT);
  }
  const id = isPane ? formatTarget(parsed) : paneId(entry.id);
  if (arrangement.placedPanes.has(id)) {
    throw new WshError("invalid_layout", `'${text}' is already shown in this session`, {
      hint: "Select that pane, or move it.",
    });
  }
  const target = addressesPane(text) ? text : sessionId(entry.session ?? 0);
  const ownSocket = sessionSocket(instance, processId);
  const link = await ViewLink.open(
    { id, socket, target, isGuest: false },
    size,
    ownSocket,
    arrangement.handlersFor(id, true),
  );
  arrangement.placedPanes.set(id, link);
  return { id, target: formatTarget(parsed) };
}
