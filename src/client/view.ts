/**
 * A session's picture as cells, and its input, over the view WebSocket, for a page.
 *
 * Owns one connection. Invariants: every piece of input has a number, and unacknowledged pieces are passed to the view
 * that replaces this one, so that nothing is lost or typed twice when a connection ends. A picture is confirmed when
 * the listener returns: a slow one gets the newest picture instead of a queue.
 */
import { defined } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import type { Frame, FrameEvents } from "../protocol/frame.ts";
import { applyFrame, type FrameUpdate } from "../protocol/frame-codec.ts";
import { encodeInput, type NumberedInput } from "../protocol/numbered-input.ts";
import { MAX_WAITING, UnacknowledgedInput } from "../protocol/unacknowledged-input.ts";
import type { ViewMessage, ViewRequest } from "../protocol/view.ts";
import { type ConnectOptions, refusal, socketUrl, unavailable } from "./socket-url.ts";

export type OpenedView = Extract<ViewMessage, { type: "opened" }>;
/** How a view ended: with its session, or null with its connection alone. */
export type ViewEnd = Extract<ViewMessage, { type: "end" }> | null;

/** Size of a view, and whether it takes part in sizing the session: `follow` shows the session in its own size. */
export interface ViewSize {
  readonly rows: number;
  readonly cols: number;
  readonly size: "fit" | "follow";
}

export interface ViewOptions extends ConnectOptions, ViewSize {
  /** False: the prefix key is typed like any other key. Default: the session interprets it. */
  readonly prefix?: boolean;
  /** Shown to others in lists of viewers. */
  readonly name?: string;
  /** A view whose connection has ended: this one continues with its unacknowledged input. */
  readonly instead?: SessionView;
}

export interface ViewListener {
  /** @param update the changes, with the positions of panes if those changed */
  frame?(frame: Frame, events: FrameEvents, update: FrameUpdate): void;
  /** A caller has captured the keyboard, or has released it. */
  keyboard?(captured: boolean): void;
  /** The person pressed a key that asks the page for something: `view.sessions`, `view.keys` and the like. */
  wanted?(operation: string): void;
  alert?(text: string): void;
}

interface Waiter {
  taken(): void;
  lost(error: WshError): void;
}

/** Reasons for which a view ends although its session may continue. */
const survivors: ReadonlySet<string> = new Set(["server_stopped", "session_crashed", "host_crashed", "detached"]);

/** @throws WshError session_not_found, access_denied, auth_invalid and the like; server_unavailable */
export async function openView(session: string, options: ViewOptions, listener: ViewListener): Promise<SessionView> {
  const socket = new WebSocket(await socketUrl(options, `sessions/${encodeURIComponent(session)}/ws/view`));
  const view = new SessionView(socket, options, listener);
  try {
    await view.opened;
  } catch (error) {
    throw WshError.from(error).code === "server_unavailable" ? await refusal(options, session) : error;
  }
  return view;
}

export class SessionView implements Disposable {
  /** The session's first message. */
  readonly opened: Promise<OpenedView>;
  readonly closed: Promise<ViewEnd>;
  /** The newest picture. */
  frame: Frame | null = null;
  private readonly client: string;
  private input: UnacknowledgedInput<Waiter>;
  private isOpen = false;
  private mayType = true;

  /** Use `openView`. */
  constructor(
    private readonly socket: WebSocket,
    { instead, rows, cols, size, prefix, name, ...to }: ViewOptions,
    private readonly listener: ViewListener,
  ) {
    this.client = instead?.client ?? crypto.randomUUID();
    this.input = instead?.input ?? new UnacknowledgedInput();
    if (instead !== undefined) instead.input = new UnacknowledgedInput();
    const opened = Promise.withResolvers<OpenedView>();
    const closed = Promise.withResolvers<ViewEnd>();
    this.opened = opened.promise;
    this.closed = closed.promise;
    // Callers that only wait for the end get the error there.
    this.opened.catch(() => {});
    let end: ViewEnd = null;
    let wasOpen = false;
    socket.addEventListener("open", () => {
      const more = { ...defined({ prefix, name }) };
      this.tell({ type: "open", client: this.client, rows, cols, size, ...more });
    });
    socket.addEventListener("message", ({ data }) => {
      const message: ViewMessage = JSON.parse(String(data));
      if (message.type === "opened") {
        this.isOpen = true;
        wasOpen = true;
        this.mayType = message.access !== "observe";
        if (!this.mayType) this.drop("access_denied", "this token is read-only and cannot type");
        const { taken, lost } = this.input.opened(message);
        acknowledge(taken);
        giveUp(lost);
        for (const piece of this.input.waiting) this.send(piece);
        opened.resolve(message);
      } else if (message.type === "error") opened.reject(WshError.fromBody(message.error));
      else if (message.type === "end") end = message;
      else this.receive(message);
    });
    socket.addEventListener("close", () => {
      this.isOpen = false;
      // The view never replaced that one: another may.
      if (!wasOpen && instead !== undefined) this.giveBackTo(instead);
      opened.reject(unavailable(to));
      if (end !== null && !survivors.has(end.reason)) this.drop("session_ended", "the session has ended");
      closed.resolve(end);
    });
  }

