/**
 * TypeScript client of a wsh server: every operation of the table as a typed call, and events as typed
 * callbacks, over one WebSocket; and a session as a page shows it, over another one (view.ts). Works wherever
 * `fetch` and `WebSocket` exist; in Bun also over a Unix socket. A refusal by the server is thrown as a
 * WshError with its code; when the connection ends, every pending call is rejected.
 */
import type { OperationInput, OperationName, OperationOutput, ServerOperationName } from "../operations/table.ts";
import { operations } from "../operations/table.ts";
import { defined } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import type { EventName, Lagged, LifecycleEvent, SessionEvent } from "../protocol/events.ts";
import { layoutEventNames } from "../protocol/layout-events.ts";
import type { Format } from "../protocol/screen.ts";
import type { WindowEvent, windowEventNames } from "../protocol/window-stream.ts";
import { type ConnectOptions, socketUrl, unavailable } from "./socket-url.ts";
import { type Language, type LanguageOptions, language } from "./terminal/language.ts";

export type { OperationInput, OperationName, OperationOutput } from "../operations/table.ts";
export { WshError } from "../protocol/errors.ts";
export type { EventName, Lagged, LifecycleEvent, SessionEvent } from "../protocol/events.ts";
export type { Frame } from "../protocol/frame.ts";
export { decodeRows } from "../protocol/frame-codec.ts";
export type { SessionInfo } from "../protocol/session.ts";
export type { WindowEvent } from "../protocol/window-stream.ts";
export type { ConnectOptions } from "./socket-url.ts";
export { type Language, Screen, Terminal, TerminalFailure } from "./terminal/language.ts";
export { openView, type SessionView, type ViewListener, type ViewOptions } from "./view.ts";

export interface SubscribeOptions {
  readonly events: readonly EventName[];
  /** Rows as text, or as spans with their styles (the default). */
  readonly format?: Format;
  /** Shortest time between two reports of a changing screen, in ms. Default 100. */
  readonly interval_ms?: number;
  /** Silence that is reported as idle, in ms. Default: not reported. */
  readonly idle_timeout_ms?: number;
}

export interface WindowOptions {
  /** Kinds of events to receive: `layout`, `frames`. Default: both. */
  readonly events?: readonly (typeof windowEventNames)[number][];
  /** The window whose frames are sent, by id, index or name. Default: the active one. */
  readonly window?: string;
  readonly format?: Format;
  /** Whether frames include overlays and panels of the window. Default: true. */
  readonly elements?: boolean;
  /** Shortest time between two frames, in ms. Default 100. */
  readonly interval_ms?: number;
}

/** An event of a window's stream, and the session's current name. */
export type SubscribedWindowEvent = (WindowEvent | Lagged) & { readonly session: string };

/** A session's event or a notice that some were missed, and the session's current name. */
export type SubscribedEvent = (SessionEvent | Lagged) & { readonly session: string };

/** Operations that have a WebSocket method, with its name. */
const methods: ReadonlyMap<OperationName, string> = new Map(
  operations.flatMap(({ name, ws: [method] }) => (method === undefined ? [] : [[name, method] as const])),
);

interface Waiting {
  resolve(result: unknown): void;
  reject(error: WshError): void;
}

/** Longest wait for a connection, in ms: a server on a busy machine answers in far less. */
const CONNECT_MS = 5_000;

/** @throws WshError auth_required, auth_invalid and the like; server_unavailable when no server answers */
export async function connect(options: ConnectOptions = {}): Promise<WshClient> {
  const socket = new WebSocket(await socketUrl(options, "ws/json"));
  const opened = Promise.withResolvers<void>();
  socket.addEventListener("open", () => opened.resolve(), { once: true });
  socket.addEventListener("close", () => opened.reject(unavailable(options)), { once: true });
  // A server that is about to end still accepts connections but no longer answers.
  const late = setTimeout(() => {
    opened.reject(unavailable(options));
    socket.close();
  }, CONNECT_MS);
  await opened.promise.finally(() => clearTimeout(late));
  return new WshClient(socket);
}

export class WshClient implements Disposable {
  /** Resolves when the connection has ended. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  private readonly waiting = new Map<number, Waiting>();
  private readonly lifecycleListeners = new Set<(event: LifecycleEvent) => void>();
  /** By the current name of the session. */
  private readonly subscriptions = new Map<string, (event: SubscribedEvent) => void>();
  private readonly windows = new Map<string, (event: SubscribedWindowEvent) => void>();
  private nextId = 1;

  /** Use `connect`. */
  constructor(private readonly socket: WebSocket) {
    const { promise, resolve } = Promise.withResolvers<{ code: number; reason: string }>();
    this.closed = promise;
    socket.addEventListener("message", ({ data }) => this.receive(String(data)));
    socket.addEventListener("close", ({ code, reason }) => {
      const why = `${code}${reason === "" ? "" : `, ${reason}`}`;
      const error = new WshError("server_unavailable", `the server ended the connection before it answered (${why})`, {
        hint: "The request may have been carried out: check before you repeat it.",
      });
      for (const { reject } of this.waiting.values()) reject(error);
      this.waiting.clear();
      resolve({ code, reason });
    });
  }

