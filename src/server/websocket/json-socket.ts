/**
 * JSON over a WebSocket: requests in order, answers with their ids, events in between (docs/protocol.md, JSON for one
 * session). Shared by both levels: a request is parsed here, its method looked up in the operation table, its answer
 * written. Requests run one after the other; those that wait for something in a session begin in order and answer
 * later. Everything running ends with the connection.
 */

import * as v from "valibot";
import { eitherSignal } from "../../base/either-signal.ts";
import { withOutcome } from "../../log/audit/outcome.ts";
import { type Call, type CallContext, requireUsable } from "../../operations/call.ts";
import type { Operation } from "../../operations/define.ts";
import { type OperationName, operations } from "../../operations/table.ts";
import { unknownFields, unknownFieldWarnings } from "../../operations/unknown-fields.ts";
import { defined, present } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { SubscribeSchema, type Subscription } from "../../protocol/events.ts";
import { parse } from "../../protocol/parse.ts";
import { type WindowSubscription, WindowSubscriptionSchema } from "../../protocol/window-stream.ts";
import type { CallRecord } from "../observe/observed-call.ts";
import type { StreamedSessions } from "../sessions/streamed-session.ts";
import { errorBody, type WebSocketEndpoint, type WebSocketPeer } from "./websockets.ts";

/** Maximum queued requests of one connection. */
const MAX_WAITING_REQUESTS = 256;

/** Longest text of a `ping`, in characters. */
const MAX_PING_LENGTH = 100;

/** Time for which the end of a session waits for the answer to the call that ended it, in ms. */
const LAST_ANSWER_MS = 2_000;

const RequestSchema = v.object({
  id: v.optional(v.unknown()),
  method: v.string(),
  params: v.optional(v.nullable(v.record(v.string(), v.unknown()))),
  session: v.optional(v.nullable(v.string())),
});

export interface JsonRequest {
  /** Absent when the client gave none or null. */
  readonly id?: unknown;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly session: string | undefined;
}

const methods: ReadonlyMap<string, Operation<OperationName>> = new Map(
  operations.flatMap((operation) => operation.ws.map((method) => [method, operation] as const)),
);

export function operationOf(method: string): Operation<OperationName> | undefined {
  return methods.get(method);
}

/** @throws WshError invalid_request */
export function parseRequest(text: string): JsonRequest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new WshError("invalid_request", `not JSON: ${error instanceof Error ? error.message : error}`);
  }
  const { id, method, params, session } = parse(RequestSchema, value);
  requireUsable(id);
  return { ...present({ id }), method, params: params ?? {}, session: session ?? undefined };
}

/** @throws WshError invalid_request, invalid_format */
export function parseSubscription(params: unknown): Subscription {
  requireUsable(params);
  return parse(SubscribeSchema, params);
}

/** @throws WshError invalid_request */
export function parseWindowSubscription(params: unknown): WindowSubscription {
  requireUsable(params);
  return parse(WindowSubscriptionSchema, params);
}

export interface JsonSocketOptions {
  readonly sources: StreamedSessions;
  readonly call: Call;
  /** The caller, without signal and session. */
  readonly context: Omit<CallContext, "signal">;
  /** Maximum requests of one connection that run at the same time. */
  readonly maxWaits: number;
  /** The connection has ended, and its caller's captures with it. */
  readonly callerGone: (id: string) => void;
  /** Records actions other than operations, when there is an audit log. */
  readonly audit: (record: CallRecord) => void;
}

export abstract class JsonSocket implements WebSocketEndpoint {
  protected socket: WebSocketPeer | null = null;
  private readonly endController = new AbortController();
  private readonly waitingMessages: string[] = [];
  private isWorking = false;
  private afterWork: (() => void) | null = null;
  private runningCount = 0;
  /** The pending await_idle of each session, which a newer one replaces. */
  private readonly idleWaits = new Map<string, AbortController>();

  constructor(protected readonly options: JsonSocketOptions) {}

  open(socket: WebSocketPeer): void {
    this.socket = socket;
    this.send({ connected: true });
  }

  message(data: string | Uint8Array): void {
    if (typeof data !== "string") return;
    if (data.length <= MAX_PING_LENGTH && this.ping(data)) return;
    if (this.waitingMessages.length >= MAX_WAITING_REQUESTS) {
      this.refuse(data);
      return;
    }
    this.waitingMessages.push(data);
    if (!this.isWorking) void this.work();
  }

  drain(): void {}

  close(): void {
    this.socket = null;
    this.endController.abort();
    this.waitingMessages.length = 0;
    this.options.callerGone(this.options.context.caller.id);
  }

  /** Handles a request before the operation table does; undefined: the table handles it. */
  protected abstract special(request: JsonRequest): Promise<void> | undefined;
  /** @throws WshError session_required, unknown_method */
  protected abstract route(request: JsonRequest): { operation: Operation<OperationName>; session: string | undefined };
  /** The input of an operation, if it differs from `params`. */
  protected input(request: JsonRequest): unknown {
    return request.params;
  }

  /** The result of an operation, if a method returns another form. */
  protected result(_method: string, result: unknown): unknown {
    return result;
  }

