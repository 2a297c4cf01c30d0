/**
 * The parameters and results of an operation's handler: types only, so that handlers import no table of handlers. A
 * handler gets the objects of the operation's scope, and nothing above it.
 */

import type { OperationScope } from "../../operations/define.ts";
import type { OperationNameOf, OperationOutput, ParsedInput } from "../../operations/table.ts";
import type { Access, Caller } from "../../protocol/caller.ts";
import type { ImageFormat } from "../../protocol/paste.ts";
import type { PortHolder } from "../../protocol/ports.ts";
import type { Notice } from "../../session/notice.ts";
import type { PasteBuffers } from "../../session/paste-buffers.ts";
import type { Answers } from "../../session/questions/types.ts";
import type { Session } from "../../session/session.ts";

export interface HandlerContext {
  readonly signal: AbortSignal;
  readonly caller: Caller;
  readonly access: Access;
  /** Current name of the session that shows the pane: replies repeat it. */
  readonly session: string;
  readonly sessionId: string;
  /** The session's questions to its person, from any pane. */
  readonly questions: Answers;
  /** The pane that the target names. @throws WshError pane_not_found */
  readonly pane: () => string;
  /** The paste buffers that the session can see. */
  readonly buffers: PasteBuffers;
  /** Stores a pasted image. @returns its path @throws WshError invalid_request */
  storeImage(bytes: Buffer, format: ImageFormat): Promise<string>;
  /** Shows a notice to the people at the pane. */
  readonly notice: Notice;
  /** The program that listens on a port, if the caller may learn of it. */
  findPortHolder(port: number): Promise<PortHolder | null>;
  /** The port that the session has on lease; null: it has none. */
  readonly leasedPort: number | null;
  /** Unix time in ms after which the operation is not begun. */
  readonly deadline?: number;
  /** The target as the caller wrote it; absent when the connection determines it. */
  readonly target?: string;
}

/** Handlers of the operations of a scope, with the objects they act on. */
export type Handlers<S extends OperationScope, Subject> = {
  readonly [N in OperationNameOf<S>]: (
    subject: Subject,
    input: ParsedInput<N>,
    context: HandlerContext,
  ) => OperationOutput<N> | Promise<OperationOutput<N>>;
};

export type SessionHandlers = Handlers<"session", Session>;