  /**
   * Types text, or bytes as a terminal sends them.
   * @returns a promise of the session's acknowledgement: over this connection, or that of the view that replaces it
   * @throws WshError access_denied, payload_too_large while more than 1 MiB waits, session_ended; session_unavailable when
   *   the session was interrupted and it is unknown whether the input was typed: it is never typed twice
   */
  type(input: string | Uint8Array): Promise<void> {
    const bytes = typeof input === "string" ? new TextEncoder().encode(input) : input;
    if (!this.mayType) return Promise.reject(new WshError("access_denied", "this token is read-only and cannot type"));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (!this.input.add(bytes, { taken: resolve, lost: reject })) {
      return Promise.reject(new WshError("payload_too_large", `more than ${MAX_WAITING} bytes of input are pending`));
    }
    const piece = this.input.waiting.at(-1);
    if (this.isOpen && piece !== undefined) this.send(piece);
    return promise;
  }

  resize({ rows, cols, size }: ViewSize): void {
    this.tell({ type: "size", rows, cols, size });
  }

  /** Reports whether the person is viewing it. */
  focus(on: boolean): void {
    this.tell({ type: "focus", on });
  }

  /** Takes the keyboard back from its holder. */
  release(): void {
    this.tell({ type: "release" });
  }

  /** Ends the connection. Unacknowledged input goes to the view that replaces this one. */
  close(): void {
    this.socket.close();
  }

  [Symbol.dispose](): void {
    this.close();
    this.drop("cancelled", "the view was closed");
  }

  private receive(message: Exclude<ViewMessage, { type: "opened" | "error" | "end" }>): void {
    switch (message.type) {
      case "frame": {
        const { n, type: _, ...update } = message;
        const { view, events } = applyFrame(this.frame, update);
        this.frame = view;
        this.listener.frame?.(view, events, update);
        this.tell({ type: "shown", n });
        return;
      }
      case "took":
        acknowledge(this.input.took(message));
        return;
      case "lost":
        giveUp(this.input.lost(message));
        return;
      case "keyboard":
        this.listener.keyboard?.(message.captured);
        return;
      case "wanted":
        this.listener.wanted?.(message.operation);
        return;
      case "alert":
        this.listener.alert?.(message.text);
        return;
      case "keys":
        // Not requested.
        return;
    }
  }

  /** Returns the pending input; input typed there meanwhile follows it. */
  private giveBackTo(earlier: SessionView): void {
    const typed = earlier.input.waiting;
    earlier.input = this.input;
    this.input = new UnacknowledgedInput();
    for (const { bytes, taken, lost } of typed) {
      if (!earlier.input.add(bytes, { taken, lost })) {
        lost(new WshError("payload_too_large", `more than ${MAX_WAITING} bytes of input are pending`));
      }
    }
  }

  private send(piece: NumberedInput): void {
    this.input.sent = Math.max(this.input.sent, piece.number);
    this.socket.send(encodeInput(piece));
  }

  private drop(code: "session_ended" | "cancelled" | "access_denied", message: string): void {
    for (const { lost } of this.input.waiting.splice(0)) lost(new WshError(code, message));
  }

  private tell(message: ViewRequest): void {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }
}

function acknowledge(pieces: readonly Waiter[]): void {
  for (const { taken } of pieces) taken();
}

/** The session has lost its record: sent again, these could be typed twice. */
function giveUp(pieces: readonly Waiter[]): void {
  for (const { lost } of pieces) {
    lost(new WshError("session_unavailable", "the session was interrupted: the input may or may not have been typed"));
  }
}
