/**
 * A session's pictures and input over the view WebSocket, across lost connections.
 *
 * Invariants: unacknowledged input is sent again; if the session no longer knows it, it is dropped, and the person is
 * notified. While the server does not answer, input waits; the person sees this and may drop it. After a
 * long absence, input is refused rather than typed later into unseen contents.
 */
import type { FrameUpdate } from "../../protocol/frame-codec.ts";
import { encodeInput, type NumberedInput } from "../../protocol/numbered-input.ts";
import { UnacknowledgedInput } from "../../protocol/unacknowledged-input.ts";
import type { ViewMessage, ViewRequest } from "../../protocol/view.ts";
import { Backoff } from "./backoff.ts";
import { Heartbeat, SILENT_AFTER_MS } from "./heartbeat.ts";
import { Refusal, type Server } from "./server.ts";

/** `silent`: connected, but the session does not answer. */
export type ViewState = "connecting" | "live" | "silent" | "lost" | "ended" | "refused";

interface ViewEvents {
  frame(update: FrameUpdate): void;
  images(commands: string): void;
  state(state: ViewState, why: string): void;
  sessionOpened(access: "observe" | "operate" | "admin", session: string): void;
  keyboard(captured: boolean): void;
  keyAction(operation: string): void;
  alert(text: string): void;
  /** The current keys, at first and after each change. */
  keys(keys: Extract<ViewMessage, { type: "keys" }>): void;
  /** Number of typed bytes that have waited longer than a person expects; 0: none. */
  inputPending(bytes: number): void;
  /** Recent input may or may not have arrived; it is not sent again. */
  inputLost(bytes: number): void;
}

/** Time for which a person may type while the server is away, in ms: as long as a restart takes. */
const OFFLINE_TYPING_MS = 2_000;
/** Errors after which retrying is useless. */
const finalErrors: ReadonlySet<string> = new Set([
  "session_not_found",
  "access_denied",
  "session_ended",
  "pane_not_found",
]);

interface PieceTimes {
  /** Time at which it was typed, and at which it was sent over this connection; 0: it was not sent. */
  readonly typedAt: number;
  sentAt: number;
}

export class ViewSocket {
  private readonly clientId = crypto.randomUUID().replaceAll("-", "");
  private socket: WebSocket | null = null;
  private readonly backoff = new Backoff(() => void this.connect());
  private readonly heartbeat = new Heartbeat({
    sendPing: () => this.sendMessage({ type: "ping" }),
    tick: (isSilent) => this.updateSilence(isSilent),
    giveUp: () => this.reconnect(),
  });
  private readonly input = new UnacknowledgedInput<PieceTimes>();
  /** Number of the newest piece sent over this connection. */
  private newestSent = 0;
  private isOpen = false;
  private isSilent = false;
  /** Number of unanswered calls whose effect precedes later input. */
  private pendingCalls = 0;
  private isClosed = false;
  private lostAt = 0;
  private size: { readonly rows: number; readonly cols: number } = { rows: 24, cols: 80 };
  private sizeMode: "fit" | "follow" = "fit";
  private hasFocus = false;

  constructor(
    private readonly server: Server,
    /** Name or id; the id once the session has answered. */
    private session: string,
    private readonly events: ViewEvents,
  ) {}

  start(rows: number, cols: number, mode: "fit" | "follow"): void {
    this.size = { rows, cols };
    this.sizeMode = mode;
    void this.connect();
  }

  resize(rows: number, cols: number, mode: "fit" | "follow"): void {
    this.size = { rows, cols };
    this.sizeMode = mode;
    if (this.isOpen) this.sendMessage({ type: "size", rows, cols, size: mode });
  }

  /** @returns whether it will be typed */
  type(bytes: Uint8Array): boolean {
    const isOffline = !this.isOpen && performance.now() - this.lostAt > OFFLINE_TYPING_MS;
    if (this.isClosed || isOffline || !this.input.add(bytes, { typedAt: performance.now(), sentAt: 0 })) return false;
    this.flush();
    return true;
  }

  /** Later input is sent only after this call has been answered or has failed. */
  holdInputUntil(call: Promise<unknown>): void {
    this.pendingCalls++;
    const answered = (): void => {
      this.pendingCalls--;
      this.flush();
    };
    call.then(answered, answered);
  }

  /** Whether the session has not acknowledged all input yet: it would be lost with this view. */
  get hasPendingInput(): boolean {
    return !this.isClosed && this.input.waiting.length > 0;
  }

  dropUnsentInput(): void {
    this.input.dropUnsent();
    this.events.inputPending(0);
  }

  focus(on: boolean): void {
    this.hasFocus = on;
    if (this.isOpen) this.sendMessage({ type: "focus", on });
  }

  /** Sends the colours for programs that query the terminal's. */
  colors(colors: Omit<Extract<ViewRequest, { type: "colors" }>, "type">): void {
    if (this.isOpen) this.sendMessage({ type: "colors", ...colors });
  }

  /** Takes the keyboard back from the caller that captured it. */
  release(): void {
    if (this.isOpen) this.sendMessage({ type: "release" });
  }

  /** Tries now instead of after the pause. */
  retry(): void {
    this.backoff.retryNow();
  }

  close(): void {
    this.isClosed = true;
    this.backoff.stop();
    this.heartbeat.stop();
    this.socket?.close();
    this.socket = null;
  }

