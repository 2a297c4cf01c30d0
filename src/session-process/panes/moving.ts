/**
 * Moves a pane into another session. Its program continues in the process that runs it, where it is a guest from then
 * on: the other session shows it, sets its size, keeps it in its checkpoint and ends it. A process whose own session
 * has ended stays until its guests have ended.
 */
import * as v from "valibot";
import { sessionDir } from "../../checkpoints/files/paths.ts";
import { sessionSocket } from "../../instance/paths.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { KeepSchema } from "../../protocol/layout.ts";
import { formatTarget, paneNumber, parseTarget } from "../../protocol/names.ts";
import type { Size } from "../../protocol/size.ts";
import { linkPane, releasePane } from "../../registry/panes.ts";
import { findSession } from "../../registry/registry.ts";
import { lastPaneError, addSplit as splitOff } from "../../session/windows/changes.ts";
import type { FloatChange } from "../../session/windows/floats.ts";
import { type PaneEntry, paneEntry, takePane, windowWith } from "../../session/windows/state.ts";
import { Connection } from "../../wire/connection.ts";
import type { PeerRequest } from "../../wire/peer.ts";
import type { PaneKeeper } from "../pane-keeper.ts";
import type { SessionParts } from "../parts.ts";
import { setGuestPrivate } from "../privacy.ts";
import { readGuestFacts } from "./guest-facts.ts";
import { localPrompt, typeLocalSecret } from "./guest-secrets.ts";
import type { LocalPane } from "./local-pane.ts";
import { paneTerminal } from "./pane-terminal.ts";
import { ViewLink } from "./view-link.ts";
import { openView } from "./view-pane.ts";

type PanePlacement = Omit<v.InferOutput<typeof AdoptSchema>, keyof SentPane>;

/** Longest wait for the session that receives panes, in ms: it may be stopped, and changes here wait for it. */
const MAX_RECIPIENT_MS = 10_000;
/** Longest pause between attempts of two sessions that move something to each other, in ms. */
const MAX_RETRY_PAUSE_MS = 50;

const context = { caller: { kind: "cli", id: `moving:${process.pid}`, connected: true }, access: "admin" } as const;
const AdoptedSchema = v.object({ name: v.string() });

/** A pane on its way to another session. */
export const SentPaneSchema = v.object({
  pane: v.pipe(v.string(), v.regex(/^@\d{1,9}$/)),
  /** Socket of the process that runs it; null: a view, which is opened again. */
  socket: v.nullable(v.string()),
  /** User settings of the pane. */
  chosen: v.object({
    title: v.nullable(v.string()),
    keep: v.nullable(KeepSchema),
    view: v.nullable(v.string()),
    env: v.exactOptional(v.record(v.string(), v.string())),
    moves: v.number(),
  }),
});
type SentPane = v.InferOutput<typeof SentPaneSchema>;

/** The session that receives panes. */
export interface Recipient {
  readonly socket: string;
  readonly number: number;
  readonly name: string;
}

/** @throws WshError session_not_found */
export function findRecipient({ instance }: SessionParts, to: string): Recipient {
  const { socket, session, name } = findSession(instance, parseTarget(to));
  if (session === null) throw new WshError("session_not_found", `no session '${to}'`);
  return { socket, number: session, name: name ?? "" };
}

/**
 * Offers panes of this session to another one. Until `complete` they stay here, and the other session finds them
 * here. Disposing takes them back unless `complete` was called.
 */
export class PaneOffer implements Disposable {
  readonly panes: readonly SentPane[];
  private readonly localPanes: readonly LocalPane[];
  private isCompleted = false;

