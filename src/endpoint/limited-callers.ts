/**
 * What callers of one session have open in this process: requests that are being carried out, and streams. A pane may go
 * to another session: then each of them ends, since its caller may not use that one.
 */
import { eitherSignal } from "../base/either-signal.ts";
import { requireOwnSession } from "../operations/rights.ts";
import type { Acting } from "../protocol/caller.ts";

/** Id of the session that has what is used, now. */
export type Owner = () => string;

interface Held {
  readonly by: Pick<Acting, "caller">;
  readonly owner: Owner;
  end(error: unknown): void;
}

export class LimitedCallers {
  private readonly held = new Set<Held>();

  /** Calls `end` when what is used is another session's than the caller's. @returns what lets go of it */
  hold(by: Pick<Acting, "caller">, owner: Owner, end: Held["end"]): () => void {
    if (by.caller.only === undefined) return () => {};
    const held = { by, owner, end };
    this.held.add(held);
    return () => this.held.delete(held);
  }

  /** Carries out a request for as long as the caller may use what it is about. @throws WshError session_not_found */
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