  private async connect(): Promise<void> {
    if (this.isClosed) return;
    try {
      const url = await this.server.socketUrl(`sessions/${encodeURIComponent(this.session)}/ws/view`);
      if (this.isClosed) return;
      const socket = new WebSocket(url);
      this.socket = socket;
      socket.addEventListener("open", () => {
        const { rows, cols } = this.size;
        this.sendMessage({
          type: "open",
          client: this.clientId,
          rows,
          cols,
          size: this.sizeMode,
          keys: true,
          pictures: true,
        });
      });
      socket.addEventListener("message", ({ data }) => {
        if (this.socket !== socket) return;
        this.heartbeat.messageArrived();
        this.receive(JSON.parse(String(data)));
      });
      socket.addEventListener("close", () => {
        if (this.socket === socket) this.connectionLost("the connection to the server was lost");
      });
    } catch (thrown) {
      if (thrown instanceof Refusal && finalErrors.has(thrown.code)) this.end("refused", thrown.message);
      else if (thrown instanceof Refusal && (thrown.status === 401 || thrown.status === 403))
        this.end("refused", thrown.message);
      else this.connectionLost("the server does not answer");
    }
  }

  private connectionLost(why: string): void {
    if (this.isClosed) return;
    if (this.isOpen || this.lostAt === 0) this.lostAt = performance.now();
    this.heartbeat.stop();
    this.isOpen = false;
    this.isSilent = false;
    this.socket = null;
    this.events.state("lost", why);
    this.backoff.schedule();
  }

  private end(state: "ended" | "refused", why: string): void {
    this.close();
    this.isOpen = false;
    this.events.state(state, why);
  }

  private receive(message: ViewMessage): void {
    switch (message.type) {
      case "opened":
        this.onOpened(message);
        this.session = message.session;
        this.events.sessionOpened(message.access, message.session);
        return;
      case "frame": {
        const { n } = message;
        try {
          this.events.frame(message);
        } catch {
          // The update builds on a missing frame: a new connection begins with a complete one.
          this.socket?.close();
          return;
        }
        requestAnimationFrame(() => this.sendMessage({ type: "shown", n }));
        // A hidden page gets no animation frames, and must not delay other viewers.
        if (document.hidden) this.sendMessage({ type: "shown", n });
        return;
      }
      case "images":
        this.events.images(message.commands);
        this.sendMessage({ type: "shown", n: message.n });
        return;
      case "took":
        this.input.took(message);
        return;
      case "lost":
        this.reportLostInput(this.input.lost(message));
        return;
      case "keyboard":
        this.events.keyboard(message.captured);
        return;
      case "wanted":
        this.events.keyAction(message.operation);
        return;
      case "alert":
        this.events.alert(message.text);
        return;
      case "keys":
        this.events.keys(message);
        return;
      case "end":
        if (message.reason === "session_crashed" || message.reason === "server_stopped") return;
        this.end("ended", endText(message));
        return;
      case "error":
        if (finalErrors.has(message.error.code)) this.end("refused", message.error.message);
    }
  }

  private onOpened(message: Extract<ViewMessage, { type: "opened" }>): void {
    this.isOpen = true;
    this.isSilent = false;
    this.heartbeat.start();
    this.backoff.reset();
    this.reportLostInput(this.input.opened(message).lost);
    this.newestSent = message.took;
    for (const piece of this.input.waiting) piece.sentAt = 0;
    this.flush();
    this.sendMessage({ type: "focus", on: this.hasFocus });
    this.events.state("live", "");
  }

  /** Reports input that the session may or may not have received. */
  private reportLostInput(pieces: readonly NumberedInput[]): void {
    if (pieces.length > 0) this.events.inputLost(bytesOf(pieces));
  }

  /** Sends all permitted pieces, in order. */
  private flush(): void {
    if (!this.isOpen || this.isSilent) return;
    for (const piece of this.input.waiting) {
      // Input sent earlier precedes the call; unsent input follows its effect.
      if (piece.number <= this.newestSent) continue;
      if (this.pendingCalls > 0 && piece.number > this.input.sent) return;
      this.newestSent = piece.number;
      this.input.sent = Math.max(this.input.sent, piece.number);
      piece.sentAt = performance.now();
      this.socket?.send(encodeInput(piece));
    }
  }

  /** Checks whether the server answers and the session accepts sent input. */
  private updateSilence(serverIsSilent: boolean): void {
    const now = performance.now();
    const first = this.input.waiting[0];
    const isUnacknowledged = first !== undefined && first.sentAt !== 0 && now - first.sentAt >= SILENT_AFTER_MS;
    const isSilent = serverIsSilent || isUnacknowledged;
    if (isSilent !== this.isSilent) {
      this.isSilent = isSilent;
      const why = serverIsSilent ? "the server does not answer" : "the session does not answer";
      this.events.state(isSilent ? "silent" : "live", isSilent ? why : "");
      this.flush();
    }
    const held = this.input.waiting.filter(({ number }) => number > this.input.sent);
    const isLong = isSilent || (held[0] !== undefined && now - held[0].typedAt >= SILENT_AFTER_MS);
    this.events.inputPending(isLong ? bytesOf(held) : 0);
  }

  /** Gives up the connection for a new one. */
  private reconnect(): void {
    const { socket } = this;
    this.connectionLost("the server does not answer");
    socket?.close();
  }

  private sendMessage(message: ViewRequest): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }
}

function bytesOf(pieces: readonly NumberedInput[]): number {
  return pieces.reduce((sum, { bytes }) => sum + bytes.length, 0);
}

function endText({ reason, exit_code, signal }: Extract<ViewMessage, { type: "end" }>): string {
  if (reason === "killed") return "the session was ended";
  if (reason === "detached") return "this page was detached from the session";
  if (signal != null) return `the program was ended by ${signal}`;
  return exit_code == null ? "the program has ended" : `the program has ended with code ${exit_code}`;
}
