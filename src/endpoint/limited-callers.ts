/**
 * Open requests and streams in this process of callers that are limited to one session. When a pane moves to another
 * session, each of them ends, since its caller may not use that one.
 */
import { eitherSignal } from "../base/either-signal.ts";
import { requireOwnSession } from "../operations/rights.ts";
import type { Acting } from "../protocol/caller.ts";

/** Id of the session that now owns the used pane. */
export type Owner = () => string;

interface LimitedCaller {
  readonly by: Pick<Acting, "caller">;
  readonly owner: Owner;
  end(error: unknown): void;
}

export class LimitedCallers {
  private readonly held = new Set<LimitedCaller>();

  /** Calls `end` when the pane belongs to another session than the caller's. @returns the release function */
  hold(by: Pick<Acting, "caller">, owner: Owner, end: LimitedCaller["end"]): () => void {
    if (by.caller.only === undefined) return () => {};
    const held = { by, owner, end };
    this.held.add(held);
    return () => this.held.delete(held);
  }

  /** Executes a request for as long as the caller may use its subject. @throws WshError session_not_found */
  async within<T>(
    request: Pick<Acting, "caller"> & { readonly signal: AbortSignal },
    owner: Owner,
    run: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (request.caller.only === undefined) return run(request.signal);
    const over = new AbortController();
    const gone = Promise.withResolvers<never>();
    const release = this.hold(request, owner, (error) => {
      over.abort();
      gone.reject(error);
    });
    try {
      using either = eitherSignal(request.signal, over.signal);
      return await Promise.race([run(either.signal), gone.promise]);
    } finally {
      release();
    }
  }

  /** A pane has gone to another session. */
  joined(): void {
    for (const held of [...this.held]) {
      try {
        requireOwnSession(held.by, held.owner());
      } catch (error) {
        this.held.delete(held);
        held.end(error);
      }
    }
  }
}
