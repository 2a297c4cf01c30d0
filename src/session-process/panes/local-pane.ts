/**
 * A pane that runs here, with its overlay layer, its copy mode and its checkpoint. Its window requests its
 * picture when needed; keys come from the terminal with the focus there.
 *
 * Owns the pane, and a session (`ownSession`) that provides what a pane as a target has in common with a session:
 * elements, a restart, a grace period.
 */
import * as v from "valibot";
import { composeFrame } from "../../compositor/compose.ts";
import { toFrameModes } from "../../compositor/frame-modes.ts";
import { KeyTables } from "../../keys/tables.ts";
import type { Pane } from "../../pane/pane.ts";
import { AGENT_AT_TERMINAL } from "../../pane/writer.ts";
import type { TerminalColors } from "../../protocol/attach.ts";
import { type CopyModeInput, CopyModeInputSchema } from "../../protocol/copy-mode.ts";
import { present } from "../../protocol/defined.ts";
import type { WshError } from "../../protocol/errors.ts";
import type { Frame, FrameModes } from "../../protocol/frame.ts";
import type { PaneInfo } from "../../protocol/session.ts";
import type { Size } from "../../protocol/size.ts";
import type { PtyFlags } from "../../pty/port.ts";
import { describeCopy } from "../../session/paste-buffers.ts";
import type { Session } from "../../session/session.ts";
import type { PictureSource } from "../../terminal/pictures/picture.ts";
import { PaneCopyMode } from "../../viewer/terminal/copy-mode.ts";
import type { DisplayedContent } from "../../viewer/terminal/displayed-content.ts";
import type { LayerPicture } from "../../viewer/terminal/overlay-layer.ts";
import { OverlayLayer } from "../../viewer/terminal/overlay-layer.ts";
import { Pointer } from "../../viewer/terminal/pointer.ts";
import { displayedPane } from "../displayed-pane.ts";
import type { PaneSession } from "../pane-session.ts";
import { type AdoptingSession, Adoption } from "./adoption.ts";
import { PanePicture } from "./pane-picture.ts";
import type { PlacedPane, PlacedPaneEvents } from "./placed-pane.ts";

/** Maximum age of a printing pane's facts in lists, in ms: each check asks the system. */
const MAX_INFO_AGE_MS = 250;
/** Time from a change to the check, in ms: pictures come first. */
const CHECK_DELAY_MS = 100;
/** Times from the last change to further checks, in ms: a shell starts a program a moment after its output. */
const RECHECK_DELAYS_MS = [500, 2_000, 8_000] as const;
const NO_KEYS = new KeyTables({});

/** Events beyond those of every pane. */
interface LocalPaneEvents extends PlacedPaneEvents {
  /** Its program printed. Runs per chunk. */
  printed(bytes: Uint8Array): void;
  /** Its screen is about to be rewrapped, and has been replaced. */
  resizing(): void;
  reset(): void;
  /** A caller that waited for its program's end was notified. */
  endReported(): void;
}

interface LocalPaneOptions {
  readonly ownSession: PaneSession;
  /** Its current session. */
  readonly session: Session;
  /** Whether wsh may take the mouse of terminals. */
  readonly mouse: { readonly isAllowed: boolean };
  /** Whether a person has just typed in another pane. */
  isTypingElsewhere(): boolean;
  hasOthers(): boolean;
  /** Whether its facts are displayed while they change: the session has other panes, or a status line. */
  isInfoDisplayed(): boolean;
}

export class LocalPane implements PlacedPane {
  readonly isView = false;
  readonly ownSession: PaneSession;
  readonly session: Session;
  readonly pane: Pane;
  /** Shows this pane alone. */
  readonly content: DisplayedContent;
  /** Handlers of the windows that show it; null: it has left the layout. */
  private port: LocalPaneEvents | null = null;
  private assignedSize: Size;
  readonly copyMode: PaneCopyMode;
  private readonly overlayLayer: OverlayLayer;
  private readonly pointer: Pointer;
  private readonly picture: PanePicture;
  private lastInfo: Omit<PaneInfo, "index" | "active"> | null = null;
  private infoAt = Number.NEGATIVE_INFINITY;
  private isInfoDiscarded = false;
  private isStale = true;
  private checkTimer: Timer | null = null;
  private recheckTimer: Timer | null = null;
  /** Whether the newest keys are an AI agent's: copy mode and the mouse pass keys on later. */
  private byAgent = false;
  private readonly unsubscribers: (() => void)[];
  readonly adoption = new Adoption({ viewers: () => this.ownSession.viewers, end: () => this.endProgram() });

