/**
 * Moves a pane into another session. Its program goes on in the process that runs it, which is a guest there from then on:
 * that session shows it, gives it its size, keeps it in its checkpoint and ends it. A process whose own session is over
 * stays until its guests have ended.
 */
import * as v from "valibot";
import { sessionSocket } from "../../instance/paths.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { KeepSchema } from "../../protocol/layout.ts";
import { formatTarget, parseTarget } from "../../protocol/names.ts";
import { linkPane, releasePane } from "../../registry/panes.ts";
import { findSession } from "../../registry/registry.ts";
import { onlyOne, split as splitOff } from "../../session/windows/changes.ts";
import type { FloatChange } from "../../session/windows/floats.ts";
import { paneEntry, takePane, windowWith } from "../../session/windows/state.ts";
import { Connection } from "../../wire/connection.ts";
import type { PeerRequest } from "../../wire/peer.ts";
import type { PaneKeeper } from "../pane-keeper.ts";
import type { SessionParts } from "../parts.ts";
import { paneTerminal } from "./pane-terminal.ts";
import { ViewLink } from "./view-link.ts";

export interface Placing {
  readonly direction: "left" | "right" | "up" | "down";
  readonly whole: boolean;
  readonly focus: boolean;
  readonly cells?: number | undefined;
  readonly percent?: number | undefined;
  readonly float?: FloatChange | undefined;
}

const context = { caller: { kind: "cli", id: `moving:${process.pid}`, connected: true }, access: "admin" } as const;
const AdoptedSchema = v.object({ name: v.string() });

/** Call within a change of the arrangement. @throws WshError session_not_found, invalid_layout */
export async function moveAway(parts: SessionParts, pane: string, to: string, placing: Placing): Promise<void> {
  const { arrangement, instance, number, processId, keeper } = parts;
  const { state } = arrangement;
  const placed = arrangement.paneOf(pane);
  if (placed.isView) throw new WshError("invalid_layout", `pane '${pane}' is a view: close it instead`);
  const rest = takePane(state, pane, arrangement.sizeOf(windowWith(state, pane)));
  if (rest === null) throw onlyOne(pane);
  const target = parseTarget(to);
  const entry = findSession(instance, target);
  if (entry.session === null) throw new WshError("session_not_found", `no session '${to}'`);
  const local = arrangement.localOf(pane);
  const socket = placed instanceof ViewLink ? placed.socket : sessionSocket(instance, processId);
  const { title = null, keep = null, env } = state.panes[pane] ?? {};
  const chosen = { title, keep, ...defined({ env }) };
  const { connection } = await Connection.open(entry.socket, "cli");
  // Whoever is to show it finds it by its id, and gives it its size.
  if (local !== null) keeper.lend(local, { number: entry.session, name: entry.name ?? "" });
  try {
    const asked = { ...context, target: formatTarget(target) };
    const answer = await connection.request("peer.adopt", { pane, socket, chosen, ...placing }, asked);
    local?.own.renamedTo(v.parse(AdoptedSchema, answer).name);
  } catch (error) {
    if (local !== null) keeper.lend(local, null);
    throw error;
  } finally {
    connection.close();
  }
  arrangement.forget(pane);
  arrangement.commit(rest);
  await releasePane(instance, processId, number, Number(pane.slice(1))).catch(() => {});
}

const AdoptSchema = v.object({
  pane: v.pipe(v.string(), v.regex(/^@\d{1,9}$/)),
  /** Of the process that runs it. */
  socket: v.string(),
  /** What was chosen for it. */
  chosen: v.object({
    title: v.nullable(v.string()),
    keep: v.nullable(KeepSchema),
    env: v.exactOptional(v.record(v.string(), v.string())),
  }),
  direction: v.picklist(["left", "right", "up", "down"]),
  whole: v.boolean(),
  focus: v.boolean(),
  cells: v.optional(v.number()),
  percent: v.optional(v.number()),
  /** Written by this program alone. */
  float: v.optional(v.custom<FloatChange>((value) => typeof value === "object" && value !== null)),
});

/** A pane of another session is put beside the request's target. @throws WshError pane_not_found, session_unavailable */
export async function adopt(
  parts: SessionParts,
  { input, target }: PeerRequest,
): Promise<v.InferOutput<typeof AdoptedSchema>> {
  const { pane, socket, chosen, direction: side, whole, focus, cells, percent, float } = v.parse(AdoptSchema, input);
  const { arrangement, instance, session, processId, number, locals, keeper } = parts;
  return arrangement.change(async () => {
    session.requireRunning();
    const beside = parts.place(target).pane;
    const size = cells !== undefined ? { cells } : percent !== undefined ? { percent } : undefined;
    const change = { pane: beside, side, whole, focus, ...defined({ size, float }) };
    const area = arrangement.sizeOf(windowWith(arrangement.state, beside));
    const next = splitOff(arrangement.state, paneEntry(pane, chosen), change, area);
    const id = Number(pane.slice(1));
    const local = locals.get(pane);
    const home = local?.home ?? null;
    try {
      if (local !== undefined) {
        keeper.lend(local, null);
        arrangement.put(local);
      } else {
        const linked = { id: pane, socket, shows: pane, isGuest: true };
        const link = await ViewLink.open(linked, area, sessionSocket(instance, processId), arrangement.eventsOf(pane));
        arrangement.placed.set(pane, link);
        await link.refresh();
      }
      if (id !== processId) await linkPane(instance, processId, number, id);
      arrangement.commit(next);
    } catch (error) {
      arrangement.forget(pane);
      if (local !== undefined) keeper.lend(local, home);
      if (id !== processId && local === undefined) await releasePane(instance, processId, number, id).catch(() => {});
      throw error;
    }
    return { name: session.name };
  });
}

const NamedSchema = v.object({ name: v.string() });

/** What the session that has a pane asks of the process that runs it. @throws WshError unknown_method, pane_not_found */
export async function askGuest(parts: SessionParts, keeper: PaneKeeper, request: PeerRequest): Promise<object> {
  const local = parts.localFor(request.target);
  switch (request.op) {
    case "peer.pane":
      await local.refresh();
      return { info: local.paneInfo() };
    case "peer.end_pane":
      await local.endProgram();
      return {};
    case "peer.restart_pane":
      await local.restart();
      return {};
    case "peer.named_pane":
      if (local.home !== null) keeper.lend(local, { ...local.home, ...v.parse(NamedSchema, request.input) });
      return {};
    case "peer.terminal":
      return paneTerminal(local, parts.session.viewers);
    default:
      throw new WshError("unknown_method", `this session process does not support the request '${request.op}'`);
  }
}
