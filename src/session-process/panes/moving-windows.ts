/**
 * Moves windows to another session, or exchanges them with a window of another session, with their panes, layout, name
 * and id. All or nothing: each session commits once, after every pane is placed in both; a failure, or a process that
 * does not answer in time, leaves both unchanged. Whichever process is killed when, one session has the window, alive
 * or in its checkpoint: the receiving session writes its layout before it answers, and a pane's checkpoint counts the
 * pane's moves.
 *
 * During a swap, each session holds its change. The first asks the second, which places the incoming window and, before
 * it commits, returns its own by a request that the first handles within its current change. Until the second has
 * answered, the first has both windows.
 */
import * as v from "valibot";
import { sessionSocket } from "../../instance/paths.ts";
import { WshError } from "../../protocol/errors.ts";
import { type Arrangement as Answer, ArrangementSchema } from "../../protocol/layout.ts";
import { windowId } from "../../protocol/names.ts";
import { linkWindow } from "../../registry/panes.ts";
import {
  replaceWindow,
  type WholeWindow,
  type WindowPlace,
  wholeWindow,
  withoutWindow,
  withWindow,
} from "../../session/windows/order.ts";
import { paneEntry, type WindowEntry, type Windows } from "../../session/windows/state.ts";
import type { PeerRequest } from "../../wire/peer.ts";
import { answer } from "../operations/layout/subject.ts";
import type { SessionParts } from "../parts.ts";
import {
  adopt,
  findRecipient,
  handleGuestRequest,
  PaneAdoption,
  PaneOffer,
  type Recipient,
  recipientCrashed,
  refuseCrossing,
  SentPaneSchema,
} from "./moving.ts";

/** Written by this program alone. */
const SentWindowSchema = v.object({
  from: v.number(),
  window: v.custom<WindowEntry>((value) => typeof value === "object" && value !== null),
  panes: v.array(SentPaneSchema),
});
const TakeSchema = v.object({
  ...SentWindowSchema.entries,
  index: v.nullable(v.number()),
  make_room: v.boolean(),
  focus: v.boolean(),
});
const SwapSchema = v.object({
  ...SentWindowSchema.entries,
  giver: v.object({ socket: v.string(), name: v.string() }),
});
const ReturnSchema = v.object({ ...SentWindowSchema.entries, for: v.number() });
type SentWindow = v.InferOutput<typeof SentWindowSchema>;

const wholeOf = ({ window, panes }: SentWindow): WholeWindow => ({
  window,
  panes: panes.map(({ pane, chosen }) => paneEntry(pane, chosen)),
});

/** A window of this session whose panes may be taken by another one. @throws WshError invalid_layout */
function offerWindow(
  parts: SessionParts,
  id: number,
  to: Recipient,
): { readonly whole: WholeWindow; readonly giving: PaneOffer } {
  const whole = wholeWindow(parts.arrangement.state, id);
  return { whole, giving: new PaneOffer(parts, whole.panes, to) };
}

/** Makes the window findable in one session only. */
function unlink({ instance, processId, number }: SessionParts, window: number): Promise<void> {
  return linkWindow(instance, { id: processId, session: number, window }, false).catch(() => {});
}

/**
 * Moves a window to another session, in a change of the arrangement. A session that gives away its only window ends.
 * @returns the other session with the window
 * @throws WshError session_not_found, invalid_layout
 */
export async function moveWindowAway(
  parts: SessionParts,
  id: number,
  to: string,
  { index, makeRoom, focus }: Omit<WindowPlace, "base">,
): Promise<Answer> {
  const { arrangement, session } = parts;
  const taker = findRecipient(parts, to);
  const { whole, giving } = offerWindow(parts, id, taker);
  using given = giving;
  const asked = { window: whole.window, panes: given.panes, index, make_room: makeRoom, focus };
  const answer = await given.ask("peer.take_window", asked);
  const made = answer === null ? null : v.parse(ArrangementSchema, answer);
  const rest = withoutWindow(arrangement.state, id);
  if (rest !== null) arrangement.commit(rest);
  await given.complete(made?.session ?? taker.name, rest === null);
  await unlink(parts, id);
  // Not awaited: the session's end is a change of its own, after this one.
  if (rest === null) void session.lifetime.kill("killed");
  if (made === null) throw recipientCrashed(taker);
  return made;
}

