/**
 * What a handler of an operation gets and returns: types only, so that handlers import no table of handlers. A handler
 * gets what the operation's scope names, the pane or the session, and nothing above it.
 */
import type { OperationNameOf, OperationOutput, ParsedInput } from "../../operations/table.ts";
import type { Pane } from "../../pane/pane.ts";
import type { Access, Caller } from "../../protocol/caller.ts";
import type { Session } from "../session.ts";

export interface HandlerContext {
  readonly signal: AbortSignal;
  readonly caller: Caller;
  readonly access: Access;
  /** Current name of the session that shows the pane: replies repeat it. */
  readonly session: string;
  /** The session's id, `@s3`. */
  readonly sessionId: string;
}

/** What the handlers of each scope act on. */
interface Subjects {
  readonly pane: Pane;
  readonly session: Session;
}

type Handlers<S extends keyof Subjects> = {
  readonly [N in OperationNameOf<S>]: (
    subject: Subjects[S],
    input: ParsedInput<N>,
    context: HandlerContext,
  ) => OperationOutput<N> | Promise<OperationOutput<N>>;
};

export type PaneHandlers = Handlers<"pane">;
export type SessionHandlers = Handlers<"session">;
