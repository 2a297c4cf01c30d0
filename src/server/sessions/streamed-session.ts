/** A session's process as streams use it: here, or on another machine. Types only. */
import type { SessionInfo } from "../../protocol/session.ts";
import type { Dial } from "../../wire/connection.ts";

export interface StreamedSession {
  /** Of its socket. */
  readonly address: string | Dial;
  /** Names and ids for callers of this server. */
  readonly info: Pick<SessionInfo, "id" | "name" | "pane_id">;
}

/** One pane of a session as streams use it. */
export interface StreamedPane extends StreamedSession {
  /** The target, as its machine calls it. */
  readonly target: string;
  /** Its session has other panes: it is named by its own id. */
  readonly isPart: boolean;
}

export interface StreamedSessions {
  /**
   * The process that serves a target's session.
   * @param only id of the one session that the caller may use
   * @throws WshError session_not_found, and those of another machine's link
   */
  find(target: string, only?: string): Promise<StreamedSession>;
  /** The pane that a target means. @throws WshError as find; pane_not_found */
  pane(target: string, only?: string): Promise<StreamedPane>;
}
