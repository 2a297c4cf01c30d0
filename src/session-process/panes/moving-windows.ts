/**
 * Moves a window to another session, or swaps it with a window of another session, with its panes, layout, name
 * and id. A move is all or nothing: each session commits once, after every pane is placed in both; a failure, or
 * a process that does not answer in time, leaves both unchanged. Whenever either process is killed, one session
 * has the window, alive or in its checkpoint: the receiving session writes its layout before it answers, and a
 * pane's checkpoint counts the pane's moves.
 *
 * During a swap, each session holds its change. The first asks the second, which places the incoming window and,
 * before it commits, returns its own by a request that the first handles within its current change. Until the
 * second has answered, the first has both windows.
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
  adoptPane,
  findRecipient,
  handleGuestRequest,
  PaneAdoption,
  PaneOffer,
  type Recipient,
  recipientCrashed,
  refuseCrossingMoves,
  SentPaneSchema,
} from "./moving.ts";

/** Sent only by wsh itself: not checked further. */
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

const toWholeWindow = ({ window, panes }: SentWindow): WholeWindow => ({
  window,
  panes: panes.map(({ pane, chosen }) => paneEntry(pane, chosen)),
});

/** Offers a window of this session and its panes to another one. @throws WshError invalid_layout */
function prepareWindowOffer(
  parts: SessionParts,
  id: number,
  to: Recipient,
): { readonly whole: WholeWindow; readonly offer: PaneOffer } {
  const whole = wholeWindow(parts.arrangement.state, id);
  return { whole, offer: new PaneOffer(parts, whole.panes, to) };
}

/** Removes this session's link to the window, which is then found only in the other session. */
function unlink({ instance, processId, sessionNumber }: SessionParts, window: number): Promise<void> {
  return linkWindow(instance, { id: processId, session: sessionNumber, window }, false).catch(() => {});
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
  const recipient = findRecipient(parts, to);
  const { whole, offer: windowOffer } = prepareWindowOffer(parts, id, recipient);
  using offer = windowOffer;
  const request = { window: whole.window, panes: offer.panes, index, make_room: makeRoom, focus };
  const answer = await offer.request("peer.take_window", request);
  const received = answer === null ? null : v.parse(ArrangementSchema, answer);
  const remaining = withoutWindow(arrangement.state, id);
  if (remaining !== null) arrangement.commit(remaining);
  await offer.complete(received?.session ?? recipient.name, remaining === null);
  await unlink(parts, id);
  // Not awaited: the session's end is a change of its own, after this one.
  if (remaining === null) void session.lifetime.kill("killed");
  if (received === null) throw recipientCrashed(recipient);
  return received;
}

/**
 * Handles `peer.take_window`: adds a window of another session. @throws WshError invalid_layout,
 * session_unavailable
 */
async function takeWindow(parts: SessionParts, { input, signal }: PeerRequest): Promise<Answer> {
  const { index, make_room: makeRoom, focus, ...sentWindow } = v.parse(TakeSchema, input);
  const { arrangement, session, settings } = parts;
  refuseCrossingMoves(parts);
  return arrangement.change(async () => {
    session.requireRunning();
    const place = { index, makeRoom, focus, base: settings.base_index };
    const next = withWindow(arrangement.state, toWholeWindow(sentWindow), place);
    await using adoption = await PaneAdoption.begin(parts, sentWindow.panes, arrangement.area);
    signal.throwIfAborted();
    arrangement.commit(next);
    await adoption.confirm();
    return answer(parts, sentWindow.window.active);
  });
}

/**
 * Handlers of the windows that swaps wait for, by the id of the window sent away. They run within the current
 * change.
 */
const awaitedReturns = new Map<number, (sentWindow: SentWindow) => Promise<void>>();

/**
 * Exchanges a window with one of another session, in a change of the arrangement.
 * @param other target of the other window
 * @throws WshError pane_not_found, session_not_found, invalid_layout
 */
