/**
 * Open requests and streams of callers with limited rights: a token of one session, an AI agent. When a pane moves to
 * another session, or a session becomes private, those that their caller may no longer use are ended.
 */
import { eitherSignal } from "../base/either-signal.ts";
import { permissionFor, requireOwnSession } from "../operations/rights.ts";
import { WshError } from "../protocol/errors.ts";
import { agentOfCaller } from "../protocol/owner.ts";
import type { PeerRequest } from "../wire/peer.ts";

/** Id of the session that now owns the used pane. */
type Owner = () => string;

interface OpenRequest {
  readonly request: PeerRequest;
  readonly owner: Owner;
  /** For a stream: the session in which it began. */
  readonly beganIn?: string;
  end(error: WshError): void;
}

/** Returns why a request may no longer be made; null: it may. */
type FindDenial = (request: PeerRequest) => Promise<WshError | null>;

/** The requests that have begun or changed one stream. */
interface StreamRequests {
  readonly target: string | undefined;
  /** By the request's kind, since a later one may leave the earlier one's effect. */
  readonly releases: Map<string, () => void>;
}

export class LimitedCallers {
  private readonly openRequests = new Set<OpenRequest>();
  private readonly streams = new Map<object, StreamRequests>();

  /** Calls `end` when the caller may no longer use the subject of the request. @returns the release function */
  register(request: PeerRequest, owner: Owner, end: OpenRequest["end"]): () => void {
    return isLimited(request) ? this.add({ request, owner, end }) : () => {};
  }

  private add(open: OpenRequest): () => void {
    this.openRequests.add(open);
    return () => this.openRequests.delete(open);
  }

  /**
   * The same for a request that begins or changes a stream, until `releaseStream`.
   * @param peer carries the stream
   * @throws WshError invalid_request for another target: the stream keeps its own
   */
  registerStream(peer: object, request: PeerRequest, owner: Owner, end: OpenRequest["end"]): void {
    if (!isLimited(request)) return;
    const { op, target } = request;
    const stream = this.streams.get(peer) ?? { target, releases: new Map() };
    if (target !== stream.target)
      throw new WshError("invalid_request", `this connection carries a stream of '${stream.target ?? "the session"}'`);
    this.streams.set(peer, stream);
    const kind = `${op} ${permissionFor(request)}`;
    const endOnce = (error: WshError): void => {
      this.releaseStream(peer);
      end(error);
    };
    const release = this.add({ request, owner, beganIn: owner(), end: endOnce });
    stream.releases.get(kind)?.();
    stream.releases.set(kind, release);
  }

  releaseStream(peer: object): void {
    for (const release of this.streams.get(peer)?.releases.values() ?? []) release();
    this.streams.delete(peer);
  }

  /**
   * Executes a request for as long as the caller may use its subject.
   * @throws WshError session_not_found, access_denied
   */
  async whilePermitted<T>(request: PeerRequest, owner: Owner, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (!isLimited(request)) return run(request.signal);
    const controller = new AbortController();
    const denied = Promise.withResolvers<never>();
    const release = this.register(request, owner, (error) => {
      controller.abort();
      denied.reject(error);
    });
    try {
      using signals = eitherSignal(request.signal, controller.signal);
      return await Promise.race([run(signals.signal), denied.promise]);
    } finally {
      release();
    }
  }

  /** Rechecks the requests after a pane has moved to another session: a permission for the first does not cover it. */
  async recheckOwners(findDenial: FindDenial): Promise<void> {
    for (const open of [...this.openRequests]) {
      try {
        requireOwnSession(open.request, open.owner());
      } catch (error) {
        this.endRequest(open, error as WshError);
      }
    }
    const moved = [...this.openRequests].filter(({ beganIn, owner }) => beganIn !== undefined && beganIn !== owner());
    await this.recheckPermissions(findDenial, moved);
  }

  /** Rechecks the requests after a session has become private. */
  async recheckPermissions(findDenial: FindDenial, requests = [...this.openRequests]): Promise<void> {
    for (const open of requests) {
      // A check that fails denies the request.
      const error = await findDenial(open.request).catch(
        (thrown) => new WshError("access_denied", WshError.from(thrown).message),
      );
      if (error !== null) this.endRequest(open, error);
    }
  }

  private endRequest(open: OpenRequest, error: WshError): void {
    if (this.openRequests.delete(open)) open.end(error);
  }
}

function isLimited({ caller }: PeerRequest): boolean {
  return caller.only !== undefined || agentOfCaller(caller) !== null;
}
