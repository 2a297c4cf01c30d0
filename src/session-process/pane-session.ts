/** The session of one pane that runs here. */
import type { Pane } from "../pane/pane.ts";
import type { Session } from "../session/session.ts";

export type PaneSession = Session<Pane>;