  constructor(private readonly options: LocalPaneOptions) {
    const { ownSession, session } = options;
    this.ownSession = ownSession;
    this.session = session;
    this.pane = ownSession.pane;
    this.assignedSize = ownSession.size;
    this.content = displayedPane(ownSession);
    this.picture = this.makePicture();
    this.copyMode = this.makeCopyMode();
    this.overlayLayer = new OverlayLayer({
      person: { prefix: "", tables: NO_KEYS },
      copyMode: this.copyMode,
      mouse: options.mouse,
      changed: () => this.changedPicture(),
    });
    this.pointer = this.makePointer();
    const { events, commands } = this.pane;
    const logListener = commands.log.on({ finished: () => this.changed() });
    this.unsubscribers = [
      events.on("chunk", ({ bytes }) => {
        this.port?.printed(bytes);
        if (!this.picture.isRenewalPostponed()) this.port?.rendered();
      }),
      events.on("resizing", () => this.port?.resizing()),
      events.on("ahead", (bytes) => this.port?.echoed(bytes)),
      events.on("effect", (effect) => this.port?.effect(effect)),
      events.on("reset", () => {
        this.changedPicture();
        this.port?.reset();
      }),
      events.on("bell", () => this.port?.bellRang()),
      events.on("clipboard", (copied) => this.port?.copied(copied)),
      events.on("endReported", () => this.port?.endReported()),
      events.on("agent", (agent) => {
        this.isStale = true;
        this.port?.agent(agent);
      }),
      events.on("exited", ({ code, signal }) => {
        const { isEnding } = ownSession.lifetime;
        this.discardInfo();
        this.port?.ended({ code, signal, isOwn: !isEnding });
      }),
      ...(["listed", "title", "alternate"] as const).map((change) => events.on(change, () => this.changed())),
      // A command can end after its last output: once the shell's editor is back.
      () => logListener[Symbol.dispose](),
      ownSession.events.on("listed", () => {
        this.changed();
        this.adoption.checkOrphan();
      }),
      ownSession.events.on("drawn", () => this.changedPicture()),
      ownSession.events.on("destroyed", () => this.close()),
    ];
  }

  /** A window shows it from now on. */
  setPlacement(port: LocalPaneEvents): void {
    this.port = port;
    // A program without output is checked as well.
    this.changed();
  }

  get id(): string {
    return this.pane.id;
  }

  get hasEnded(): boolean {
    return this.pane.exit !== null;
  }

  get size(): Size {
    return this.assignedSize;
  }

  get isCurrent(): boolean {
    const { rows, cols } = this.ownSession.size;
    const { ptyRows, ptyCols } = this.ownSession.layout;
    const { size } = this;
    const { terminal } = this.pane;
    return rows === size.rows && cols === size.cols && terminal.rows === ptyRows && terminal.cols === ptyCols;
  }

  /** Whether its program's own bytes produce the whole picture. */
  get isPlain(): boolean {
    return this.isPlainBelow && !this.overlayLayer.isShown;
  }

  /** The session whose drawing it shows: the main one while it has no other pane and this one has no elements. */
  get drawnSession(): Session {
    return this.options.hasOthers() || !this.isPlainBelow ? this.ownSession : this.session;
  }

  /** Runs for every pane and picture. */
  get modes(): FrameModes {
    const { current } = this.picture;
    if (current !== null) return current.modes;
    const { terminal } = this.pane;
    const modes = toFrameModes(terminal.modes, terminal.alternate);
    return this.copyMode.isOn ? this.copyMode.modes(modes) : modes;
  }

