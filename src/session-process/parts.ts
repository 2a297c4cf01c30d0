/** The parts of a session that its handlers use. Types only. */
import type { Instance } from "../instance/paths.ts";
import type { WshError } from "../protocol/errors.ts";
import type { Owner } from "../protocol/owner.ts";
import type { Size } from "../protocol/size.ts";
import type { Session } from "../session/session.ts";
import type { Subject } from "../session/windows/state.ts";
import type { Settings } from "../settings/table.ts";
import type { PeerRequest } from "../wire/peer.ts";
import type { PaneRequest } from "./create.ts";
import type { PaneKeeper } from "./pane-keeper.ts";
import type { Arrangement } from "./panes/arrangement.ts";
import type { LocalPane } from "./panes/local-pane.ts";
import type { SessionContent } from "./panes/session-content.ts";
import type { Permission } from "./permission.ts";

export interface SessionParts {
  readonly session: Session<SessionContent>;
  readonly arrangement: Arrangement;
  readonly content: SessionContent;
  readonly instance: Instance;
  readonly settings: Settings;
  /** The process's own id in the registry. */
  readonly processId: number;
  /** The session's number. */
  readonly sessionNumber: number;
  /** Panes that run here, by id; those that have left the layout are included while they can be read. */
  readonly localPanes: ReadonlyMap<string, LocalPane>;
  /** Decides which agents may act on objects of others. */
  readonly permission: Permission;
  /** Stored state of its panes. */
  readonly keeper: PaneKeeper;
  /** Returns a function that returns the id of the session that has the request's subject at that moment. */
  subjectSessionId(request: Pick<PeerRequest, "op" | "target">): () => string;
  /** @throws WshError pane_not_found */
  findSubject(target: string | undefined): Subject;
  /** The pane of a request, which runs here. @throws WshError pane_not_found; moved if another process runs it */
  localPaneFor(target: string | undefined): LocalPane;
  /**
   * The id of the target's pane, which may have left the layout while it can still be read. @throws WshError
   * pane_not_found
   */
  paneIdFor(target: string | undefined): string;
  /** Starts a program in a new pane that no window shows yet. @throws WshError of sessions.create */
  startProgram(program: NewPaneProgram, size: Size): Promise<LocalPane>;
  /** The error that names the process which serves the pane of a request. */
  movedError(pane: string, target: string | undefined): WshError;
}

/** The program of a new pane. */
export interface NewPaneProgram {
  readonly create: Pick<PaneRequest["create"], "command" | "cwd" | "shell" | "env" | "stdin">;
  /** The caller's directory, used if the request names none. */
  readonly cwd: string;
  readonly window: number;
  readonly byPerson: boolean;
  readonly owner: Owner;
  /** Whether it disappears with its program. Nothing of it is stored then. */
  readonly isPopup?: boolean;
  /** The file that its program gets as standard output instead of the terminal. */
  readonly printPath?: string;
}