  /**
   * Calls an operation; operations on a session take its name or id last.
   * @throws WshError of the operation, server_unavailable when the connection ends first
   */
  call<N extends ServerOperationName>(operation: N, input: OperationInput<N>): Promise<OperationOutput<N>>;
  call<N extends OperationName>(operation: N, input: OperationInput<N>, session: string): Promise<OperationOutput<N>>;
  async call(operation: OperationName, input: object, session?: string): Promise<unknown> {
    const method = methods.get(operation);
    if (method === undefined) throw new WshError("unknown_method", `'${operation}' has no WebSocket method`);
    return this.request(method, input, session);
  }

  /**
   * Subscribes to a session, beginning with a `sync`; replaces an earlier subscription to it.
   * @returns a disposable that ends it
   */
  subscribe(
    session: string,
    options: SubscribeOptions,
    listener: (event: SubscribedEvent) => void,
  ): Promise<AsyncDisposable> {
    return this.listen("subscribe", this.subscriptions, session, options, listener);
  }

  /**
   * Subscribes to a window of a session and to events of its windows and panes, beginning with `windows`; replaces an
   * earlier such subscription. @returns a disposable that ends it
   */
  subscribeWindow(
    session: string,
    options: WindowOptions,
    listener: (event: SubscribedWindowEvent) => void,
  ): Promise<AsyncDisposable> {
    return this.listen("subscribe_window", this.windows, session, options, listener);
  }

  private async listen<L>(
    method: string,
    listeners: Map<string, L>,
    session: string,
    options: object,
    listener: L,
  ): Promise<AsyncDisposable> {
    const earlier = listeners.get(session);
    listeners.set(session, listener);
    try {
      await this.request(method, options, session);
    } catch (error) {
      // A refused one replaces nothing.
      const name = nameOf(listeners, listener);
      if (name !== undefined && earlier === undefined) listeners.delete(name);
      else if (name !== undefined && earlier !== undefined) listeners.set(name, earlier);
      throw error;
    }
    return {
      [Symbol.asyncDispose]: async () => {
        const name = nameOf(listeners, listener);
        if (name === undefined) return;
        listeners.delete(name);
        try {
          await this.request(method, { events: [] }, name);
        } catch (error) {
          // When the session or connection is gone, no subscription remains to be ended.
          const { code } = WshError.from(error);
          if (code !== "session_not_found" && code !== "server_unavailable") throw error;
        }
      },
    };
  }

  /** Subscribes to sessions that start, end and change. @returns a disposable that ends it */
  onLifecycle(listener: (event: LifecycleEvent) => void): Disposable {
    this.lifecycleListeners.add(listener);
    return { [Symbol.dispose]: () => void this.lifecycleListeners.delete(listener) };
  }

  close(): void {
    this.socket.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  private request(method: string, params: object, session: string | undefined): Promise<unknown> {
    if (this.socket.readyState !== WebSocket.OPEN) {
      return Promise.reject(new WshError("server_unavailable", "the connection to the server has ended"));
    }
    const id = this.nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.waiting.set(id, { resolve, reject });
    this.socket.send(JSON.stringify({ id, method, params, ...defined({ session }) }));
    return promise;
  }

  /** The server's messages are trusted to match their schemas. */
  private receive(text: string): void {
    const message: SocketMessage = JSON.parse(text);
    if (message.id !== undefined) {
      const waiting = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (message.error === undefined) waiting?.resolve(message.result);
      else waiting?.reject(WshError.fromBody(message.error));
    } else if (typeof message.session === "string") {
      const { event, session } = message;
      if (!ofWindows.has(event)) this.subscriptions.get(session)?.(message as unknown as SubscribedEvent);
      if (ofWindows.has(event) || event === undefined)
        this.windows.get(session)?.(message as unknown as SubscribedWindowEvent);
    } else if (message.event !== undefined) {
      this.tell(message as unknown as LifecycleEvent);
    }
  }

  private tell(event: LifecycleEvent): void {
    if (event.event === "session_renamed") this.follow(event.params.old_name, event.params.new_name);
    for (const listener of this.lifecycleListeners) listener(event);
  }

  private follow(before: string, after: string): void {
    for (const listeners of [this.subscriptions, this.windows] as Map<string, unknown>[]) {
      const listener = listeners.get(before);
      if (listener === undefined) continue;
      listeners.delete(before);
      listeners.set(after, listener);
    }
  }
}

/** Terminals for `wsh script` (skills/script), over a connection. */
export function terminals(client: Pick<WshClient, "call">, options: LanguageOptions = {}): Language {
  return language(
    (name, input, session) =>
      session === undefined ? client.call(name as "sessions.list", input as never) : client.call(name, input, session),
    options,
  );
}

/** Events of windows' streams; a notice about missed events goes to both kinds. */
const ofWindows: ReadonlySet<unknown> = new Set(["windows", "frame", ...layoutEventNames]);

function nameOf<L>(listeners: ReadonlyMap<string, L>, listener: L): string | undefined {
  for (const [name, known] of listeners) if (known === listener) return name;
  return undefined;
}

interface SocketMessage {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly code?: unknown; readonly message?: unknown };
  readonly event?: string;
  readonly session?: unknown;
}