  constructor(
    private readonly parts: SessionParts,
    private readonly entries: readonly PaneEntry[],
    private readonly to: Recipient,
  ) {
    const { arrangement, instance, processId, keeper } = parts;
    this.panes = entries.map(({ id, title, keep, view, env, moves = 0 }) => {
      const placedPane = arrangement.requirePane(id);
      const socket = placedPane instanceof ViewLink ? placedPane.socket : sessionSocket(instance, processId);
      return {
        pane: id,
        socket: placedPane.isView ? null : socket,
        chosen: { title, keep, view, moves: moves + 1, ...defined({ env }) },
      };
    });
    this.localPanes = entries.flatMap(({ id }) => arrangement.localOf(id) ?? []);
    // The other session finds them by their ids, and sets their sizes.
    for (const local of this.localPanes) void keeper.setAdoptedBy(local, to, true);
  }

  /**
   * Asks that session to take them, within a change of the arrangement here.
   * @returns its answer; null: it crashed with them in its checkpoint, and they are restored with it
   * @throws WshError of it, session_unavailable: it has none of them
   */
  async request(op: string, input: Readonly<Record<string, unknown>>, target?: string): Promise<unknown> {
    const { parts, to } = this;
    try {
      return await askRecipient(parts, to, op, input, target);
    } catch (thrown) {
      const { readPaneMoves: readMoves } = await import("../../checkpoints/files/claims.ts");
      const moves = readMoves(sessionDir(parts.instance, to.number));
      if (this.panes.every(({ pane, chosen }) => moves.get(paneNumber(pane)) === chosen.moves)) return null;
      throw thrown;
    }
  }

  /**
   * Hands the panes over: from now on they are found only in the other session.
   * @param name that session's current name
   * @param isAll nothing remains here: the session has ended, and its last picture stays
   */
  async complete(name: string, isAll = false): Promise<void> {
    this.isCompleted = true;
    const { arrangement, instance, processId, sessionNumber, keeper } = this.parts;
    const home = { number: this.to.number, name };
    await Promise.all(this.localPanes.map((local) => keeper.setAdoptedBy(local, home)));
    for (const { id } of this.entries) {
      const placedPane = arrangement.placedPanes.get(id);
      if (placedPane instanceof ViewLink && placedPane.isGuest) placedPane.setAdoptedBy(home);
      if (!isAll) arrangement.forget(id);
      else if (placedPane instanceof ViewLink) placedPane.close();
      else arrangement.localOf(id)?.leaveWindow();
      await releasePane(instance, processId, sessionNumber, paneNumber(id)).catch(() => {});
    }
  }

  [Symbol.dispose](): void {
    if (!this.isCompleted) for (const local of this.localPanes) void this.parts.keeper.setAdoptedBy(local, null);
  }
}

/**
 * Places panes of another session here, before the layout names them. Disposing removes them unless `confirm` was
 * called.
 */
export class PaneAdoption implements AsyncDisposable {
  private readonly undoSteps: (() => Promise<void>)[] = [];

  private constructor(
    private readonly parts: SessionParts,
    private readonly panes: readonly SentPane[],
  ) {}

  /** @throws WshError invalid_layout for a pane that is already shown here, session_unavailable */
  static async begin(parts: SessionParts, sent: readonly SentPane[], area: Size): Promise<PaneAdoption> {
    const adoption = new PaneAdoption(parts, sent);
    try {
      for (const pane of sent) await adoption.takePane(pane, area);
      return adoption;
    } catch (error) {
      await adoption[Symbol.asyncDispose]();
      throw error;
    }
  }

  private async takePane({ pane, socket, chosen }: SentPane, area: Size): Promise<void> {
    const { arrangement, instance, processId, sessionNumber, localPanes, keeper } = this.parts;
    if (arrangement.placedPanes.has(pane)) {
      throw new WshError("invalid_layout", `pane '${pane}' is already shown in this session`, {
        hint: "Close its view there first.",
      });
    }
    if (socket === null) {
      await openView(this.parts, chosen.view ?? pane, area);
      this.undoSteps.push(async () => arrangement.forget(pane));
      return;
    }
    const id = paneNumber(pane);
    const local = localPanes.get(pane);
    const previousSession = local?.adoptedBy ?? null;
    this.undoSteps.push(async () => {
      arrangement.forget(pane);
      if (local !== undefined) await keeper.setAdoptedBy(local, previousSession);
      else if (id !== processId) await releasePane(instance, processId, sessionNumber, id).catch(() => {});
    });
    if (local !== undefined) {
      await keeper.setAdoptedBy(local, null);
      arrangement.addLocal(local);
    } else await placeGuest(this.parts, pane, socket, area);
    if (id !== processId) await linkPane(instance, processId, sessionNumber, id);
  }