  get title(): string {
    return this.pane.terminal.title;
  }

  get isSynchronized(): boolean {
    return this.pane.terminal.modes.synchronizedOutput;
  }

  get frame(): Frame | null {
    return this.picture.frame;
  }

  resize(size: Size): void {
    if (size.rows === this.assignedSize.rows && size.cols === this.assignedSize.cols) return;
    this.assignedSize = size;
    void this.ownSession.window.resize(size);
  }

  type(bytes: Uint8Array, flags?: PtyFlags | null, byAgent = this.byAgent): void {
    this.byAgent = byAgent;
    const isTranslated = this.copyMode.isOn || this.ownSession.layout.top > 0;
    this.sendInput(isTranslated ? this.pointer.translate(bytes, { top: 0, left: 0 }, byAgent) : bytes, flags);
  }

  idleMs(): number {
    return this.pane.activity.idleMs();
  }

  paneInfo(useCached = false): Omit<PaneInfo, "index" | "active"> {
    const { lastInfo } = this;
    // Outdated facts are checked later if there are other panes.
    const isDue =
      this.isStale && !(this.options.isInfoDisplayed() && performance.now() - this.infoAt < MAX_INFO_AGE_MS);
    if (!useCached && (lastInfo === null || this.isInfoDiscarded || isDue)) return this.currentInfo();
    const { cwd, pid } = this.pane;
    const { title, rows, cols } = this.pane.terminal;
    return { ...(lastInfo ?? this.pane.info("running")), pid, cwd, title, rows, cols };
  }

  async refresh(): Promise<void> {
    if (this.isStale || this.pane.exit === null) this.discardInfo();
  }

  /** The next `paneInfo` is current. */
  discardInfo(): void {
    this.isInfoDiscarded = true;
  }

  openCopyMode(input: CopyModeInput): Promise<void> {
    return this.copyMode.begin(v.parse(CopyModeInputSchema, input));
  }

  get pictures(): PictureSource | null {
    return this.pane.terminal.pictures;
  }

  learnColors(colors: TerminalColors): void {
    this.content.learnColors(colors);
  }

  async restart(): Promise<void> {
    await this.ownSession.lifetime.restart();
    this.discardInfo();
  }

  endProgram(): Promise<void> {
    return this.ownSession.lifetime.kill("killed");
  }

  /** The other session that has it; null: none. */
  get adoptedBy(): AdoptingSession | null {
    return this.adoption.session;
  }

  /**
   * Another session has it from now on, shows it and sets its size; null: it has returned. @param isOffered see Adoption
   */
  setAdoptedBy(home: AdoptingSession | null, isOffered: boolean): void {
    this.ownSession.isSized = home === null;
    this.ownSession.setName((home ?? this.session).name);
    this.adoption.set(home, isOffered);
  }

  /** No window shows it for now; its timers are set again if it returns. */
  leaveWindow(): void {
    this.port = null;
    for (const timer of [this.checkTimer, this.recheckTimer]) clearTimeout(timer ?? undefined);
    this.checkTimer = null;
    this.picture.pause();
  }

  close(): void {
    this.leaveWindow();
    this.adoption.close();
    for (const unsubscribe of this.unsubscribers) unsubscribe();
    this.overlayLayer.close();
    this.copyMode.close();
  }

  /** The pane has ended with its session: pending waits fail with `gone`. */
  release(gone: WshError): void {
    this.close();
    this.pane.release(gone);
  }

  private currentInfo(): Omit<PaneInfo, "index" | "active"> {
    const { current: writer } = this.ownSession.writer;
    this.isStale = false;
    this.isInfoDiscarded = false;
    this.infoAt = performance.now();
    const exit = this.pane.exit;
    this.lastInfo = {
      ...this.pane.info(),
      ...present({ typed_by: writer }),
      ...(exit === null ? {} : { exit_code: exit.code, signal: exit.signal }),
    };
    return this.lastInfo;
  }

