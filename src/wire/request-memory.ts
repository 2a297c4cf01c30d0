/**
 * Executes each request with an id once. A repeated request gets the same answer, or waits for the running one; answers
 * are kept for REMEMBERED_MS, within the limits of bytes and ids.
 *
 * Invariant: this memory never lets a request be executed a second time. It knows every id received since
 * `knownSince`; an unknown id that was first sent before that may have been executed, and is refused with
 * `outcome_unknown`. Forgetting an id, for any reason, moves `knownSince`.
 *
 * A caller that disconnects may ask again: its request continues for ORPHAN_MS and is aborted then. A cancelled request
 * is aborted at once.
 */
import { type Clock, systemClock } from "../base/clock.ts";
import { WshError } from "../protocol/errors.ts";
import { ORPHAN_MS, REMEMBERED_MS, type RequestKey } from "../protocol/requests.ts";

interface RequestMemoryLimits {
  /** Requests that are remembered. */
  readonly ids: number;
  /** Bytes of their answers; the oldest answers are dropped first, leaving a note that the request was done. */
  readonly bytes: number;
}

interface RequestCaller {
  readonly signal: AbortSignal;
  /** Whether the caller's connection is lost; otherwise an aborted signal means that the request was cancelled. */
  readonly isGone: () => boolean;
}

interface RememberedRequest {
  readonly digest: string;
  /** Unix time in ms. */
  readonly receivedAt: number;
  /** The work; null once it is answered. */
  work: {
    readonly result: Promise<unknown>;
    readonly stop: AbortController;
    callers: number;
    orphaned: Disposable | null;
  } | null;
  /** JSON of `{result}` or `{error}`; null: pending, or dropped. */
  answer: string | null;
  answeredAt: number;
}

/** Errors that leave the outcome open: asking again resolves it, so they are not stored. */
const undecided: ReadonlySet<string> = new Set([
  ...["session_unavailable", "session_crashed", "session_not_found", "server_unavailable", "lock_busy"],
  ...["machine_unreachable", "outcome_unknown", "cancelled"],
]);

export class RequestMemory implements Disposable {
  private readonly requests = new Map<string, RememberedRequest>();
  private knownSince: number;
  private bytes = 0;
  private timer: Disposable | null = null;

  /** @param forgetsUndecided do not store an error that leaves the outcome open: the executing process knows it */
  constructor(
    private readonly limits: RequestMemoryLimits,
    private readonly forgetsUndecided = false,
    private readonly clock: Clock = systemClock,
  ) {
    this.knownSince = clock.wall();
  }

  /** Ids that are remembered. */
  get size(): number {
    return this.requests.size;
  }

  /**
   * @param isLast no other process remembers the request: an unknown one older than this memory is refused
   * @throws WshError request_conflict, outcome_unknown, and errors of `run`
   */
  async answer(
    { key, digest, first_at: firstAt }: RequestKey,
    caller: RequestCaller,
    run: (signal: AbortSignal) => Promise<unknown>,
    isLast = true,
  ): Promise<unknown> {
    this.prune();
    const remembered = this.requests.get(key);
    if (remembered === undefined) {
      if (isLast && firstAt !== undefined && firstAt <= this.knownSince) throw unknownSince();
      return this.begin(key, digest, caller, run);
    }
    if (remembered.digest !== digest) throw new WshError("request_conflict", "another request used the same id");
    if (remembered.work !== null) return this.join(remembered, remembered.work, caller);
    if (remembered.answer === null)
      throw new WshError("outcome_unknown", "the request was carried out, but its answer is no longer kept");
    const stored: { result?: unknown; error?: object } = JSON.parse(remembered.answer);
    if (stored.error !== undefined) throw WshError.fromBody(stored.error);
    return stored.result;
  }

  /** Aborts a running request, if any. */
  cancel(key: string): void {
    this.requests.get(key)?.work?.stop.abort();
  }

