/**
 * One terminal on the page: a session, its connection and its element. Framework-free; components show its signals. A
 * hidden tile closes its connection after a while, once its input has arrived, and reopens it when shown; with
 * notifications on it stays connected, since questions reach only connected clients.
 */
import { type Signal, signal } from "@preact/signals";
import type { CommandRecord } from "../../protocol/commands.ts";
import type { ControlSocket } from "../connection/control-socket.ts";
import { historyOver } from "../connection/history-calls.ts";
import type { Server } from "../connection/server.ts";
import { ViewSocket, type ViewState } from "../connection/view-socket.ts";
import type { BoxGlyphs } from "../terminal/box-glyphs.ts";
import type { CellMeasure } from "../terminal/cell-size.ts";
import { Images } from "../terminal/images.ts";
import type { PaneView } from "../terminal/pane-view.ts";
import { Terminal } from "../terminal/terminal.ts";
import type { CommandMark } from "../terminal/types.ts";
import { keysChanged } from "./keys-dialog.tsx";
import { pasteImage } from "./pasted-image.ts";
import { sessions } from "./sessions.ts";
import { settings } from "./settings.ts";
import { showError, toast } from "./toasts.ts";

/** Time out of sight after which a terminal's connection is closed, in ms. */
const HIDDEN_MS = 30_000;
/** Number of a pane's newest commands that are marked. */
const MAX_MARKS = 200;

interface TilePort {
  readonly server: Server;
  readonly control: ControlSocket;
  readonly measure: CellMeasure;
  readonly glyphs: BoxGlyphs;
  keyAction(operation: string, tile: Tile): void;
  mayPaste(text: string): Promise<boolean>;
  copyText(text: string): void;
  /** Handles a key of the page itself. */
  pageKey(event: KeyboardEvent, tile: Tile): boolean;
  focusGained(tile: Tile): void;
  /** Whether another tile shows it too. */
  isShared(session: string): boolean;
  /** Whether the person gets notices while the page is hidden. */
  isReachable(): boolean;
}

export class Tile {
  readonly state = signal<ViewState>("connecting");
  readonly why = signal("");
  /** Number of typed characters that have waited longer than a person expects. */
  readonly pendingCharacters = signal(0);
  readonly access = signal<"observe" | "operate" | "admin" | null>(null);
  /** Whether a caller has captured the keyboard. */
  readonly isCaptured = signal(false);
  readonly title = signal("");
  /** Whether the person has scrolled up in a pane. */
  readonly isScrolledUp = signal(false);
  readonly isFindOpen = signal(false);
  /** Changes when the shown panes, or their positions, change. */
  readonly panesChanged = signal(0);
  readonly terminal: Terminal;
  private readonly images: Images;
  private view: ViewSocket | null = null;
  private hiddenTimer: ReturnType<typeof setTimeout> | null = null;
  private size = { rows: 24, cols: 80 };

  private readonly sessionSignal: Signal<string>;
  private lastName: string;

  /** @param initialTarget id of the session, or its name while the id is unknown */
  constructor(
    readonly initialTarget: string,
    private readonly port: TilePort,
  ) {
    this.sessionSignal = signal(initialTarget);
    this.lastName = initialTarget;
    this.terminal = new Terminal(port, historyOver(port.control), {
      input: (bytes) => this.sendInput(bytes),
      size: (rows, cols) => this.roomChanged(rows, cols),
      focus: (on) => {
        this.view?.focus(on);
        if (on) this.sendColors();
        if (on) port.focusGained(this);
      },
      mayPaste: (text) => port.mayPaste(text),
      clipboard: (text) => this.clipboard(text),
      // The text that the person types next follows the image's path.
      image: (file) =>
        this.holdInputUntil(pasteImage(file, port.control, this.terminal.activePane?.place.id ?? this.session)),
      unreadable: () => toast("The browser does not allow reading the clipboard here.", { kind: "error" }),
      bell: () => this.bell(),
      title: (title) => {
        this.title.value = title;
      },
      borderMoved: (pane, what, direction, by) => {
        const method = what === "border" ? "resize_pane" : "float_pane";
        port.control.call(method, { direction, by }, pane).catch(showError);
      },
      scrolled: () => {
        this.isScrolledUp.value = this.terminal.panes.some((pane) => !pane.isFollowing);
      },
      pageKey: (event) => port.pageKey(event, this),
      panes: (panes) => {
        this.panesChanged.value++;
        void this.followEvents(panes);
      },
    });
    this.images = new Images(this.terminal.element.style, () => port.measure.size);
    document.addEventListener("visibilitychange", this.visibility);
  }

  /** Id of the session; its name until the session answers. */
  get session(): string {
    return this.sessionSignal.value;
  }

  /** The session's name in the newest list that has it; before, the given one. */
  get name(): string {
    this.lastName = sessions.value.find(({ id }) => id === this.session)?.name ?? this.lastName;
    return this.lastName;
  }

  /** Called once the element is in the document. */
  mounted(): void {
    const { rows, cols } = this.terminal.availableSize();
    this.size = { rows, cols };
    this.terminal.setFollowing(settings.peek().size === "follow");
    this.connect();
  }

  /** Sets whether this page counts for the session's size. */
  setSizeMode(mode: "fit" | "follow"): void {
    this.terminal.setFollowing(mode === "follow");
    this.view?.resize(this.size.rows, this.size.cols, mode);
  }

  dispose(): void {
    document.removeEventListener("visibilitychange", this.visibility);
    if (this.hiddenTimer !== null) clearTimeout(this.hiddenTimer);
    this.view?.close();
    this.images.clear();
    this.terminal.dispose();
  }