  /** Runs per chunk and per input. */
  private changed(): void {
    this.isStale = true;
    if (this.port === null) return;
    this.port.listingChanged();
    if (this.checkTimer !== null || !this.options.isInfoDisplayed()) return;
    const wait = Math.max(CHECK_DELAY_MS, this.infoAt + MAX_INFO_AGE_MS - performance.now());
    this.checkTimer = setTimeout(() => this.checkAgain(RECHECK_DELAYS_MS), wait);
    this.checkTimer.unref();
  }

  /** Checks now, and again after the activity. */
  private checkAgain(after: readonly number[]): void {
    this.checkTimer = null;
    this.discardInfo();
    this.port?.listingChanged();
    const [next, ...rest] = after;
    clearTimeout(this.recheckTimer ?? undefined);
    if (next === undefined || this.port === null) return;
    this.recheckTimer = setTimeout(() => this.checkAgain(rest), next);
    this.recheckTimer.unref();
  }

  private changedPicture(): void {
    this.picture.overlaysChanged();
    this.port?.rendered();
  }

  private makePicture(): PanePicture {
    const { pane, options } = this;
    const sizeOf = () => this.size;
    return new PanePicture({
      get size() {
        return sizeOf();
      },
      get terminal() {
        return pane.terminal;
      },
      isTypingElsewhere: () => options.isTypingElsewhere(),
      compose: () => this.compose(),
      rendered: () => this.port?.rendered(),
    });
  }

  private compose(): Frame {
    const { ownSession, pane } = this;
    const { terminal } = pane;
    const copyModeScreen: LayerPicture["screen"] = this.overlayLayer.isShown ? this.overlayLayer.screen : null;
    const grid = copyModeScreen?.grid ?? terminal.grid();
    const frameFields = { modes: this.modes, title: terminal.title, places: this.content.framePlaces() };
    const { lastRowText } = this.overlayLayer;
    if (lastRowText === null && this.isPlainBelow) return { ...grid, ...frameFields };
    const { offset: _, ...frame } = composeFrame({
      grid,
      layout: ownSession.layout,
      overlays: ownSession.elements.overlays(),
      panels: ownSession.elements.panels(),
      outer: ownSession.size,
      lastRowText,
      showsSize: false,
      ascii: false,
    });
    return { ...frame, ...frameFields };
  }

  private get isPlainBelow(): boolean {
    const { elements } = this.ownSession;
    return !elements.hasOverlays && elements.panels().length === 0;
  }

  private sendInput(bytes: Uint8Array, flags?: PtyFlags | null): void {
    if (bytes.length === 0) return;
    if (this.copyMode.isOn) this.copyMode.push(bytes);
    else this.ownSession.typed(0, bytes, this.pane, flags, this.byAgent);
  }

  private makeCopyMode(): PaneCopyMode {
    return new PaneCopyMode(this.content, 0, {
      changed: () => this.changedPicture(),
      copied: (text) => {
        const agent = this.byAgent ? { agent: AGENT_AT_TERMINAL } : {};
        this.port?.copied({ selection: "c", base64: Buffer.from(text).toString("base64"), ...agent });
        this.overlayLayer.say(describeCopy(text));
      },
      say: (text) => this.overlayLayer.say(text),
      sendInput: (bytes) => this.sendInput(bytes),
      mayShare: () => true,
      mouse: this.options.mouse,
      isPlain: false,
    });
  }

  /** Reports are in the cells of the pane, with its panels. */
  private makePointer(): Pointer {
    const { ownSession, copyMode, content } = this;
    return new Pointer({
      targets: content.mouseTargets,
      get isInCopyMode() {
        return copyMode.isOn;
      },
      isCaptured: false,
      isInaccessible: () => false,
      handlesMouse: false,
      copyModeKeys: { keys: "vi" },
      get top() {
        return ownSession.layout.top;
      },
      statusAt: () => null,
      openCopyMode: (input) => copyMode.begin(input),
      useStatusLine: () => {},
      openMenu: () => {},
      sendInput: (bytes) => this.sendInput(bytes),
    });
  }
}