  [Symbol.dispose](): void {
    this.timer?.[Symbol.dispose]();
    for (const { work } of this.requests.values()) work?.orphaned?.[Symbol.dispose]();
    this.requests.clear();
  }

  private begin(
    key: string,
    digest: string,
    caller: RequestCaller,
    run: (signal: AbortSignal) => Promise<unknown>,
  ): Promise<unknown> {
    const stop = new AbortController();
    const remembered: RememberedRequest = {
      digest,
      receivedAt: this.clock.wall(),
      work: null,
      answer: null,
      answeredAt: 0,
    };
    this.requests.set(key, remembered);
    // Begins in this turn: no later request overtakes it.
    const result = started(run, stop.signal).then(
      (value) => {
        this.settle(key, remembered, JSON.stringify({ result: value ?? {} }));
        return value;
      },
      (thrown) => {
        const error = WshError.from(thrown);
        if (error.code === "moved") this.remove(key, remembered);
        else if (this.forgetsUndecided && undecided.has(error.code)) this.forget(key, remembered);
        else this.settle(key, remembered, JSON.stringify({ error: error.toBody() }));
        throw thrown;
      },
    );
    result.catch(() => {});
    const work = { result, stop, callers: 0, orphaned: null };
    remembered.work = work;
    return this.join(remembered, work, caller);
  }

  private async join(
    remembered: RememberedRequest,
    work: NonNullable<RememberedRequest["work"]>,
    { signal, isGone }: RequestCaller,
  ): Promise<unknown> {
    work.callers++;
    work.orphaned?.[Symbol.dispose]();
    work.orphaned = null;
    const left = Promise.withResolvers<never>();
    left.promise.catch(() => {});
    const leave = (): void => {
      if (!isGone()) {
        // The request itself reports how it ended.
        work.stop.abort();
        return;
      }
      left.reject(new WshError("cancelled", "the caller is gone"));
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    try {
      return await Promise.race([work.result, left.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
      work.callers--;
      if (work.callers === 0 && remembered.work === work) {
        work.orphaned = this.clock.after(ORPHAN_MS, () => work.stop.abort());
      }
    }
  }

  private settle(key: string, remembered: RememberedRequest, answer: string): void {
    remembered.work?.orphaned?.[Symbol.dispose]();
    remembered.work = null;
    remembered.answeredAt = this.clock.wall();
    // Moves it to the end of the answered requests.
    this.requests.delete(key);
    this.requests.set(key, remembered);
    remembered.answer = answer;
    this.bytes += answer.length;
    for (const each of this.requests.values()) {
      if (this.bytes <= this.limits.bytes) break;
      this.drop(each);
    }
    this.prune();
    this.timer ??= this.clock.after(REMEMBERED_MS, () => this.expire());
  }

  private drop(known: RememberedRequest): void {
    this.bytes -= known.answer?.length ?? 0;
    known.answer = null;
  }

  private remove(key: string, known: RememberedRequest): void {
    this.drop(known);
    known.work?.orphaned?.[Symbol.dispose]();
    this.requests.delete(key);
  }

  private forget(key: string, known: RememberedRequest): void {
    this.remove(key, known);
    this.knownSince = Math.max(this.knownSince, known.receivedAt);
  }

  /** Drops old and surplus entries; running requests stay. */
  private prune(): void {
    const oldest = this.clock.wall() - REMEMBERED_MS;
    for (const [key, known] of this.requests) {
      if (known.work !== null) continue;
      if (known.answeredAt >= oldest && this.requests.size <= this.limits.ids) break;
      this.forget(key, known);
    }
  }

  private expire(): void {
    this.timer = null;
    this.prune();
    if (this.requests.size === 0) return;
    this.timer = this.clock.after(REMEMBERED_MS, () => this.expire());
  }
}

async function started(run: (signal: AbortSignal) => Promise<unknown>, signal: AbortSignal): Promise<unknown> {
  return run(signal);
}

function unknownSince(): WshError {
  return new WshError(
    "outcome_unknown",
    "the request may or may not have been carried out: its receiver no longer remembers it",
  );
}
