/** A WebSocket's streams of windows: at most one per session, which follows the session through renames. */
import { unknownFields } from "../../operations/unknown-fields.ts";
import { WshError } from "../../protocol/errors.ts";
import { type WindowSubscription, WindowSubscriptionSchema } from "../../protocol/window-stream.ts";
import type { RequestContext } from "../../wire/connection.ts";
import type { StreamedSessions } from "../sessions/streamed-session.ts";
import { WindowFeed } from "../sessions/window-feed.ts";

interface WindowSubscriptionsPort {
  readonly sources: StreamedSessions;
  readonly context: RequestContext;
  /** Maximum number of streams. */
  readonly limit: number;
  /** Sends an event to the client. @returns false while it is too slow */
  send(json: string, session: string): boolean;
}

export class WindowSubscriptions {
  private readonly feeds = new Map<string, WindowFeed>();
  private isOver = false;

  constructor(private readonly port: WindowSubscriptionsPort) {}

  /**
   * Begins, replaces or ends the stream of a session's window. The answer precedes the first event.
   * @param session id of the session
   * @param answer sends the answer
   * @throws WshError of the session's process, resource_limit_reached
   */
  async subscribe(
    session: string,
    options: WindowSubscription,
    params: unknown,
    answer: (result: object, unknown: readonly string[]) => void,
  ): Promise<void> {
    const { sources, context, limit, send } = this.port;
    const source = await sources.find(session);
    const early: string[] = [];
    let isAnswered = options.events.length === 0;
    let feed: WindowFeed | null = null;
    if (!isAnswered) {
      if (!this.feeds.has(session) && this.feeds.size >= limit) {
        throw new WshError("resource_limit_reached", `this connection has ${this.feeds.size} windows`);
      }
      feed = await WindowFeed.open(sources, source, options, context, {
        event: (json) => {
          if (!isAnswered) early.push(json);
          else if (!send(json, source.info.name)) feed?.pause();
        },
        end: () => {
          if (this.feeds.get(session) === feed) this.feeds.delete(session);
        },
      });
    }
    this.feeds.get(session)?.close();
    if (feed === null || this.isOver) this.feeds.delete(session);
    else this.feeds.set(session, feed);
    if (this.isOver) feed?.close();
    answer({ events: options.events }, unknownFields(WindowSubscriptionSchema, params));
    isAnswered = true;
    for (const json of early) send(json, source.info.name);
  }

  resume(): void {
    for (const feed of this.feeds.values()) feed.resume();
  }

  close(): void {
    this.isOver = true;
    for (const feed of this.feeds.values()) feed.close();
    this.feeds.clear();
  }
}
