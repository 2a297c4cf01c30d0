/** Parameters and results of a pane operation's handler: types only, so that handlers import no table of handlers. */
import type { Handlers } from "../../endpoint/operations/context.ts";
import type { Pane } from "../../pane/pane.ts";

export type PaneHandlers = Handlers<"pane", Pane>;
