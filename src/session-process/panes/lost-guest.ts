/**
 * A pane of this session whose process, another session's, is gone: it is restarted here from its checkpoint, as in a
 * restored session. If only the connection was lost, it is shown again.
 */
import * as v from "valibot";
import { lives } from "../../checkpoints/dying.ts";
import { Claims } from "../../checkpoints/files/claims.ts";
import { readPane } from "../../checkpoints/files/part-reader.ts";
import { whyCrashed } from "../../checkpoints/files/sessions.ts";
import { paneSpec } from "../../checkpoints/launch.ts";
import { SessionSpecSchema } from "../../launch/session-spec.ts";
import type { Logger } from "../../log/log.ts";
import { paneNumber } from "../../protocol/names.ts";
import { linkPane } from "../../registry/panes.ts";
import { windowWith } from "../../session/windows/state.ts";
import { planPane } from "../create.ts";
import type { SessionParts } from "../parts.ts";
import { placeGuest } from "./moving.ts";
import { ViewLink } from "./view-link.ts";

export async function recoverGuest(
  parts: SessionParts,
  pane: string,
  { env, logger }: { readonly env: Readonly<Record<string, string>>; readonly logger: Logger },
): Promise<void> {
  const { arrangement, session } = parts;
  const lost = arrangement.placed.get(pane);
  if (!(lost instanceof ViewLink)) return;
  const isConnected = await lives(lost.socket);
  await arrangement.change(async () => {
    if (arrangement.placed.get(pane) !== lost || session.lifetime.isEnding) return;
    try {
      if (isConnected) await placeGuest(parts, pane, lost.socket, lost.size);
      else await startAgain(parts, pane, env);
      arrangement.place();
    } catch (error) {
      logger.warn("a pane whose process is gone has no checkpoint here", { pane, error });
      arrangement.remove(pane, { code: null, signal: null });
    }
  });
}

/** @throws WshError checkpoint_not_found: it belongs to another session, or it has no checkpoint */
async function startAgain(parts: SessionParts, pane: string, env: Readonly<Record<string, string>>): Promise<void> {
  const { arrangement, instance, settings, session, processId, number, keeper } = parts;
  const id = paneNumber(pane);
  const directory = new Claims(instance).folderOf(number, id);
  const { record } = readPane(directory, id);
  const crashed = { session: record.session, number, why: whyCrashed(record) };
  const restorer = { env, starter: "server" } as const;
  const request = v.parse(SessionSpecSchema, paneSpec(instance, crashed, { ...record, directory }, restorer, true));
  const planned = await planPane(request, { instance, settings });
  const window = windowWith(arrangement.state, pane).id;
  const owner = session.owner ?? undefined;
  arrangement.put(await keeper.adopt(planned, { id, window, request, startedByProgram: true, owner }));
  if (id !== processId) await linkPane(instance, processId, number, id);
}
