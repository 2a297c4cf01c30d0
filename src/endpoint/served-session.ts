/** The interface between a session's socket and its contents. Types only. */

import type { Binding } from "../keys/bindings.ts";
import type { AgentInfo } from "../protocol/agent.ts";
import type { Acting } from "../protocol/caller.ts";
import type { WshError } from "../protocol/errors.ts";
import type { WireMessage } from "../protocol/messages.ts";
import type { Session } from "../session/session.ts";
import type { Submission } from "../session/submitted-lines.ts";
import type { PriorQuestion } from "../session/windows/prior-questions.ts";
import type { DisplayedContent } from "../viewer/terminal/displayed-content.ts";
import type { Peer, PeerRequest } from "../wire/peer.ts";

/** A peer's one stream. */
export interface PeerStream {
  receive(message: WireMessage): void;
  /** The connection is gone. */
  close(): void;
}

/** A window in a stream's request. */
export interface StreamedWindow {
  /** Its current id; null: the requested window is gone. */
  readonly id: string | null;
  readonly content: DisplayedContent;
  dispose(): void;
}

/** Streams other than terminals. */
export interface ClientStreams {
  /**
   * Begins, or changes, the stream of a peer.
   * @param currentStream the peer's stream so far, none at first
   * @param register registers the new stream, which counts as a client of the session; throws at the limit of clients
   * @returns the answer
   */
  request(
    request: PeerRequest,
    peer: Peer,
    currentStream: PeerStream | undefined,
    register: (stream: () => PeerStream) => void,
  ): Promise<unknown>;
}

/** How the served process reports to the servers that watch it. */
export interface WatcherReports {
  /** Something that a list shows may have changed. Runs per chunk and per input. */
  changed(): void;
  /** The AI agent of a pane has changed; null: it is gone. */
  agent(pane: string, agent: AgentInfo | null): void;
  /** Sends an event with the session's newest info. */
  sendEvent(event: string, fields?: object): void;
}

/** How a key's binding is executed. */
export interface BindingContext {
  /** The person who pressed the key, with their rights. */
  readonly by: Acting;
  /** Subject of the earlier question to the person; absent: the focused pane. */
  readonly about?: string;
  /** Ends when the person gives up. */
  readonly signal?: AbortSignal;
}

export interface ServedSession {
  readonly session: Session;
  /** `@7`, for the audit log. */
  readonly paneId: string;
  /**
   * Returns a function that finds the session of a request's subject (a pane may move to another session) and returns
   * its id.
   */
  subjectSessionId(request: Pick<PeerRequest, "op" | "target">): () => string;
  /** Called once, before the first request. */
  watchEvents(watchers: WatcherReports): void;
  /** The contents for an attaching terminal, and their session; a pane alone has its own. @throws WshError */
  contentFor(request: PeerRequest, peer: Peer): { readonly content: DisplayedContent; readonly session: Session };
  /** A shown window. @param target its id, index or name; absent: the active one @throws WshError pane_not_found */
  streamedWindow(target: string | undefined): StreamedWindow;
  /** The question that the person must answer before the binding of a pressed key is executed; null: there is none. */
  priorQuestion(binding: Binding, content: DisplayedContent): Promise<PriorQuestion | null>;
  /**
   * Executes the operation that is bound to a pressed key.
   * @returns the operation's answer
   * @throws WshError of the operation
   */
  runBinding(binding: Binding, content: DisplayedContent, context: BindingContext): Promise<unknown>;
  /**
   * Finds the keypress that started a client in the pane, whose terminal that client can switch to another session.
   * @returns null when the client does not run at the pane's own terminal
   * @throws WshError nested_session when no keypress started it
   */
  findStartingKey(pid: number): Submission | null;
  /** Updates `session.info()`: asks the sources of views. */
  refresh(): Promise<void>;
  /**
   * Handles a request between processes (`peer.…`), except those that the socket handles itself.
   * @throws WshError unknown_method
   */
  handlePeerRequest(request: PeerRequest, peer: Peer): Promise<unknown>;
  /** A signal from outside ends the session: its stored state is updated and kept. */
  saveBeforeEnd(signal: string): Promise<void>;
  /** The session ends because its restore has failed: its stored state remains unchanged. */
  restoreFailed(): void;
  /**
   * Handles an operation. An AI agent needs permission for a request that takes part in the session or ends it.
   * @throws WshError of the operation, access_denied
   */
  operate(request: PeerRequest, peer: Peer): Promise<unknown>;
  /** Whether a person has allowed an AI agent (by its name as an owner) everything in this session. */
  readonly permission: { allowanceCheck(name: string): Promise<() => boolean> };
  /** Whether the session is private, or shows a private one. */
  isPrivate(): boolean;
  /** Why an AI agent may no longer use what it has begun; null: it may. */
  findDenial(request: PeerRequest): Promise<WshError | null>;
  /** Loads the streams other than terminals. */
  loadClientStreams(): Promise<ClientStreams>;
}
