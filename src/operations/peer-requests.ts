/**
 * Requests to a session's process besides operations: streams, and what processes ask each other. Each is
 * described here once: who may make it, and whose objects it affects. Loads no schemas, like rights.ts. A
 * request that is missing here, or names no caller, is only for session processes.
 */
import type { Access } from "../protocol/caller.ts";
import type { Operation } from "./define.ts";

interface PeerRequestKind {
  /** Required access of a caller outside this account; absent: only processes of this account may make it. */
  readonly access?: Access;
  /**
   * For an AI agent's own programs. `read`: needs a person's permission in a private session; `change`: in any session
   * not its own; `free`: it neither shows nor changes others' data, or concerns a stream that is already open. Absent:
   * refused.
   */
  readonly forAgents?: "read" | "change" | "free";
  readonly affects?: Operation["affects"];
  /** The stream shows the session's focused window, unless its target is one pane. */
  readonly showsWindow?: true;
  /** It is for the pane that the target names, not for the session. */
  readonly concernsPane?: true;
  /** It begins a stream or changes it: it is handled in order with the typed input. */
  readonly isOfStream?: true;
  /**
   * The audit log omits it: it only keeps a connection or a terminal up to date, or contains a secret, of which not even
   * the length is recorded.
   */
  readonly isUnrecorded?: true;
  /** Summary in the dialog that asks a person for permission. */
  readonly summary?: string;
}

const free = { access: "observe", forAgents: "free" } as const;
const update = { ...free, isUnrecorded: true } as const;

const kinds: Readonly<Record<string, PeerRequestKind>> = {
  "peer.ping": update,
  "peer.resolve": free,
  "peer.client": { ...free, isOfStream: true },
  "peer.written": update,
  "peer.release": update,
  "peer.give_back": update,
  "peer.colors": update,
  "peer.settings": update,
  "peer.help": update,
  "peer.look": update,
  "peer.focus": update,
  "peer.watched": update,
  "peer.by_agent": free,
  "peer.command": { access: "operate", forAgents: "free", isUnrecorded: true },
  "peer.shown_in": { forAgents: "free", isUnrecorded: true },
  "peer.keys": { forAgents: "free", isUnrecorded: true },
  "peer.watch": { forAgents: "free", isUnrecorded: true },
  // The caller chooses the process by which it is judged.
  "peer.go": { forAgents: "change", summary: "Show another session at the terminal that is attached to this one" },
  "peer.subscribe": {
    access: "observe",
    forAgents: "read",
    summary: "Read what a private session does",
    isOfStream: true,
  },
  "peer.follow": {
    access: "observe",
    forAgents: "read",
    summary: "Read a command's output in a private session",
    isOfStream: true,
  },
  "peer.window": {
    access: "observe",
    forAgents: "read",
    showsWindow: true,
    isOfStream: true,
    summary: "Read the screen of a private session",
  },
  "peer.terminal": { forAgents: "read" },
  "peer.checkpoint": { forAgents: "read", summary: "Save what a private session shows" },
  "peer.attach": {
    access: "observe",
    forAgents: "change",
    affects: "session",
    showsWindow: true,
    isOfStream: true,
    summary: "Attach a terminal that can type and affects the size",
  },
  "peer.raw": {
    access: "observe",
    forAgents: "change",
    affects: "pane",
    concernsPane: true,
    isOfStream: true,
    summary: "Type through a stream of bytes",
  },
  "peer.end": { forAgents: "change", affects: "session", summary: "End the session" },
  "peer.leave": { access: "operate", forAgents: "change", affects: "session", concernsPane: true },
  "peer.secret": { isUnrecorded: true },
  "peer.secret_prompt": { isUnrecorded: true },
  "peer.caller_gone": { isUnrecorded: true },
  "peer.owner_gone": { isUnrecorded: true },
};

const unlisted: PeerRequestKind = {};

export function peerRequest(op: string): PeerRequestKind {
  return kinds[op] ?? unlisted;
}

/**
 * The requests of callers outside this account, with the access that each requires. One that changes something also
 * checks whether the stream's terminal is read-only.
 */
export const streamRequests: ReadonlyMap<string, Access> = new Map(
  Object.entries(kinds).flatMap(([op, { access }]) => (access === undefined ? [] : [[op, access] as const])),
);
