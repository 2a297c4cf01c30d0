/**
 * `/sessions/:name/ws/view`: a page's terminal at a session (docs/protocol.md, A session in a page). It is a viewer
 * like an attached terminal; pictures and input are passed on unread. The session process decides about its rights.
 */
import type * as v from "valibot";
import { accessCovers } from "../../protocol/caller.ts";
import type { StreamEnd } from "../../protocol/control.ts";
import { defined, present } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { parseJson } from "../../protocol/json.ts";
import { decodeInput } from "../../protocol/numbered-input.ts";
import { parse } from "../../protocol/parse.ts";
import { VIEW_CREDIT, type ViewMessage, ViewRequestSchema } from "../../protocol/view.ts";
import { settingsFault } from "../../settings/settings.ts";
import type { RequestContext } from "../../wire/connection.ts";
import type { ViewKeys } from "../options.ts";
import type { StreamedSession, StreamedSessions } from "../sessions/streamed-session.ts";
import { ViewFeed } from "../sessions/view-feed.ts";
import type { TypedInputRecord } from "./typed-input-record.ts";
import {
  closeCodes,
  closeIfInputPends,
  closeReason,
  errorBody,
  MAX_PENDING_INPUT,
  type WebSocketEndpoint,
  type WebSocketPeer,
} from "./websockets.ts";

/** Time for the first message, in ms. */
const OPEN_MS = 5_000;

type OpenRequest = Extract<v.InferOutput<typeof ViewRequestSchema>, { type: "open" }>;

interface ViewSocketOptions {
  readonly sources: StreamedSessions;
  readonly source: StreamedSession;
  readonly context: RequestContext;
  /** The viewer's name for people, unless the page gives one. */
  readonly viewer: string;
  /** Whether it has no influence on the session's size, whatever it requests. */
  readonly follows: boolean;
  readonly keys: (isTolerant: boolean) => Promise<ViewKeys>;
  /** Written at the end; null: typed input is not recorded. */
  readonly record: TypedInputRecord | null;
}

export class ViewSocket implements WebSocketEndpoint {
  private socket: WebSocketPeer | null = null;
  private feed: ViewFeed | null = null;
  private isOpening = false;
  private timer: Timer | null = null;
  private pictures = 0;
  private queuedBytes = 0;
  /** Messages between the first one and its answer. */
  private readonly early: (string | Uint8Array)[] = [];

  constructor(private readonly options: ViewSocketOptions) {}

  open(socket: WebSocketPeer): void {
    this.socket = socket;
    this.timer = setTimeout(() => socket.close(closeCodes.policy, "the page has not opened its view"), OPEN_MS);
  }

