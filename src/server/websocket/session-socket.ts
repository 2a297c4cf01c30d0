/**
 * `/sessions/:name/ws/json`: one session's methods and events (docs/protocol.md, JSON for one session). It follows the
 * session, not its name.
 */

import type { Operation } from "../../operations/define.ts";
import type { OperationName } from "../../operations/table.ts";
import { unknownFields } from "../../operations/unknown-fields.ts";
import { WshError } from "../../protocol/errors.ts";
import { SubscribeSchema } from "../../protocol/events.ts";
import type { RequestContext } from "../../wire/connection.ts";
import { SessionStream } from "../sessions/session-stream.ts";
import type { StreamedPane } from "../sessions/streamed-session.ts";
import {
  type JsonRequest,
  JsonSocket,
  type JsonSocketOptions,
  operationOf,
  parseSubscription,
  parseWindowSubscription,
} from "./json-socket.ts";
import { closeReason, type WebSocketPeer } from "./websockets.ts";
import { WindowSubscriptions } from "./window-subscriptions.ts";

export class SessionSocket extends JsonSocket {
  private stream: SessionStream | null = null;
  private endReason: string | null = null;
  private startEvents: (() => void) | null = null;
  private readonly windows: WindowSubscriptions;

  private constructor(
    options: JsonSocketOptions,
    private readonly source: StreamedPane,
  ) {
    super(options);
    const { sources, context } = options;
    const { access, caller } = context;
    const send = (json: string): boolean => this.sendText(json);
    this.windows = new WindowSubscriptions({ sources, context: { access, caller }, limit: 1, send });
  }

  /** @throws WshError of SessionStream.open: then nothing is upgraded */
  static async open(options: JsonSocketOptions, source: StreamedPane): Promise<SessionSocket> {
    const endpoint = new SessionSocket(options, source);
    const { access, caller } = options.context;
    const context: RequestContext = { access, caller };
    endpoint.stream = await SessionStream.open(source, context, {
      event: (json) => endpoint.event(json),
      subscribed: () => endpoint.startEvents?.(),
      end: (reason) => endpoint.end(reason),
    });
    return endpoint;
  }

  override open(socket: WebSocketPeer): void {
    super.open(socket);
    if (this.endReason !== null) this.end(this.endReason);
  }

  override drain(): void {
    this.stream?.resume();
    this.windows.resume();
  }

  override close(): void {
    super.close();
    this.stream?.close();
    this.windows.close();
  }

  protected override special(request: JsonRequest): Promise<void> | undefined {
    if (request.method === "subscribe_window") return this.subscribeWindow(request);
    return request.method === "subscribe" ? this.subscribe(request) : undefined;
  }

  protected override get target(): string {
    return this.source.info.name;
  }

  protected override route({ method }: JsonRequest): { operation: Operation<OperationName>; session: string } {
    const operation = operationOf(method);
    if (operation === undefined || operation.scope === "server") {
      throw new WshError("unknown_method", `no method '${method}' of a session`);
    }
    // If the session has several panes, the pane for which the connection was opened.
    return { operation, session: this.source.isPart ? this.source.info.pane_id : this.source.info.id };
  }

  private async subscribeWindow(request: JsonRequest): Promise<void> {
    const options = parseWindowSubscription(request.params);
    await this.windows.subscribe(this.source.info.id, options, request.params, (result, unknown) =>
      this.answer(request, result, unknown),
    );
  }

  private async subscribe(request: JsonRequest): Promise<void> {
    const options = parseSubscription(request.params);
    this.startEvents = () => {
      this.startEvents = null;
      this.answer(request, { events: options.events }, unknownFields(SubscribeSchema, request.params));
    };
    try {
      await this.stream?.subscribe(options);
    } finally {
      this.startEvents = null;
    }
  }

  private event(json: string): void {
    if (!this.sendText(json)) this.stream?.pause();
  }

  private end(reason: string): void {
    this.endReason = reason;
    const close = closeReason(reason);
    this.whenAnswered(() => this.socket?.close(close.code, close.reason));
  }
}
