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
import type { Content } from "./panes/content.ts";
import type { LocalPane } from "./panes/local-pane.ts";
import type { Permission } from "./permission.ts";

export interface SessionParts {
  readonly session: Session<Content>;
  readonly arrangement: Arrangement;
  readonly content: Content;
  readonly instance: Instance;
  readonly settings: Settings;
  /** The process's own id in the registry. */
  readonly processId: number;
  /** The session's number. */
  readonly number: number;
  /** Panes that run here, by their ids; those that have left the layout as long as they can be read. */
  readonly locals: ReadonlyMap<string, LocalPane>;
  /** Which agents may act on what is not theirs. */
  readonly permission: Permission;
  /** Stored state of its panes. */
  readonly keeper: PaneKeeper;
  /** Finds the session of a request's subject. @returns its id at the time of the call */
  owner(request: Pick<PeerRequest, "op" | "target">): () => string;
  /** @throws WshError pane_not_found */
  place(target: string | undefined): Subject;
  /** The pane that a request is about. @throws WshError pane_not_found, moved where another process has it */
  localFor(target: string | undefined): LocalPane;
  /** The id of the target's pane, which may have left the layout as long as it can be read. @throws WshError pane_not_found */
  paneFor(target: string | undefined): string;
  /** Starts a program in a new pane, which no window shows so far. @throws WshError of sessions.create */
  start(program: NewPane, size: Size): Promise<LocalPane>;
  /** The error that names the process which serves the pane of a request. */
  elsewhere(pane: string, target: string | undefined): WshError;
}

/** The program of a new pane. */
export interface NewPane {
  readonly create: Pick<PaneRequest["create"], "command" | "cwd" | "shell" | "env" | "stdin">;
  /** Directory of the caller, if the request names none. */
  readonly cwd: string;
  readonly window: number;
  readonly byPerson: boolean;
  readonly owner: Owner;
  /** It is gone with its program: nothing of it is kept. */
  readonly isPopup?: boolean;
  /** The file that its program gets as standard output instead of the terminal. */
  readonly printPath?: string;
}
