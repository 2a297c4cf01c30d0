/** A session in its own process: its pane runs here. */
import type { Pane } from "../pane/pane.ts";
import type { Session as AnySession } from "../session/session.ts";

export type Session = AnySession<Pane>;