/** A window of another session arrives. @throws WshError invalid_layout, session_unavailable */
async function takeWindow(parts: SessionParts, { input, signal }: PeerRequest): Promise<Answer> {
  const { index, make_room: makeRoom, focus, ...sent } = v.parse(TakeSchema, input);
  const { arrangement, session, settings } = parts;
  refuseCrossing(parts);
  return arrangement.change(async () => {
    session.requireRunning();
    const place = { index, makeRoom, focus, base: settings.base_index };
    const next = withWindow(arrangement.state, wholeOf(sent), place);
    await using taking = await PaneAdoption.of(parts, sent.panes, arrangement.area);
    signal.throwIfAborted();
    arrangement.commit(next);
    await taking.confirm();
    return answer(parts, sent.window.active);
  });
}

/** The windows that swaps wait for, by the window sent away: handled within the current change. */
const awaited = new Map<number, (sent: SentWindow) => Promise<void>>();

/**
 * Exchanges a window with one of another session, in a change of the arrangement.
 * @param other target of the other window
 * @throws WshError pane_not_found, session_not_found, invalid_layout
 */
export async function swapWindowAway(parts: SessionParts, id: number, other: string): Promise<Answer> {
  const { arrangement, instance, processId, session, settings } = parts;
  const before = arrangement.state;
  const taker = findRecipient(parts, other);
  const { whole, giving } = offerWindow(parts, id, taker);
  using window = giving;
  // After a failure, the incoming window leaves before the outgoing one is taken back.
  await using come = new AsyncDisposableStack();
  const back: { next: Windows; active: string } = { next: before, active: whole.window.active };
  awaited.set(id, async (sent) => {
    const place = { index: null, base: settings.base_index, makeRoom: false, focus: false };
    back.next = replaceWindow(before, id, wholeOf(sent));
    come.use(await PaneAdoption.of(parts, sent.panes, arrangement.area));
    come.defer(() => arrangement.commit(before));
    const incoming = wholeOf(sent);
    arrangement.commit(withWindow(before, { ...incoming, window: { ...incoming.window, replaces: id } }, place));
    await parts.keeper.writeLayout();
    back.active = sent.window.active;
  });
  const giver = { socket: sessionSocket(instance, processId), name: session.name };
  const asked = { window: whole.window, panes: window.panes, giver };
  let answered: unknown;
  try {
    answered = await window.ask("peer.swap_window", asked, other);
  } finally {
    awaited.delete(id);
  }
  come.move();
  arrangement.commit(back.next);
  await window.complete(answered === null ? taker.name : v.parse(ArrangementSchema, answered).session);
  await unlink(parts, id);
  if (answered === null) throw recipientCrashed(taker);
  return answer(parts, back.active);
}

/** The other side: a window arrives, and one of this session replaces it there. */
async function swapWith(parts: SessionParts, { input, target, signal }: PeerRequest): Promise<Answer> {
  const { giver, ...sent } = v.parse(SwapSchema, input);
  const { arrangement, session } = parts;
  refuseCrossing(parts);
  return arrangement.change(async () => {
    session.requireRunning();
    const own = parts.findSubject(target).window.id;
    const next = replaceWindow(arrangement.state, own, wholeOf(sent));
    await using taking = await PaneAdoption.of(parts, sent.panes, arrangement.area);
    const back = { ...giver, number: sent.from };
    const { whole, giving } = offerWindow(parts, own, back);
    using given = giving;
    signal.throwIfAborted();
    const returned = { window: whole.window, panes: given.panes, for: sent.window.id };
    // If the other session has died meanwhile, this one continues: each has the windows that it should have.
    await given.ask("peer.return_window", returned);
    arrangement.commit(next);
    await taking.confirm();
    await given.complete(giver.name);
    await unlink(parts, own);
    return answer(parts, sent.window.active);
  });
}

/** @throws WshError pane_not_found when nothing is awaited any more */
async function takeReturn({ input }: PeerRequest): Promise<object> {
  const { for: id, ...sent } = v.parse(ReturnSchema, input);
  const take = awaited.get(id);
  if (take === undefined) throw new WshError("pane_not_found", `no window is awaited for '${windowId(id)}'`);
  await take(sent);
  return {};
}

/** Requests between sessions about their windows and panes. @throws WshError unknown_method */
export function betweenSessions(parts: SessionParts, request: PeerRequest): Promise<object> {
  switch (request.op) {
    case "peer.take_window":
      return takeWindow(parts, request);
    case "peer.swap_window":
      return swapWith(parts, request);
    case "peer.return_window":
      return takeReturn(request);
    case "peer.adopt":
      return adopt(parts, request);
    default:
      return handleGuestRequest(parts, parts.keeper, request);
  }
}