  /**
   * Keeps the panes, which the layout contains now. The layout is written first: the written state counts if a
   * process dies before the answer.
   */
  async confirm(): Promise<void> {
    this.reportPrivacy();
    await this.parts.keeper.writeLayout();
    this.undoSteps.splice(0);
  }

  /** Makes the guests private if this session is, and public if not; the session they left may differ. Call it once they stay. */
  reportPrivacy(): void {
    const { arrangement, session } = this.parts;
    for (const { pane } of this.panes) {
      const { link } = arrangement.placedPanes.get(pane) ?? {};
      if (link?.isGuest === true) link.setPrivate(session.isPrivate, true);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const undoStep of this.undoSteps.splice(0).reverse()) await undoStep();
  }
}

/** Shows a pane of this session that another process runs. @throws WshError of that process */
export async function placeGuest(parts: SessionParts, pane: string, socket: string, area: Size): Promise<void> {
  const { arrangement, instance, processId } = parts;
  const target = { id: pane, socket, target: pane, isGuest: true };
  const link = await ViewLink.open(target, area, sessionSocket(instance, processId), arrangement.handlersFor(pane));
  arrangement.placedPanes.set(pane, link);
  await link.refresh();
}

/** Whether this process waits for another one inside a change of its layout; a process has one session. */
let isWaitingForRecipient = false;

/**
 * Sends a request to the session that receives panes, within a change of the arrangement here.
 * @throws WshError of it, session_unavailable when it does not answer in time: then it takes nothing
 */
async function askRecipient(
  { sessionNumber }: SessionParts,
  to: Recipient,
  op: string,
  input: Readonly<Record<string, unknown>>,
  target = `@s${to.number}`,
): Promise<unknown> {
  const { connection } = await Connection.open(to.socket, "cli");
  const timer = setTimeout(() => connection.close(), MAX_RECIPIENT_MS);
  isWaitingForRecipient = true;
  try {
    return await connection.request(op, { ...input, from: sessionNumber }, { ...context, target });
  } finally {
    isWaitingForRecipient = false;
    clearTimeout(timer);
    connection.close();
  }
}

/**
 * Refuses a move that meets one in the other direction: the two sessions would wait for each other. @throws
 * WshError session_unavailable
 */
export function refuseCrossingMoves({ sessionNumber }: SessionParts): void {
  if (!isWaitingForRecipient) return;
  throw new WshError("session_unavailable", `session '@s${sessionNumber}' is itself moving panes away`, {
    crossing: true,
  });
}

/** Repeats a move that was refused because it met one in the other direction. */
export async function retryCrossingMoves<T>(move: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + MAX_RECIPIENT_MS;
  for (;;) {
    try {
      return await move();
    } catch (thrown) {
      if (performance.now() > deadline || WshError.from(thrown).details.crossing !== true) throw thrown;
      await Bun.sleep(Math.random() * MAX_RETRY_PAUSE_MS);
    }
  }
}

/**
 * Moves a pane to another session. Call within a change of the arrangement. @throws WshError session_not_found,
 * invalid_layout
 */