  retry(): void {
    this.view?.retry();
  }

  /** Later input is sent only after this call has been answered or has failed. */
  holdInputUntil(call: Promise<unknown>): void {
    this.view?.holdInputUntil(call);
  }

  /** Sends programs the page's colours, unless a terminal or another page shows the session too. */
  sendColors(): void {
    if (this.port.isShared(this.session)) return;
    const [background, foreground] = ["--ground", "--text"].map(themeColor);
    if (background === undefined || foreground === undefined) return;
    this.view?.colors({ background, foreground, cursor: foreground });
  }

  dropUnsentInput(): void {
    this.view?.dropUnsentInput();
  }

  /** Takes the keyboard back from the caller that captured it. */
  release(): void {
    this.view?.release();
  }

  /** Reconnects, after the session detached or refused the page. */
  connect(): void {
    this.view?.close();
    this.view = new ViewSocket(this.port.server, this.session, {
      frame: (update) => this.terminal.apply(update),
      images: (commands) => this.images.handleCommands(commands),
      state: (state, why) => {
        this.state.value = state;
        this.why.value = why;
        if (state === "live") {
          this.sendColors();
          void this.followEvents(this.terminal.panes);
        }
      },
      inputPending: (bytes) => {
        this.pendingCharacters.value = bytes;
      },
      sessionOpened: (access, session) => {
        this.images.clear();
        this.access.value = access;
        this.sessionSignal.value = session;
      },
      keyboard: (captured) => {
        this.isCaptured.value = captured;
      },
      keyAction: (operation) => this.port.keyAction(operation, this),
      alert: (text) => toast(text),
      keys: (keys) => keysChanged(keys),
      inputLost: (bytes) =>
        toast(
          `The session was interrupted: the last ${bytes} characters typed may be missing. Check before you continue.`,
          {
            kind: "error",
            ms: 10_000,
          },
        ),
    });
    this.state.value = "connecting";
    this.view.start(this.size.rows, this.size.cols, settings.peek().size);
  }

  /** The control connection now knows the session: earlier requests may have failed. */
  resubscribe(): void {
    void this.followEvents(this.terminal.panes);
  }

  /** A command has begun or ended in the session: marks are redrawn. */
  marksChanged(): void {
    void this.showCommandMarks(this.terminal.panes);
  }

  private readonly visibility = (): void => {
    if (this.hiddenTimer !== null) clearTimeout(this.hiddenTimer);
    this.hiddenTimer = null;
    if (document.hidden) this.hiddenTimer = setTimeout(() => this.closeHidden(), HIDDEN_MS);
    else if (this.view === null) this.connect();
    else this.view.retry();
  };

  private closeHidden(): void {
    // Notifications reach this person, and the session counts only connected people as able to answer.
    if (this.port.isReachable()) return;
    if (this.view?.hasPendingInput === true) {
      this.hiddenTimer = setTimeout(() => this.closeHidden(), HIDDEN_MS);
      return;
    }
    this.view?.close();
    this.view = null;
  }

  private sendInput(bytes: Uint8Array): void {
    if (this.access.peek() === "observe" && this.state.peek() === "live") {
      toast("Read-only: this link cannot type.", { kind: "error", ms: 2_000 });
      return;
    }
    if (this.view?.type(bytes) !== true) {
      toast("Not typed: the session is not connected.", { kind: "error", ms: 2_000 });
    }
  }

  private roomChanged(rows: number, cols: number): void {
    this.size = { rows, cols };
    this.view?.resize(rows, cols, settings.peek().size);
  }

  private bell(): void {
    const { element } = this.terminal;
    element.classList.remove("bell");
    // Restarts the animation.
    void element.offsetWidth;
    element.classList.add("bell");
  }

  /** A program wants to write to the clipboard: the person decides. */
  private clipboard(text: string): void {
    if (text === "") return;
    toast(`A program copied ${text.length} characters: “${text.slice(0, 40)}${text.length > 40 ? "…" : ""}”`, {
      ms: 15_000,
      action: { label: "Copy", run: () => this.port.copyText(text) },
    });
  }

  private async followEvents(panes: readonly PaneView[]): Promise<void> {
    const { control } = this.port;
    await Promise.all(
      panes.map(({ place }) => control.call("subscribe", { events: ["commands"] }, place.id).catch(() => undefined)),
    );
    await this.showCommandMarks(panes);
  }

  private async showCommandMarks(panes: readonly PaneView[]): Promise<void> {
    await Promise.all(
      panes.map(async (pane) => {
        const records = await this.port.control
          .call<readonly CommandRecord[]>("list_commands", { limit: MAX_MARKS }, pane.place.id)
          .catch(() => []);
        pane.showMarks(records.map(markOf));
      }),
    );
  }
}

/** A colour of the page's theme, written `#rrggbb`. */
function themeColor(name: string): { r: number; g: number; b: number } | undefined {
  const value = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  if (!/^#[0-9a-f]{6}$/i.test(value)) return undefined;
  const at = (from: number): number => Number.parseInt(value.slice(from, from + 2), 16);
  return { r: at(1), g: at(3), b: at(5) };
}

function markOf(record: CommandRecord): CommandMark {
  return {
    id: record.id,
    command: record.command,
    firstLine: record.first_line_id,
    lastLine: record.last_line_id,
    exitCode: record.exit_code,
    durationMs: record.duration_ms,
    isRunning: record.state === "running",
  };
}
