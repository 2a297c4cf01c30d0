/** What a handler of a session operation gets and returns: its types alone, so that handlers import no table of handlers. */
import type { OperationOutput, ParsedInput, SessionOperationName } from "../../operations/table.ts";
import type { Access, Caller } from "../../protocol/caller.ts";
import type { Session } from "../../session/session.ts";

export interface HandlerContext {
  readonly signal: AbortSignal;
  readonly caller: Caller;
  readonly access: Access;
}

export type SessionHandlers = {
  readonly [N in SessionOperationName]: (
    session: Session,
    input: ParsedInput<N>,
    context: HandlerContext,
  ) => OperationOutput<N> | Promise<OperationOutput<N>>;
};
