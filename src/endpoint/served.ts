/** What a session's socket serves. Types only. */

import type { Binding } from "../keys/bindings.ts";
import type { AgentInfo } from "../protocol/agent.ts";
import type { Acting } from "../protocol/caller.ts";
import type { Message } from "../protocol/messages.ts";
import type { Entered } from "../session/entered.ts";
import type { Session } from "../session/session.ts";
import type { AskedFirst } from "../session/windows/asked-first.ts";
import type { Shown } from "../viewer/terminal/shown.ts";
import type { Peer, PeerRequest } from "../wire/peer.ts";

/** A peer's one stream. */
export interface PeerStream {
  receive(message: Message): void;
  /** The connection is gone. */
  close(): void;
}

/** A window as a stream has it. */
export interface StreamedWindow {
  /** Its id now; null when the window that was asked for is gone. */
  readonly id: string | null;
  readonly shown: Shown;
  dispose(): void;
}

/** Streams that are no terminals. */
export interface ClientStreams {
  /**
   * Begins, or changes, the stream of a peer.
   * @param known the peer's stream so far, none at first
   * @param begin registers the new stream, which counts as a client of the session; throws when there is no room
   * @returns the answer
   */
  request(
    request: PeerRequest,
    peer: Peer,
    known: PeerStream | undefined,
    begin: (stream: () => PeerStream) => void,
  ): Promise<unknown>;
}

/** How the served process reports to the servers that watch it. */
export interface Watchers {
  /** Something that a list shows may have changed. Runs per chunk and per input. */
  changed(): void;
  /** The AI agent of a pane has changed; null: there is none any more. */
  agent(pane: string, agent: AgentInfo | null): void;
  /** An event, with the session's newest info. */
  tell(event: string, fields?: object): void;
}

/** How what a key is bound to is carried out. */
export interface BoundHow {
  /** Whose key it was, and what they may do. */
  readonly by: Acting;
  /** What the person was asked about before; absent: what has the focus. */
  readonly about?: string;
  /** The person gives it up. */
  readonly signal?: AbortSignal;
}

export interface Served {
  readonly session: Session;
  /** `@7`, for the audit log. */
  readonly paneId: string;
  /** The session that has what a request is about: a pane may go to another. @returns its id as it is when called */
  owner(request: Pick<PeerRequest, "op" | "target">): () => string;
  /** Called once, before the first request. */
  begin(watchers: Watchers): void;
  /** What a terminal that attaches is shown, and in which session: of a pane alone, its own. @throws WshError */
  shown(request: PeerRequest, peer: Peer): { readonly shown: Shown; readonly session: Session };
  /** A window as it is shown. @param target its id, index or name; absent: the active one @throws WshError pane_not_found */
  window(target: string | undefined): StreamedWindow;
  /** What a person is asked before a key that they pressed is carried out; null: nothing. */
  askedFirst(binding: Binding, shown: Shown): Promise<AskedFirst | null>;
  /**
   * A person pressed a key that is bound to an operation.
   * @returns the operation's answer
   * @throws WshError of the operation
   */
  bound(binding: Binding, shown: Shown, how: BoundHow): Promise<unknown>;
  /**
   * Whose key started a client that runs in the pane and wants its person's terminal to show another session.
   * @returns null when it does not run at the pane's own terminal
   * @throws WshError nested_session when a program started it, or nobody
   */
  startedBy(pid: number): Entered | null;
  /** Brings what `session.info()` says up to date: what views show is asked. */
  refresh(): Promise<void>;
  /** Handles a request between processes (`host.…`) that is not of the socket itself. @throws WshError unknown_method */
  between(request: PeerRequest, peer: Peer): Promise<unknown>;
  /** The session ends by a signal from outside: what is kept of it is brought up to date, and stays. */
  endedFromOutside(signal: string): Promise<void>;
  /** The session ends because its restore has failed: what is kept of it stays as it was. */
  restoreUndone(): void;
  /** Handles a request that is not of the socket itself. */
  operate(request: PeerRequest, peer: Peer): Promise<unknown>;
  /** Loads the streams that are no terminals. */
  clients(): Promise<ClientStreams>;
}