export async function swapWindowAway(parts: SessionParts, id: number, other: string): Promise<Answer> {
  const { arrangement, instance, processId, session, settings } = parts;
  const before = arrangement.state;
  const recipient = findRecipient(parts, other);
  const { whole, offer: windowOffer } = prepareWindowOffer(parts, id, recipient);
  using offer = windowOffer;
  // After a failure, the incoming window leaves before the outgoing one is taken back.
  await using incomingStack = new AsyncDisposableStack();
  const result: { next: Windows; active: string; adoption: PaneAdoption | null } = {
    ...{ next: before, active: whole.window.active, adoption: null },
  };
  awaitedReturns.set(id, async (sentWindow) => {
    const place = { index: null, base: settings.base_index, makeRoom: false, focus: false };
    result.next = replaceWindow(before, id, toWholeWindow(sentWindow));
    result.adoption = incomingStack.use(await PaneAdoption.begin(parts, sentWindow.panes, arrangement.area));
    incomingStack.defer(() => arrangement.commit(before));
    const incoming = toWholeWindow(sentWindow);
    arrangement.commit(withWindow(before, { ...incoming, window: { ...incoming.window, replaces: id } }, place));
    await parts.keeper.writeLayout();
    result.active = sentWindow.window.active;
  });
  const giver = { socket: sessionSocket(instance, processId), name: session.name };
  const request = { window: whole.window, panes: offer.panes, giver };
  let reply: unknown;
  try {
    reply = await offer.request("peer.swap_window", request, other);
  } finally {
    awaitedReturns.delete(id);
  }
  incomingStack.move();
  arrangement.commit(result.next);
  result.adoption?.reportPrivacy();
  await offer.complete(reply === null ? recipient.name : v.parse(ArrangementSchema, reply).session);
  await unlink(parts, id);
  if (reply === null) throw recipientCrashed(recipient);
  return answer(parts, result.active);
}

/** Handles `peer.swap_window`: adds the other session's window, and returns one of this session for it. */
async function acceptSwap(parts: SessionParts, { input, target, signal }: PeerRequest): Promise<Answer> {
  const { giver, ...sentWindow } = v.parse(SwapSchema, input);
  const { arrangement, session } = parts;
  refuseCrossingMoves(parts);
  return arrangement.change(async () => {
    session.requireRunning();
    const ownWindow = parts.findSubject(target).window.id;
    const next = replaceWindow(arrangement.state, ownWindow, toWholeWindow(sentWindow));
    await using adoption = await PaneAdoption.begin(parts, sentWindow.panes, arrangement.area);
    const giverSession = { ...giver, number: sentWindow.from };
    const { whole, offer: windowOffer } = prepareWindowOffer(parts, ownWindow, giverSession);
    using offer = windowOffer;
    signal.throwIfAborted();
    const returnRequest = { window: whole.window, panes: offer.panes, for: sentWindow.window.id };
    // If the other session has died meanwhile, this one continues: each has the windows that it should have.
    await offer.request("peer.return_window", returnRequest);
    arrangement.commit(next);
    await adoption.confirm();
    await offer.complete(giver.name);
    await unlink(parts, ownWindow);
    return answer(parts, sentWindow.window.active);
  });
}

/** Handles `peer.return_window`. @throws WshError pane_not_found if no swap waits for the window */
async function handleReturnedWindow({ input }: PeerRequest): Promise<object> {
  const { for: id, ...sentWindow } = v.parse(ReturnSchema, input);
  const take = awaitedReturns.get(id);
  if (take === undefined) throw new WshError("pane_not_found", `no window is awaited for '${windowId(id)}'`);
  await take(sentWindow);
  return {};
}

/** Requests between sessions about their windows and panes. @throws WshError unknown_method */
export function handleSessionRequest(parts: SessionParts, request: PeerRequest): Promise<object> {
  switch (request.op) {
    case "peer.take_window":
      return takeWindow(parts, request);
    case "peer.swap_window":
      return acceptSwap(parts, request);
    case "peer.return_window":
      return handleReturnedWindow(request);
    case "peer.adopt":
      return adoptPane(parts, request);
    default:
      return handleGuestRequest(parts, parts.keeper, request);
  }
}