  message(data: string | Uint8Array): void {
    try {
      if (this.feed !== null) this.receive(this.feed, data);
      else if (this.isOpening) this.queueInput(data);
      else this.begin(data);
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  drain(): void {}

  close(): void {
    clearTimeout(this.timer ?? undefined);
    this.socket = null;
    this.feed?.close();
    this.options.record?.end();
  }

  private begin(data: string | Uint8Array): void {
    const request = requestOf(data);
    if (request.type !== "open") throw new WshError("invalid_request", "the first message is not 'open'");
    this.isOpening = true;
    clearTimeout(this.timer ?? undefined);
    this.attach(request).catch((thrown) => this.fail(thrown));
  }

  /** Keeps input while the session is being opened, with the limit of later input. */
  private queueInput(data: string | Uint8Array): void {
    this.queuedBytes += data.length;
    if (this.queuedBytes > MAX_PENDING_INPUT) throw new WshError("payload_too_large", "too much input before 'opened'");
    this.early.push(typeof data === "string" ? data : new Uint8Array(data));
  }

  private async attach({
    client,
    rows,
    cols,
    size,
    prefix,
    name,
    keys: wantsKeys,
    pictures,
  }: OpenRequest): Promise<void> {
    const { sources, source, context, viewer, follows } = this.options;
    const { pageKeys, ...keys } = await this.keys(prefix, true);
    const { info } = source;
    let isOpened = false;
    let pageRecord: string | null = null;
    const feed = await ViewFeed.open(
      sources,
      source,
      {
        rows,
        cols,
        follow: follows || size === "follow",
        scrollback: "none",
        render_only: true,
        pass_through: false,
        places: true,
        read_only: !accessCovers(context.access, "operate"),
        ...keys,
        ...defined({ pictures }),
        page: { client, name: name === undefined || name === "" ? viewer : `${viewer} (${name})`, credit: VIEW_CREDIT },
      },
      context,
      {
        frame: (json) => this.frame(json),
        images: (commands) => this.sendMessage({ type: "images", n: ++this.pictures, commands }),
        keyboard: (captured) => this.sendMessage({ type: "keyboard", captured }),
        actionRequested: (operation) => this.sendMessage({ type: "wanted", operation }),
        settings: () => void this.reread(prefix, wantsKeys === true),
        alert: (text) => this.sendMessage({ type: "alert", text }),
        inputAcknowledged: (n, record) => {
          const of = record === pageRecord ? {} : present({ record });
          pageRecord = record;
          if (isOpened) this.sendMessage({ type: "took", n, ...of });
          else {
            const { id, name } = info;
            this.sendMessage({ type: "opened", session: id, name, access: context.access, took: n, ...of });
            if (wantsKeys === true && pageKeys !== undefined) this.sendMessage({ type: "keys", ...pageKeys });
          }
          isOpened = true;
        },
        inputLost: (n, record) => this.sendMessage({ type: "lost", n, record }),
        end: (end) => this.end(end),
      },
    );
    if (this.socket === null) {
      feed.close();
      return;
    }
    this.feed = feed;
    for (const data of this.early.splice(0)) this.message(data);
  }

  /** @throws WshError invalid_setting unless tolerant */
  private async keys(prefix: boolean, isTolerant: boolean): Promise<ViewKeys> {
    const { keys, context } = this.options;
    const { bindings, pageKeys, ...bound } = await keys(isTolerant);
    // The person's bindings reveal more than a caller with one session may know.
    const own = context.caller.only === undefined ? defined({ bindings, pageKeys }) : {};
    return { ...bound, ...own, ...(prefix ? {} : { prefix: null }) };
  }

  private async reread(prefix: boolean, wantsKeys: boolean): Promise<void> {
    const now = await this.keys(prefix, false).catch((thrown) => ({ fault: settingsFault(thrown) }));
    if ("fault" in now) {
      this.feed?.applySettings(now);
      return;
    }
    const { pageKeys, ...keys } = now;
    this.feed?.applySettings({ pass_through: false, ...keys });
    if (wantsKeys && pageKeys !== undefined) this.sendMessage({ type: "keys", ...pageKeys });
  }

  private receive(feed: ViewFeed, data: string | Uint8Array): void {
    if (typeof data !== "string") {
      this.type(feed, data);
      return;
    }
    const { follows, context } = this.options;
    const request = requestOf(data);
    switch (request.type) {
      case "open":
        throw new WshError("invalid_request", "the view is already open");
      case "size":
        feed.resize({ rows: request.rows, cols: request.cols, follow: follows || request.size === "follow" });
        return;
      case "shown":
        feed.confirmShown(request.n);
        return;
      case "focus":
        feed.focus(request.on);
        return;
      case "colors": {
        const { type, ...colors } = request;
        feed.colors(colors);
        return;
      }
      case "ping":
        this.sendMessage({ type: "pong" });
        return;
      case "release":
        if (accessCovers(context.access, "operate")) feed.release();
    }
  }

  private type(feed: ViewFeed, data: Uint8Array): void {
    const input = decodeInput(data);
    if (input === null || input.number === 0) throw new WshError("invalid_request", "input must begin with its number");
    this.options.record?.add(input.bytes);
    feed.type(input);
    closeIfInputPends(this.socket, feed.pending);
  }

  private frame(json: string): void {
    this.pictures++;
    this.socket?.sendText(`{"type":"frame","n":${this.pictures},${json.slice(1)}`, true);
  }

  private sendMessage(message: ViewMessage): void {
    this.socket?.sendText(JSON.stringify(message));
  }

  private end(end: StreamEnd): void {
    this.sendMessage({ type: "end", ...end });
    const { code, reason } = closeReason(end.reason);
    this.socket?.close(code, reason);
  }

  private fail(thrown: unknown): void {
    const error = errorBody(thrown);
    this.sendMessage({ type: "error", error });
    this.socket?.close(closeCodes.policy, error.code);
  }
}

/** @throws WshError invalid_request */
function requestOf(data: string | Uint8Array): v.InferOutput<typeof ViewRequestSchema> {
  if (typeof data !== "string") throw new WshError("invalid_request", "input arrived before the view was opened");
  let value: unknown;
  try {
    value = parseJson(data);
  } catch {
    throw new WshError("invalid_request", "a message is not JSON");
  }
  return parse(ViewRequestSchema, value);
}
