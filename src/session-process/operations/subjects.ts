/**
 * What a request of an AI agent affects, and how a dialog describes it to the person: the operation in words, and the
 * pane, window, session or buffer that it is about. Everything shown is computed when the person is asked.
 */
import * as v from "valibot";
import type { Operation } from "../../operations/define.ts";
import { peerRequest } from "../../operations/peer-requests.ts";
import { hearsKeys, permissionFor } from "../../operations/rights.ts";
import { addressesPane, isForPane } from "../../operations/routing.ts";
import { findOperation, type OperationName } from "../../operations/table.ts";
import { foregroundName } from "../../platform/foreground.ts";
import type { Caller } from "../../protocol/caller.ts";
import { WshError } from "../../protocol/errors.ts";
import { quoted, visibleJson } from "../../protocol/harmless-text.ts";
import { parseTarget } from "../../protocol/names.ts";
import { agentOfCaller, type Owner } from "../../protocol/owner.ts";
import { parse } from "../../protocol/parse.ts";
import { plural } from "../../protocol/plural.ts";
import type { PasteBuffers } from "../../session/paste-buffers.ts";
import { panesIn, windowWith } from "../../session/windows/state.ts";
import type { PeerRequest } from "../../wire/peer.ts";
import type { LocalPane } from "../panes/local-pane.ts";
import type { SessionParts } from "../parts.ts";
import type { PermissionSubject } from "../permission.ts";
import { isElsewhere } from "./layout/subject.ts";

const AddingSchema = v.looseObject({
  focus: v.optional(v.unknown()),
  float: v.optional(v.unknown()),
  whole: v.optional(v.unknown()),
  synchronized: v.optional(v.unknown()),
});
const ReportSchema = v.looseObject({ pid: v.optional(v.unknown()) });
const PlacesSchema = v.looseObject({ to: v.optional(v.unknown()), with: v.optional(v.unknown()) });
const BufferSchema = v.looseObject({
  buffer: v.optional(v.string()),
  new_name: v.optional(v.string()),
  delete: v.optional(v.boolean()),
  all: v.optional(v.boolean()),
});
const PermissionRequestSchema = v.object({
  op: v.string(),
  input: v.unknown(),
  /** Whether the same call follows: an answer "once" then counts for it. */
  ahead: v.optional(v.boolean(), false),
});
const TmuxSchema = v.strictObject({ tmux: v.string() });
/** Descriptions for the person of tmux commands that act without an operation, by their first word. */
const tmuxSummaries: Readonly<Record<string, string>> = {
  "pipe-pane": "Connect the pane's output or input with a command",
  "set-environment": "Change a variable for programs that start in the session",
  "set-option": "Change an option of tmux's here",
  "detach-client": "Disconnect a client",
};

/** The permission that an AI agent needs for a request between processes. @throws WshError unknown_method */
export function permissionQuery(parts: SessionParts, request: PeerRequest) {
  const name = request.op.replace("peer.", "");
  if (request.op !== "peer.leave") {
    const summary = hearsKeys(request.op, request.input) ? "Read every key that people press there" : null;
    const operation = {
      name,
      access: permissionFor(request) ?? "observe",
      summary: summary ?? peerRequest(request.op).summary ?? "Take part",
    };
    return { checkedRequest: request, operation, subject: () => subjectOf(parts, request), ahead: false };
  }
  const { op, input, ahead } = v.parse(PermissionRequestSchema, request.input);
  const operation = findOperation(op);
  if (operation === undefined) throw new WshError("unknown_method", `no operation '${op}'`);
  const checkedRequest = { ...request, op, input };
  const subject = (): PermissionSubject =>
    subjectOf(parts, ahead ? checkedRequest : { ...checkedRequest, op: "peer.leave" });
  return {
    checkedRequest,
    operation: ahead ? operation : { ...operation, summary: localSummary(operation, input) },
    subject,
    ahead,
  };
}

/** Describes an operation by its effect on this session if the agent calls it from another one, or a command of tmux. */
function localSummary({ scope, otherIn, summary }: Operation<OperationName>, input: unknown): string {
  const tmux = v.safeParse(TmuxSchema, input);
  if (tmux.success) {
    const [command = ""] = tmux.output.tmux.split(" ");
    return tmuxSummaries[command] ?? `Run tmux's ${command} here`;
  }
  if (otherIn === "to") return "Move a pane or window of another session into this one";
  if (otherIn === "with") return "Exchange a window of this session with one of another session";
  return scope === "layout" ? "Show this in another session, where it can be typed into" : summary;
}

function isOfLayout(op: string): boolean {
  return findOperation(op)?.scope === "layout";
}

