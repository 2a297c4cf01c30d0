/**
 * Open requests and streams of callers with limited rights: a token of one session, an AI agent. When a pane moves to
 * another session, or a session becomes private, those that their caller may no longer use are ended.
 */
import { eitherSignal } from "../base/either-signal.ts";
import { requireOwnSession } from "../operations/rights.ts";
import { WshError } from "../protocol/errors.ts";
import { agentOfCaller } from "../protocol/owner.ts";
import type { PeerRequest } from "../wire/peer.ts";

/** Id of the session that now owns the used pane. */
type Owner = () => string;

interface HeldRequest {
  readonly request: PeerRequest;
  readonly owner: Owner;
  end(error: WshError): void;
}

export class LimitedCallers {
  private readonly heldRequests = new Set<HeldRequest>();

  /** Calls `end` when the caller may no longer use the subject of the request. @returns the release function */
  hold(request: PeerRequest, owner: Owner, end: HeldRequest["end"]): () => void {
    if (!isLimited(request)) return () => {};
    const held = { request, owner, end };
    this.heldRequests.add(held);
    return () => this.heldRequests.delete(held);
  }

  /** Executes a request for as long as the caller may use its subject. @throws WshError session_not_found, access_denied */
  async whilePermitted<T>(request: PeerRequest, owner: Owner, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (!isLimited(request)) return run(request.signal);
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

  /** Rechecks the requests after a pane has moved to another session. */
  paneMoved(): void {
    for (const held of [...this.heldRequests]) {
      try {
        requireOwnSession(held.request, held.owner());
      } catch (error) {
        this.endRequest(held, error as WshError);
      }
    }
  }

  /**
   * Rechecks the requests after a session has become private.
   * @param lacks returns why a request may no longer be made; null: it may
   */
  async recheck(lacks: (request: PeerRequest) => Promise<WshError | null>): Promise<void> {
    for (const held of [...this.heldRequests]) {
      // Without an answer, a caller may not.
      const error = await lacks(held.request).catch(
        (thrown) => new WshError("access_denied", WshError.from(thrown).message),
      );
      if (error !== null && this.heldRequests.has(held)) this.endRequest(held, error);
    }
  }

  private endRequest(held: HeldRequest, error: WshError): void {
    this.heldRequests.delete(held);
    held.end(error);
  }
}

function isLimited({ caller }: PeerRequest): boolean {
  return caller.only !== undefined || agentOfCaller(caller) !== null;
}