  /** The session of the whole connection, if it belongs to one. */
  protected get target(): string | undefined {
    return undefined;
  }

  protected get signal(): AbortSignal {
    return this.endController.signal;
  }

  /** @returns false while the peer is too slow */
  protected send(message: object): boolean {
    return this.sendText(JSON.stringify(message));
  }

  protected sendText(text: string): boolean {
    return this.socket === null || this.socket.sendText(text) !== -1;
  }

  /** @param unknown fields of the request that its operation does not have */
  protected answer({ id, method }: JsonRequest, result: unknown, unknown: readonly string[] = []): void {
    const warnings = unknown.length === 0 ? {} : { warnings: unknownFieldWarnings(unknown) };
    this.send({ ...defined({ id }), method, result: result ?? {}, ...warnings });
  }

  protected fail({ id, method }: JsonRequest, thrown: unknown): void {
    this.send({ ...defined({ id }), method, error: errorBody(thrown) });
  }

  private async work(): Promise<void> {
    this.isWorking = true;
    for (let text = this.waitingMessages.shift(); text !== undefined; text = this.waitingMessages.shift()) {
      let request: JsonRequest;
      try {
        request = parseRequest(text);
      } catch (thrown) {
        this.send({ error: errorBody(thrown) });
        continue;
      }
      try {
        // Before any code walks through it.
        requireUsable(request.params);
        const special = this.special(request);
        await (special === undefined ? this.operate(request) : this.recorded(request, special));
      } catch (thrown) {
        this.fail(request, thrown);
      }
    }
    this.isWorking = false;
    this.afterWork?.();
    this.afterWork = null;
  }

  /** Runs after the current request has been answered: a caller that ends a session gets its answer first. */
  protected whenAnswered(then: () => void): void {
    if (!this.isWorking) {
      then();
      return;
    }
    const timer = setTimeout(then, LAST_ANSWER_MS);
    this.afterWork = () => {
      clearTimeout(timer);
      then();
    };
  }

  /** Records the endpoint's own actions in the audit log like calls. */
  private async recorded({ method, params, session }: JsonRequest, done: Promise<void>): Promise<void> {
    const { signal } = this;
    const target = session ?? this.target;
    const context = { ...this.options.context, signal, ...defined({ session: target }) };
    await withOutcome(
      () => done,
      (outcome) => this.options.audit({ operation: `ws.${method}`, input: params, context, ...outcome }),
    );
  }

  private async operate(request: JsonRequest): Promise<void> {
    const { operation, session } = this.route(request);
    // Requests that follow one which may last as long as a program are not delayed by it.
    if (operation.lasts === undefined) {
      const result = await this.call(operation, request, session, this.signal);
      this.answer(request, result, unknownFields(operation.input, this.input(request)));
      return;
    }
    if (this.runningCount >= this.options.maxWaits) {
      throw new WshError(
        "resource_limit_reached",
        `${this.runningCount} requests of this connection are already pending`,
      );
    }
    this.runningCount++;
    void this.wait(operation, request, session).finally(() => this.runningCount--);
  }

  private async wait(
    operation: Operation<OperationName>,
    request: JsonRequest,
    session: string | undefined,
  ): Promise<void> {
    const superseded = new AbortController();
    const awaitedSession = operation.name === "idle.await" ? session : undefined;
    if (awaitedSession !== undefined) {
      this.idleWaits.get(awaitedSession)?.abort();
      this.idleWaits.set(awaitedSession, superseded);
    }
    using either = eitherSignal(this.signal, superseded.signal);
    try {
      const result = await this.call(operation, request, session, either.signal);
      if (superseded.signal.aborted) throw supersededError();
      this.answer(request, result, unknownFields(operation.input, this.input(request)));
    } catch (thrown) {
      this.fail(request, superseded.signal.aborted ? supersededError() : thrown);
    } finally {
      if (awaitedSession !== undefined && this.idleWaits.get(awaitedSession) === superseded)
        this.idleWaits.delete(awaitedSession);
    }
  }

  private async call(
    { name }: Operation<OperationName>,
    request: JsonRequest,
    session: string | undefined,
    signal: AbortSignal,
  ): Promise<unknown> {
    const context = { ...this.options.context, signal, ...defined({ session }) };
    return this.result(request.method, await this.options.call(name, this.input(request) as never, context));
  }

  /** A liveness check, which is answered at once. */
  private ping(text: string): boolean {
    if (!text.includes('"ping"')) return false;
    try {
      const request = parseRequest(text);
      if (request.method !== "ping") return false;
      this.answer(request, {});
      return true;
    } catch {
      return false;
    }
  }

  /** Too many requests wait: this one is answered at once, out of order. */
  private refuse(text: string): void {
    const error = new WshError("resource_limit_reached", `${MAX_WAITING_REQUESTS} requests are already pending`);
    try {
      this.fail(parseRequest(text), error);
    } catch (thrown) {
      this.send({ error: errorBody(thrown) });
    }
  }
}

function supersededError(): WshError {
  return new WshError("idle_superseded", "a newer await_idle of this connection replaced this one");
}