/** The objects that a request affects, for the decision about permission. */
export function subjectOf(parts: SessionParts, request: PeerRequest): PermissionSubject {
  const { op, target } = request;
  const { session, localPanes, content } = parts;
  const pane = parts.paneIdFor(target);
  const isPane = op.startsWith("peer.") ? target !== undefined && addressesPane(target) : isForPane(op, target);
  const local = isPane ? localPanes.get(pane) : undefined;
  // The picture of a window includes that of its views.
  const viewOwners = !isPane && peerRequest(op).showsWindow === true ? content.privateOwners : [];
  const isPrivate = (local?.ownSession ?? session).isPrivate || viewOwners.length > 0;
  const owners = [...ownersIn(parts, request, pane, isPane), ...viewOwners];
  return {
    owners,
    pane,
    isPrivate,
    shownIn: local?.adoptedBy?.name ?? null,
    describe: () => describeSubject(parts, request, pane, isPane),
    fingerprint: () => stateFingerprint(parts, request, pane, isPane),
  };
}

/** The owners of everything that a request affects. */
function ownersIn(parts: SessionParts, { op, caller, input }: PeerRequest, pane: string, isPane: boolean) {
  const { session, localPanes, arrangement } = parts;
  const { affects, access } = affectedBy(op);
  const ownersOf = (panes: readonly string[]) => panes.map((id) => ownerOfPane(parts, id));
  if (op.startsWith("buffer.")) {
    // A private session has its own buffers; all others may be read by everybody.
    const privateOwners = session.isPrivate ? [session.owner] : [];
    if (access === "observe") return privateOwners;
    const typedInto = op === "buffer.paste" ? ownersOf([pane]) : [];
    return [...privateOwners, ...typedInto, ...bufferOwners(session.buffers, op, input, caller)];
  }
  if (op === "agent.report" && isOwnReport(parts, { caller, input }, pane)) return [];
  if (isPane || affects === "pane") return ownersOf([pane]);
  const all = new Set([...localPanes.keys(), ...Object.keys(arrangement.state.panes)]);
  if (affects === "session") return [session.owner, ...ownersOf([...all])];
  const inWindow = ownersOf(panesIn(windowWith(arrangement.state, pane)));
  if (affects === "panes") return inWindow;
  if (affects === "window") return [session.owner, ...inWindow, ...ownersOf(otherPanesNamed(parts, op, input))];
  const { focus, float, whole, synchronized } = parse(AddingSchema, input);
  // Input for one pane reaches all of them.
  if (op === "window.update" && synchronized !== undefined) return [session.owner, ...inWindow];
  if (op === "pane.split" && (float === true || whole === true)) return [session.owner, ...inWindow];
  if (focus === true || (op !== "pane.split" && op !== "window.create")) return [session.owner];
  // An agent of this session may add windows to it, and divide the pane that it runs in or owns.
  const runsAgent = (local: LocalPane | undefined): boolean =>
    caller.agent !== undefined && local?.pane.agent.info?.name === caller.agent;
  if (op === "pane.split") return runsAgent(localPanes.get(pane)) ? [] : ownersOf([pane]);
  return [...localPanes.values()].some(runsAgent) ? [] : [session.owner];
}

/** Whether the reported process is the caller's, or unknown: a report about an unknown one is refused later. */
function isOwnReport({ localPanes }: SessionParts, call: Pick<PeerRequest, "caller" | "input">, pane: string): boolean {
  const { pid } = parse(ReportSchema, call.input);
  const reported = typeof pid === "number" ? localPanes.get(pane)?.pane.agent.agentFor(pid) : undefined;
  return reported === undefined || reported === agentOfCaller(call.caller);
}

/** The owner of a pane of this session, wherever it runs. A view of another session belongs to this session's owner. */
function ownerOfPane({ session, localPanes, arrangement }: SessionParts, id: string): Owner | null {
  const local = localPanes.get(id);
  if (local !== undefined) return local.ownSession.owner ?? session.owner;
  const link = arrangement.placedPanes.get(id)?.link;
  return link?.isGuest === true ? link.owner : session.owner;
}

/** The panes of this session besides the target's window that a move or swap changes. */
function otherPanesNamed(parts: SessionParts, op: string, input: unknown): readonly string[] {
  const { state } = parts.arrangement;
  if (op === "window.swap") return Object.keys(state.panes);
  const { to, with: other } = parse(PlacesSchema, input);
  const destination = op === "pane.move" ? to : op === "pane.swap" ? other : undefined;
  if (typeof destination !== "string") return [];
  try {
    // The other session of a move is asked itself.
    const isHere = op === "pane.swap" || !isElsewhere(parts, parseTarget(destination));
    return isHere ? panesIn(windowWith(state, parts.findSubject(destination).pane)) : [];
  } catch {
    // It names a neighbour in the window, or nothing, which the operation reports.
    return [];
  }
}

