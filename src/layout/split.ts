/** The parts of a session with several panes, as its handlers see them. Types only. */
import type { Instance } from "../instance/paths.ts";
import type { WshError } from "../protocol/errors.ts";
import type { Session } from "../session/session.ts";
import type { Place } from "../session/windows/state.ts";
import type { Arrangement } from "./arrangement.ts";
import type { Content } from "./content.ts";
import type { PaneStarter } from "./pane-starter.ts";

export interface Split {
  readonly session: Session<Content>;
  readonly arrangement: Arrangement;
  readonly content: Content;
  readonly starter: PaneStarter;
  readonly instance: Instance;
  /** The layout process's own id in the registry. */
  readonly host: number;
  /** The session's number. */
  readonly number: number;
  /** @throws WshError pane_not_found */
  place(target: string | undefined): Place;
  /** Where the pane that a request is about is served, as the error that says so. @throws WshError pane_not_found */
  elsewhere(target: string | undefined): WshError;
}