export async function movePaneAway(
  parts: SessionParts,
  pane: string,
  to: string,
  placement: PanePlacement,
): Promise<void> {
  const { arrangement } = parts;
  const { state } = arrangement;
  if (arrangement.requirePane(pane).isView) {
    throw new WshError("invalid_layout", `pane '${pane}' is a view: close it instead`);
  }
  const remaining = takePane(state, pane, arrangement.sizeOf(windowWith(state, pane)));
  if (remaining === null) throw lastPaneError(pane);
  const recipient = findRecipient(parts, to);
  using offer = new PaneOffer(parts, [state.panes[pane] ?? paneEntry(pane)], recipient);
  const [sent] = offer.panes;
  const answer = await offer.request("peer.adopt", { ...sent, ...placement }, formatTarget(parseTarget(to)));
  arrangement.commit(remaining);
  await offer.complete(answer === null ? recipient.name : v.parse(AdoptedSchema, answer).name);
  if (answer === null) throw recipientCrashed(recipient);
}

/** The error if the receiving session has crashed. */
export function recipientCrashed({ name, number }: Recipient): WshError {
  const hint = `wsh restore @s${number} brings it back.`;
  return new WshError("session_unavailable", `session '${name}' crashed with the moved panes`, { hint });
}

const AdoptSchema = v.object({
  ...SentPaneSchema.entries,
  direction: v.picklist(["left", "right", "up", "down"]),
  whole: v.boolean(),
  focus: v.boolean(),
  cells: v.optional(v.number()),
  percent: v.optional(v.number()),
  /** Sent only by wsh itself: not checked further. */
  float: v.optional(v.custom<FloatChange>((value) => typeof value === "object" && value !== null)),
});

/** Puts a pane of another session beside the request's target. @throws WshError pane_not_found, session_unavailable */
export async function adoptPane(
  parts: SessionParts,
  { input, target, signal }: PeerRequest,
): Promise<v.InferOutput<typeof AdoptedSchema>> {
  const { direction: side, whole, focus, cells, percent, float, ...sent } = v.parse(AdoptSchema, input);
  const { arrangement, session } = parts;
  refuseCrossingMoves(parts);
  return arrangement.change(async () => {
    session.requireRunning();
    const besidePane = parts.findSubject(target).pane;
    const size = cells !== undefined ? { cells } : percent !== undefined ? { percent } : undefined;
    const change = { pane: besidePane, side, whole, focus, ...defined({ size, float }) };
    const area = arrangement.sizeOf(windowWith(arrangement.state, besidePane));
    const next = splitOff(arrangement.state, paneEntry(sent.pane, sent.chosen), change, area);
    await using adoption = await PaneAdoption.begin(parts, [sent], area);
    signal.throwIfAborted();
    arrangement.commit(next);
    await adoption.confirm();
    return { name: session.name };
  });
}

const NamedSchema = v.object({ name: v.string(), number: v.number() });

/**
 * Requests of the session that has a pane to the process that runs it. @throws WshError unknown_method, pane_not_found
 */
export async function handleGuestRequest(
  parts: SessionParts,
  keeper: PaneKeeper,
  request: PeerRequest,
): Promise<object> {
  const local = parts.localPaneFor(request.target);
  switch (request.op) {
    case "peer.pane":
      return readGuestFacts(local);
    case "peer.end_pane":
      await local.endProgram();
      return {};
    case "peer.restart_pane":
      await local.restart();
      return {};
    case "peer.named_pane":
      if (local.adoptedBy !== null) await keeper.setAdoptedBy(local, v.parse(NamedSchema, request.input));
      return {};
    case "peer.private_pane":
      if (local.adoptedBy !== null)
        setGuestPrivate(parts, local, v.parse(v.object({ on: v.boolean() }), request.input).on);
      return {};
    case "peer.secret_prompt":
      return localPrompt(local);
    case "peer.secret":
      return typeLocalSecret(local, request.input);
    case "peer.terminal":
      return paneTerminal(local, parts.session.viewers);
    default:
      throw new WshError("unknown_method", `this session process does not support the request '${request.op}'`);
  }
}
