/** Moves a pane into another session: its process stays, and belongs to that session from then on. */

import * as v from "valibot";
import { hostSocket } from "../instance/paths.ts";
import { moveMember } from "../instance/registry/members.ts";
import { findSession } from "../instance/registry/registry.ts";
import { WshError } from "../protocol/errors.ts";
import { formatTarget, parseTarget } from "../protocol/names.ts";
import { onlyOne, split as splitOff } from "../session/windows/changes.ts";
import { paneEntry, takePane, windowWith } from "../session/windows/state.ts";
import { Connection } from "../wire/connection.ts";
import type { PeerRequest } from "../wire/peer.ts";
import { OWN_CONTEXT } from "./pane-link.ts";
import type { Split } from "./split.ts";

export interface Placing {
  readonly direction: "left" | "right" | "up" | "down";
  readonly whole: boolean;
  readonly focus: boolean;
  readonly cells?: number | undefined;
  readonly percent?: number | undefined;
}

/** Call within a change of the arrangement. @throws WshError session_not_found, invalid_layout */
export async function moveAway(split: Split, pane: string, to: string, placing: Placing): Promise<void> {
  const { arrangement, instance, number } = split;
  const { state } = arrangement;
  if (state.panes[pane]?.view != null)
    throw new WshError("invalid_layout", `pane '${pane}' is a view: close it instead`);
  const rest = takePane(state, pane, arrangement.sizeOf(windowWith(state, pane)));
  if (rest === null) throw onlyOne(pane);
  const target = parseTarget(to);
  const entry = findSession(instance, target);
  if (entry.session === null) throw new WshError("session_not_found", `no session '${to}'`);
  const { connection } = await Connection.open(hostSocket(instance, entry.id), "layout");
  try {
    await moveMember(instance, Number(pane.slice(1)), number, entry.session);
    try {
      const context = { ...OWN_CONTEXT, target: formatTarget(target) };
      const { title = null, keep = null, env } = state.panes[pane] ?? {};
      const chosen = { title, keep, ...(env === undefined ? {} : { env }) };
      await connection.request("host.adopt", { pane, chosen, ...placing }, context);
    } catch (error) {
      await moveMember(instance, Number(pane.slice(1)), entry.session, number);
      throw error;
    }
  } finally {
    connection.close();
  }
  const link = arrangement.links.get(pane);
  arrangement.forget(pane);
  arrangement.commit(rest);
  link?.close();
}

const AdoptSchema = v.object({
  pane: v.pipe(v.string(), v.regex(/^@\d{1,9}$/)),
  /** What was chosen for it. */
  chosen: v.optional(
    v.object({
      title: v.nullable(v.string()),
      keep: v.nullable(v.boolean()),
      env: v.exactOptional(v.record(v.string(), v.string())),
    }),
    { title: null, keep: null },
  ),
  direction: v.picklist(["left", "right", "up", "down"]),
  whole: v.boolean(),
  focus: v.boolean(),
  cells: v.optional(v.number()),
  percent: v.optional(v.number()),
});

/** A pane of another session is put beside the request's target. @throws WshError pane_not_found, host_unavailable */
export async function adopt(split: Split, { input, target }: PeerRequest): Promise<object> {
  const { pane, chosen, direction: side, whole, focus, cells, percent } = v.parse(AdoptSchema, input);
  const { arrangement, instance } = split;
  return arrangement.change(async () => {
    const beside = split.place(target).pane;
    const size = cells !== undefined ? { cells } : percent !== undefined ? { percent } : undefined;
    const change = { pane: beside, side, whole, focus, ...(size === undefined ? {} : { size }) };
    const area = arrangement.sizeOf(windowWith(arrangement.state, beside));
    const next = splitOff(arrangement.state, paneEntry(pane, chosen), change, area);
    await arrangement.connect(pane, hostSocket(instance, Number(pane.slice(1))), area);
    try {
      arrangement.commit(next);
    } catch (error) {
      arrangement.forget(pane);
      throw error;
    }
    return {};
  });
}