function affectedBy(op: string): Pick<Operation, "access"> & { readonly affects?: Operation["affects"] | undefined } {
  return findOperation(op) ?? { affects: peerRequest(op).affects, access: "operate" };
}

/** Owners of the paste buffers that are changed or deleted: a person's copies have no recorded owner. */
function bufferOwners(buffers: PasteBuffers, op: string, input: unknown, by: Caller): (Owner | null)[] {
  const { buffer, new_name, delete: deletes, all } = parse(BufferSchema, input);
  if (all === true) return buffers.list().map(({ name }) => buffers.ownerOf(name, by) ?? null);
  const changes = op === "buffer.paste" ? deletes === true : op !== "buffer.set" || buffer !== undefined;
  const named = [...(changes ? [buffer] : []), ...(new_name === undefined ? [] : [new_name])];
  return named.map((name) => buffers.ownerOf(name, by)).filter((owner) => owner !== undefined);
}

/**
 * The objects of a request in words: where it acts, and the buffers that it names. Not the text that the call itself
 * contains.
 */
function describeSubject(
  parts: SessionParts,
  { op, input, caller }: PeerRequest,
  id: string,
  isPane: boolean,
): string[] {
  const { session, localPanes, arrangement, content } = parts;
  const { windows, panes } = arrangement.state;
  const isBuffers = op.startsWith("buffer.");
  const buffers = isBuffers ? describeBuffers(session.buffers, op, input, caller) : [];
  if (isBuffers && op !== "buffer.paste") return buffers;
  if (!isPane && (affectedBy(op).affects === "session" || !isOfLayout(op))) {
    const all = Object.keys(panes).length;
    return [`the whole session, with ${plural(windows.length, "window")} and ${plural(all, "pane")}`];
  }
  const local = localPanes.get(id);
  const program = local === undefined ? null : foregroundName(local.pane.foreground);
  const pane = `pane ${id}${program === null ? "" : `, which runs ${quoted(program)}`}`;
  if (panes[id] === undefined) return [pane, ...buffers];
  const window = windowWith(arrangement.state, id);
  const inWindow = `window ${window.index} ${quoted(content.nameOf(window))}`;
  const isWindow = findOperation(op)?.subject === "window";
  return [
    isWindow ? `${inWindow}, with ${plural(panesIn(window).length, "pane")}` : `${pane}, in ${inWindow}`,
    ...buffers,
  ];
}

/** What a permission given once depends on: it must be the same when the call begins. */
function stateFingerprint(
  parts: SessionParts,
  { op, input, caller }: PeerRequest,
  pane: string,
  isPane: boolean,
): string {
  const { session, arrangement, localPanes, sessionNumber } = parts;
  const { state } = arrangement;
  const buffers = op.startsWith("buffer.") ? describeBuffers(session.buffers, op, input, caller) : [];
  const window = isOfLayout(op) && state.panes[pane] !== undefined ? windowWith(state, pane) : null;
  const { affects } = affectedBy(op);
  const isOne = window === null || affects === "pane";
  const panes = affects === "session" ? Object.keys(state.panes) : isOne ? [] : panesIn(window);
  // Text that one program takes as data is a command for the next.
  const isForProgram = findOperation(op)?.types === true || op === "session.signal";
  const program = isForProgram ? foregroundName(localPanes.get(pane)?.pane.foreground ?? null) : null;
  const shownIn = localPanes.get(pane)?.adoptedBy?.number ?? sessionNumber;
  return JSON.stringify([pane, isPane, shownIn, window?.id ?? null, panes.toSorted(), buffers, program]);
}

/** The buffers that a request reads, changes or deletes; of a pasted one the whole text. */
function describeBuffers(buffers: PasteBuffers, op: string, input: unknown, by: Caller): string[] {
  const { buffer, new_name, all } = parse(BufferSchema, input);
  const listed = buffers.list();
  if (all === true) return [`all ${plural(listed.length, "paste buffer")}`];
  const named = buffer ?? (op === "buffer.set" || op === "buffer.list" ? undefined : buffers.newestName(by));
  return [named, new_name].flatMap((name) => {
    const found = listed.find((each) => each.name === name);
    if (found === undefined) return [];
    const text = op === "buffer.paste" ? buffers.get(found.name, by).text : found.begins;
    return [`buffer ${quoted(found.name)}, which contains ${visibleJson(text)}`];
  });
}
