/** A session's process, here or on another machine, for streams. Types only. */
import type { SessionInfo } from "../../protocol/session.ts";
import type { Dial } from "../../wire/connection.ts";

export interface StreamedSession {
  /** Address of its socket. */
  readonly address: string | Dial;
  /** Names and ids for callers of this server. */
  readonly info: Pick<SessionInfo, "id" | "name" | "pane_id">;
}

/** One pane of a session, for streams. */
export interface StreamedPane extends StreamedSession {
  /** The target, in the notation of its machine. */
  readonly target: string;
  /** Whether its session has other panes, or another process runs it: then it is named by its own id. */
  readonly isPart: boolean;
}

export interface StreamedSessions {
  /**
   * The process that serves a target's session.
   * @param only id of the only session that the caller may use
   * @throws WshError session_not_found, and errors of another machine's link
   */
  find(target: string, only?: string): Promise<StreamedSession>;
  /** The pane that a target names. @throws WshError like find; pane_not_found */
  pane(target: string, only?: string): Promise<StreamedPane>;
}
